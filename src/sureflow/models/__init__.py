"""Models of whole fields, and networks for single points. One of your own is one class and `@MODELS.add` or `@NETWORKS.add`."""

from sureflow.models.contract import MODELS, Capabilities, FittedModel, ModelSettings, View
from sureflow.models.deeponet import DeepONet, DeepONetSettings
from sureflow.models.interpolation import InterpolationSettings
from sureflow.models.network import NETWORKS, Network, NetworkSettings
from sureflow.models.pod_deeponet import PodDeepONetSettings
from sureflow.models.pod_gp import PodGPSettings

__all__ = [
    "MODELS",
    "NETWORKS",
    "Capabilities",
    "DeepONet",
    "DeepONetSettings",
    "FittedModel",
    "InterpolationSettings",
    "ModelSettings",
    "Network",
    "NetworkSettings",
    "PodDeepONetSettings",
    "PodGPSettings",
    "View",
]
