"""Networks that drop units by chance, in training and in prediction."""

from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt

from sureflow.samplers.sampler import SAMPLERS, Sampler
from sureflow.validation import settings


@SAMPLERS.add
@settings
class Dropout(Sampler):
    """Monte Carlo dropout (Gal & Ghahramani 2016): each of `passes` answers of a network drops other units.

    A unit of a hidden layer, or a channel of an FNO, is dropped with probability `rate`. All points of one pass drop the same
    units, so that every pass is a whole field.
    """

    name: ClassVar[str] = "dropout"
    random: ClassVar[bool] = True
    members: PositiveInt = 1
    passes: Annotated[int, Field(ge=2)] = 50
    rate: Annotated[float, Field(gt=0, lt=1)] = 0.02
