"""All that fixes an import: what a TOML file says, what the options of the command say, and what is written beside a store."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sureflow.data.declared import DeclaredQuantity
from sureflow.errors import SureflowError
from sureflow.validation import settings, validated


def _listed(value: Any) -> Any:
    """One path or several, as texts; anything else is left to be refused."""
    one = isinstance(value, str) or hasattr(value, "__fspath__")
    several = (value,) if one else value
    return [str(path) for path in several] if isinstance(several, list | tuple) else value


def _time(value: Any) -> Any:
    try:
        return value if value == "last" else float(value)
    except (TypeError, ValueError):
        raise ValueError("it must be a number, or last") from None


Listed = Annotated[tuple[str, ...], BeforeValidator(_listed)]


@settings
class ImportSettings:
    """Which files become runs, and how.

    `source` are folders, files or patterns such as cases/*.vtu. Parameters come from a `table` with a row for each run, from
    a `pattern` of names such as M{mach}_h{altitude_km}, and from `entries` of the files, by the name of the parameter.
    `fields` are arrays of the files by the names that the fields shall have, such as {p = "Pressure", u1 = "U[0]"}; without
    them they are guessed. `units` are those of fields and parameters. `blocks` are names of blocks, zones or patches, if
    not all of the flow is wanted. `mesh` is shared by all runs, moving (equal cells, nodes of each run), or resampled: runs on
    different meshes are brought onto that of the `reference`, a file (by default the first run), and up to `own_points`
    values of each are kept on its own mesh for networks to learn from; auto is shared or moving, as it fits. With
    `flat` off, meshes of one cell thickness stay three-dimensional. `quantities` are numbers to be read off fields, by name:
    see `DeclaredQuantity`.
    """

    source: Annotated[Listed, Field(min_length=1)]
    table: str | None = None
    pattern: str | None = None
    entries: dict[str, str] = Field(default_factory=dict)
    fields: dict[str, str] = Field(default_factory=dict)
    units: dict[str, str] = Field(default_factory=dict)
    time: Annotated[float | Literal["last"], BeforeValidator(_time)] = "last"
    blocks: tuple[str, ...] | None = None
    location: Literal["auto", "cells", "points"] = "auto"
    mesh: Literal["auto", "shared", "moving", "resampled"] = "auto"
    reference: str | None = None
    interpolation: Literal["linear", "conservative"] = "linear"
    own_points: Annotated[int, Field(ge=0)] = 20_000
    flat: bool = True
    quantities: dict[str, dict[str, Any]] = Field(default_factory=dict)
    precision: Literal["auto", "float32", "float64"] = "auto"

    def declared(self) -> tuple[DeclaredQuantity, ...]:
        return tuple(
            validated(DeclaredQuantity, {"name": name, **given}, f"quantities.{name}")
            for name, given in self.quantities.items()
        )

    def __post_init__(self) -> None:
        self.declared()
        if self.mesh != "resampled" and (self.reference is not None or self.interpolation != "linear"):
            raise SureflowError(
                f"mesh={self.mesh!r} does not resample, so a reference or interpolation has no effect: choose "
                "mesh=resampled, or leave them out"
            )
        if self.table is None and self.pattern is None and not self.entries:
            raise SureflowError(
                "the source of the runs' parameters is missing: give a table with a row for each run, a pattern of file "
                "or folder names such as M{mach}_h{altitude_km}, or entries of the files"
            )
