"""`sureflow predict`: conditions in; fields with error bars out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.errors import SureflowError

if TYPE_CHECKING:
    import numpy as np


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="What to write: .nc, .zarr, .csv or .png.")],
    mach: Annotated[float | None, typer.Option(help="Mach number.")] = None,
    altitude: Annotated[float | None, typer.Option(help="Altitude in km.")] = None,
    conditions: Annotated[Path | None, typer.Option(help="CSV with a column for every parameter of the model.")] = None,
    points: Annotated[Path | None, typer.Option(help="CSV with columns x and r, in place of the mesh.")] = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Answer also where the training runs cannot speak for it.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
) -> None:
    """Predict fields and their standard deviations, in physical units."""
    import numpy as np

    from sureflow.artifact import load
    from sureflow.cli.console import out
    from sureflow.report.prediction import writer
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    write = writer(output, overwrite=overwrite)
    surrogate = load(model)
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
    write(fields)
    out.print(f"{output}: {fields.attrs['verdict']}\nerror bars: {fields.attrs['bars']}")


def read_columns(path: Path, names: tuple[str, ...]) -> dict[str, "np.ndarray"]:
    """Columns of numbers of a CSV file with a header; every named one must be there."""
    import pandas

    try:
        table = pandas.read_csv(path)
        return {name: table[name].to_numpy(float) for name in names}
    except KeyError as missing:
        raise SureflowError(f"{path} has no column {missing}; needed: {', '.join(names)}") from None
    except (OSError, ValueError) as error:
        raise SureflowError(f"{path} cannot be read: {error}") from None
