"""Networks that differ in the weights they began with."""

from typing import ClassVar

from pydantic import PositiveInt

from sureflow.samplers.sampler import SAMPLERS, Sampler
from sureflow.validation import settings


@SAMPLERS.add
@settings
class Ensemble(Sampler):
    """`members` networks from independent initializations (Lakshminarayanan et al. 2017); one member is a single network."""

    name: ClassVar[str] = "ensemble"
    members: PositiveInt = 10
