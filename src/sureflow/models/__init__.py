"""Networks that give the raw output of a head at a point, and models that give whole fields.

A model is registered by joining one of the unions below; its `name` selects it in TOML.
"""

from typing import Annotated

from pydantic import Field

from sureflow.models.base import Network, NetworkSettings, map_networks, network_axis, network_shares
from sureflow.models.deeponet import DeepONet, DeepONetSettings
from sureflow.models.field import FieldModel, FieldModelSettings
from sureflow.models.interpolation import InterpolationSettings
from sureflow.models.pod_deeponet import PodDeepONetSettings
from sureflow.models.pod_gp import PodGPSettings

AnyModel = DeepONetSettings
AnyFieldModel = Annotated[InterpolationSettings | PodGPSettings | PodDeepONetSettings, Field(discriminator="name")]

__all__ = [
    "AnyFieldModel",
    "AnyModel",
    "DeepONet",
    "DeepONetSettings",
    "FieldModel",
    "FieldModelSettings",
    "InterpolationSettings",
    "Network",
    "NetworkSettings",
    "PodDeepONetSettings",
    "PodGPSettings",
    "map_networks",
    "network_axis",
    "network_shares",
]
