"""Networks that give the raw output of a head at a point. A model is registered by joining the union below."""

from sureflow.models.base import Network, NetworkSettings, map_networks, network_axis
from sureflow.models.deeponet import DeepONet, DeepONetSettings

AnyModel = DeepONetSettings

__all__ = ["AnyModel", "DeepONet", "DeepONetSettings", "Network", "NetworkSettings", "map_networks", "network_axis"]
