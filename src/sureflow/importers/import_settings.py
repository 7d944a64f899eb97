"""All that fixes an import: what a TOML file says, what the options of the command say, and what is written beside a store."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sureflow.errors import SureflowError
from sureflow.validation import settings


def _listed(value: Any) -> Any:
    return (str(value),) if isinstance(value, str) or hasattr(value, "__fspath__") else value


Listed = Annotated[tuple[str, ...], BeforeValidator(lambda value: [str(one) for one in _listed(value)])]


@settings
class ImportSettings:
    """Which files become runs, and how.

    `source` are folders, files or patterns such as cases/*.vtu. Parameters come from a `table` with a row for each run, from
    a `pattern` of names such as M{mach}_h{altitude_km}, and from `entries` of the files, by the name of the parameter.
    `fields` are arrays of the files by the names that the fields shall have, such as {p = "Pressure", u1 = "U[0]"}; without
    them they are guessed. `units` are those of fields and parameters. `blocks` are names of blocks, zones or patches, if
    not all of the flow is wanted. `mesh` is shared by all runs, or moving (equal cells, nodes of each run); auto is the one
    that fits. With `flat` off, meshes of one cell thickness stay three-dimensional.
    """

    source: Annotated[Listed, Field(min_length=1)]
    table: str | None = None
    pattern: str | None = None
    entries: dict[str, str] = Field(default_factory=dict)
    fields: dict[str, str] = Field(default_factory=dict)
    units: dict[str, str] = Field(default_factory=dict)
    time: float | Literal["last"] = "last"
    blocks: tuple[str, ...] | None = None
    location: Literal["auto", "cells", "points"] = "auto"
    mesh: Literal["auto", "shared", "moving"] = "auto"
    flat: bool = True
    precision: Literal["auto", "float32", "float64"] = "auto"

    def __post_init__(self) -> None:
        if self.table is None and self.pattern is None and not self.entries:
            raise SureflowError(
                "where the parameters of the runs are is not said: give a table with a row for each run, a pattern of file "
                "or folder names such as M{mach}_h{altitude_km}, or entries of the files"
            )
