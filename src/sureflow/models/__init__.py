"""Models of whole fields, and networks. One of your own is one class and `@MODELS.add` or `@NETWORKS.add`."""

import importlib
from typing import TYPE_CHECKING, Any

from sureflow.models.contract import MODELS, Capabilities, FittedModel, ModelSettings, View

if TYPE_CHECKING:
    from sureflow.models.aligned_settings import (
        AlignedSettings,
        BodyAlignedSettings,
        LayerAlignedSettings,
        ShockAlignedSettings,
    )
    from sureflow.models.deeponet import DeepONet, DeepONetSettings
    from sureflow.models.fno import FNO, FNOSettings
    from sureflow.models.interpolation import InterpolationSettings
    from sureflow.models.levels import LevelsSettings
    from sureflow.models.network import NETWORKS, Network, NetworkSettings
    from sureflow.models.neural_process import NeuralProcess, NeuralProcessSettings
    from sureflow.models.pod_deeponet import PodDeepONetSettings
    from sureflow.models.pod_gp import PodGPSettings

__all__ = [
    "FNO",
    "MODELS",
    "NETWORKS",
    "AlignedSettings",
    "BodyAlignedSettings",
    "Capabilities",
    "DeepONet",
    "DeepONetSettings",
    "FNOSettings",
    "FittedModel",
    "InterpolationSettings",
    "LayerAlignedSettings",
    "LevelsSettings",
    "ModelSettings",
    "Network",
    "NetworkSettings",
    "NeuralProcess",
    "NeuralProcessSettings",
    "PodDeepONetSettings",
    "PodGPSettings",
    "ShockAlignedSettings",
    "View",
]

# Imported when first used: most of them import JAX.
LATER = {
    "AlignedSettings": "aligned_settings",
    "BodyAlignedSettings": "aligned_settings",
    "DeepONet": "deeponet",
    "DeepONetSettings": "deeponet",
    "FNO": "fno",
    "FNOSettings": "fno",
    "InterpolationSettings": "interpolation",
    "LayerAlignedSettings": "aligned_settings",
    "LevelsSettings": "levels",
    "NETWORKS": "network",
    "Network": "network",
    "NetworkSettings": "network",
    "NeuralProcess": "neural_process",
    "NeuralProcessSettings": "neural_process",
    "PodDeepONetSettings": "pod_deeponet",
    "PodGPSettings": "pod_gp",
    "ShockAlignedSettings": "aligned_settings",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'sureflow.models' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sureflow.models.{LATER[name]}"), name)
