"""`sureflow predict`: conditions in; fields with error bars out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.errors import SureflowError

if TYPE_CHECKING:
    import numpy as np

    from sureflow.surrogate import Surrogate


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Fields to write: .nc, .zarr, .csv or .png.")
    ] = None,
    mach: Annotated[float | None, typer.Option(help="Mach number.")] = None,
    altitude: Annotated[float | None, typer.Option(help="Altitude in km.")] = None,
    conditions: Annotated[Path | None, typer.Option(help="CSV with a column for every parameter of the model.")] = None,
    points: Annotated[Path | None, typer.Option(help="CSV with columns x and r, in place of the mesh.")] = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Answer also where the training runs cannot speak for it.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
) -> None:
    """Predict fields and their standard deviations, in physical units.

    Says whether the condition is inside the training domain or extrapolated, what the error bars are worth and, for a single
    condition, stand-off, pressures and drag with theirs (one standard deviation). With --output the fields are written.
    """
    import numpy as np

    from sureflow.artifact import load
    from sureflow.cli.console import out, print_facts
    from sureflow.report.prediction import writer
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    write = None if output is None else writer(output, overwrite=overwrite)
    surrogate = load(model)
    if conditions is not None and (mach is not None or altitude is not None):
        raise SureflowError("give --conditions, or --mach and --altitude, but not both")
    if conditions is not None:
        parameters = read_columns(conditions, surrogate.domain.names)
    elif mach is not None and altitude is not None:
        parameters = {"mach": mach, "altitude_km": altitude}
    else:
        raise SureflowError("give --mach and --altitude, or --conditions with a CSV file")
    located = None
    if points is not None:
        columns = read_columns(points, ("x", "r"))
        located = np.column_stack([columns["x"], columns["r"]])
    fields = surrogate.predict(points=located, extrapolate=extrapolate, **parameters)
    if write is not None:
        write(fields)
    name = f"{output}: " if output else ""
    verdict = fields.attrs["verdict"].replace("refused:", "refused, and answered as --extrapolate asks:")
    verdict = "inside the training domain" if verdict == "inside" else verdict
    out.print(f"{name}{verdict}\nerror bars: {fields.attrs['bars']}", markup=False)
    if conditions is None and mach is not None and altitude is not None:
        facts = quantities_of_interest(surrogate, mach, altitude)
        if any("+-" in text for text in facts.values()):
            out.print(
                "+- is one standard deviation of the surrogate's error against runs on the mesh of its training runs"
            )
        print_facts(facts)


def quantities_of_interest(surrogate: "Surrogate", mach: float, altitude_km: float) -> dict[str, str]:
    """Stand-off, pressures and drag at one condition, with bars where the model has any; none for fields of other kinds."""
    from sureflow import trust
    from sureflow.physics.atmosphere import HIGHEST_KM
    from sureflow.physics.free_stream import HIGHEST_MACH, LOWEST_MACH

    body = trust.body_of(surrogate)
    in_flight = LOWEST_MACH <= mach <= HIGHEST_MACH and 0.0 <= altitude_km <= HIGHEST_KM
    if body is None or not in_flight:
        return {}
    found = trust.quantities(surrogate, body, mach=mach, altitude_km=altitude_km)
    texts = {}
    for quantity in body.quantities:
        std = found.get(f"{quantity.name}_std")
        bar = "" if std is None else f" +- {float(std):.2g}"
        unit = "" if quantity.unit == "1" else f" {quantity.unit}"
        texts[quantity.name] = f"{float(found[quantity.name]):.5g}{bar}{unit}"
    return texts


def read_columns(path: Path, names: tuple[str, ...]) -> dict[str, "np.ndarray"]:
    """Columns of finite numbers of a CSV file with a header; every named one must be there."""
    import csv

    import numpy as np

    try:
        lines = [line for line in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if line]
    except (OSError, ValueError, csv.Error) as error:
        raise SureflowError(f"{path} cannot be read: {error}") from None
    header, *rows = [[value.strip() for value in line] for line in lines] or [[]]
    missing = next((name for name in names if name not in header), None)
    if missing is not None:
        raise SureflowError(f"{path} has no column {missing!r}; needed: {', '.join(names)}")
    if not rows:
        raise SureflowError(f"{path} has no rows below its header: give at least one")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise SureflowError(
                f"{path}: row {number} has {len(row)} values for the {len(header)} columns of the header"
            )
    return {
        name: np.array([_number(path, number, name, row[header.index(name)]) for number, row in enumerate(rows, 1)])
        for name in names
    }


def _number(path: Path, row: int, name: str, text: str) -> float:
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SureflowError(f"{path}: {name}={text!r} in row {row} is not a finite number")
    return value
