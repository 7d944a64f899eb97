"""How many answers networks give, and how they become one. A sampler of your own is one class and `@SAMPLERS.add`."""

from sureflow.samplers.dropout import Dropout
from sureflow.samplers.ensemble import Ensemble
from sureflow.samplers.sampler import SAMPLERS, Sampler

__all__ = ["SAMPLERS", "Dropout", "Ensemble", "Sampler"]
