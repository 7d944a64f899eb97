"""Models of whole fields, and networks. One of your own is one class and `@MODELS.add` or `@NETWORKS.add`."""

from sureflow.models.aligned import AlignedSettings
from sureflow.models.contract import MODELS, Capabilities, FittedModel, ModelSettings, View
from sureflow.models.deeponet import DeepONet, DeepONetSettings
from sureflow.models.fno import FNO, FNOSettings
from sureflow.models.interpolation import InterpolationSettings
from sureflow.models.network import NETWORKS, Network, NetworkSettings
from sureflow.models.neural_process import NeuralProcess, NeuralProcessSettings
from sureflow.models.pod_deeponet import PodDeepONetSettings
from sureflow.models.pod_gp import PodGPSettings

__all__ = [
    "FNO",
    "MODELS",
    "NETWORKS",
    "AlignedSettings",
    "Capabilities",
    "DeepONet",
    "DeepONetSettings",
    "FNOSettings",
    "FittedModel",
    "InterpolationSettings",
    "ModelSettings",
    "Network",
    "NetworkSettings",
    "NeuralProcess",
    "NeuralProcessSettings",
    "PodDeepONetSettings",
    "PodGPSettings",
    "View",
]
