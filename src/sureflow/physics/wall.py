"""What the surface of the body does to the flow."""

from typing import Literal, get_args

from sureflow.errors import SureflowError
from sureflow.validation import settings

WallKind = Literal["isothermal", "adiabatic", "slip"]
WALL_KINDS: tuple[WallKind, ...] = get_args(WallKind)  # a parameter that is the kind of wall is a place in this list


@settings
class Wall:
    """Isothermal and adiabatic walls hold the flow by friction; a slip wall goes with an inviscid flow.

    1500 K is the wall temperature that published computations of the RAM-C II use.
    """

    kind: WallKind = "isothermal"
    temperature: float = 1500.0  # K; means something for an isothermal wall only

    def __post_init__(self) -> None:
        if not 10.0 <= self.temperature <= 10_000.0:
            raise SureflowError(f"wall temperature={self.temperature:g} K is outside 10..10000 K")

    @property
    def viscous(self) -> bool:
        """Whether friction and heat conduction act at all."""
        return self.kind != "slip"
