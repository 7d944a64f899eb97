"""Quantities of interest that users declare: integrals, means, extremes, values at points and along lines."""

from typing import Annotated, Literal

from pydantic import Field

from sureflow.errors import SureflowError
from sureflow.validation import settings

ON_PATCHES = ("force", "moment")  # which need a patch, or runs on a surface
KINDS = ("integral", "mean", "maximum", "minimum", "force", "moment", "value", "line")
Place = tuple[float, ...]


@settings
class DeclaredQuantity:
    """A number that is read off a field, over a patch of the boundary or, without one, over all of the mesh.

    `integral` and `mean` weigh by length, area or volume. `force` integrates the field times the normal that points out of
    the flow, along `direction`: of a pressure, the force on a wall. `moment` is that of the same force about `about`.
    `value` is at the point `at`, and `line` the mean from `at` to `to`. `factor` makes coefficients of forces.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)]
    kind: Literal["integral", "mean", "maximum", "minimum", "force", "moment", "value", "line"]
    field: str
    patch: str | None = None
    direction: Place | None = None
    about: Place | None = None
    at: Place | None = None
    to: Place | None = None
    factor: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        needed = {"force": ("direction",), "moment": ("about",), "value": ("at",), "line": ("at", "to")}
        for name in needed.get(self.kind, ()):
            if getattr(self, name) is None:
                raise SureflowError(f"the quantity {self.name} is a {self.kind} and needs {name}: add it")

    def require_fit(self, fields: tuple[str, ...], n_axes: int) -> None:
        """Refuse a field that is not there, and places with other than as many numbers as there are axes."""
        if self.field not in fields:
            raise SureflowError(
                f"the quantity {self.name} is read off {self.field!r}: the fields are {', '.join(fields)}"
            )
        for name in ("direction", "about", "at", "to"):
            given = getattr(self, name)
            if given is not None and len(given) != n_axes:
                raise SureflowError(
                    f"the quantity {self.name} has {len(given)} numbers in {name}, but the mesh has {n_axes} axes: give "
                    "one for each"
                )
