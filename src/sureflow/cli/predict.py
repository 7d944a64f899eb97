"""`sureflow predict`: conditions in; fields with error bars out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureflow.cli.inputs import parse_values, read_table
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    import xarray

    from sureflow.surrogate.model import Surrogate


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    values: Annotated[
        list[str] | None, typer.Argument(help="The parameters of a condition, as in mach=25 altitude_km=46.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the fields: .nc, .zarr, .csv, .vts, .vtu or .png.")
    ] = None,
    mach: Annotated[float | None, typer.Option(help="Mach number: short for mach=...")] = None,
    altitude: Annotated[float | None, typer.Option(help="Altitude in km: short for altitude_km=...")] = None,
    conditions: Annotated[Path | None, typer.Option(help="CSV with a column for every parameter of the model.")] = None,
    points: Annotated[
        Path | None, typer.Option(help="CSV of points to use instead of the mesh, with a column for every axis.")
    ] = None,
    surface: Annotated[
        Path | None,
        typer.Option(help="File for pressure, heat flux and shear along the body: .csv, .nc or .zarr."),
    ] = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Also predict where the error bars are not known to hold.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
) -> None:
    """Predict fields with error bars, in physical units.

    Prints whether the condition is inside the training domain or extrapolated, and how the error bars were calibrated. For
    a single condition, also prints the range of every field and, for flow around a body, stand-off, pressures, drag and heat
    flux with error bars (one standard deviation). With --output, writes the fields to a file; with --surface, what acts on
    the wall.
    """
    flight = {"mach": mach, "altitude_km": altitude}
    given = parse_values([*(values or []), *(f"{name}={value}" for name, value in flight.items() if value is not None)])
    if bool(given) == (conditions is not None):
        raise SureflowError("give either one condition, as in mach=25 altitude_km=46, or --conditions with a CSV file")

    begin(f"predicting with {model}")

    import numpy as np

    from sureflow.cli.console import out, print_facts
    from sureflow.export.exporters import writer
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.artifact import load

    keep_compiled_programs()
    write, write_surface = (None if path is None else writer(path, overwrite=overwrite) for path in (output, surface))
    surrogate = load(model)
    parameters: dict[str, Any] = dict(given)
    if conditions is not None:
        parameters = read_table(conditions, surrogate.parameter_names)
    located = None
    if points is not None:
        located = np.column_stack(list(read_table(points, surrogate.header.axes).values()))
    fields = surrogate.predict(points=located, extrapolate=extrapolate, **parameters)
    if write is not None:
        write(fields)
    if write_surface is not None:
        write_surface(surrogate.surface(extrapolate=extrapolate, **parameters))
    name = f"{output}: " if output else ""
    out.print(f"{name}{spoken(fields.attrs['verdict'])}\nerror bars: {fields.attrs['bars']}", markup=False)
    if conditions is None:
        print_facts(spans(fields, surrogate.names))
        if surrogate.observer is not None or surrogate.numbers is not None:
            print_facts(quantities(surrogate, given, extrapolate=extrapolate))


def spoken(verdict: str) -> str:
    """The verdict in words for the user."""
    if verdict == "inside":
        return "inside the training domain"
    return verdict.replace("refused:", "answered only because of --extrapolate:")


def spans(fields: "xarray.Dataset", names: tuple[str, ...]) -> dict[str, str]:
    """Lowest and highest value of every field, and its mean standard deviation where the model has one."""
    texts = {}
    for name in names:
        unit = fields[name].attrs["units"]
        texts[name] = f"{fields[name].min().item():.4g}..{fields[name].max().item():.4g}{f' {unit}' if unit else ''}"
        if f"{name}_std" in fields:
            texts[name] += f", standard deviation {fields[f'{name}_std'].mean().item():.2g} on average"
    return texts


def with_bar(found: "xarray.Dataset", name: str) -> str:
    """'0.1234 +- 0.0005 Pa'."""
    bar = f" +- {found[f'{name}_std'].item():.2g}" if f"{name}_std" in found else ""
    unit = found[name].attrs["units"]
    return f"{found[name].item():.5g}{bar}{'' if unit == '1' else f' {unit}'}"


def quantities(surrogate: "Surrogate", condition: dict[str, float], *, extrapolate: bool) -> dict[str, str]:
    """Stand-off, pressures, drag and heat flux at one condition, with bars where the model has any."""
    found = surrogate.quantities(extrapolate=extrapolate, **condition)  # type: ignore[arg-type]
    texts = {}
    for name in (str(name) for name in found.data_vars if not str(name).endswith(("_std", "_gp"))):
        texts[name] = with_bar(found, name)
        if f"{name}_gp" in found:
            better = {"gp": ", the better one", "field": ""}.get(found[f"{name}_gp"].attrs.get("better", ""), "")
            texts[name] += f"; by a process of its own {with_bar(found, f'{name}_gp')}{better}"
    if any("+-" in text for text in texts.values()):
        texts["+-"] = "one standard deviation of the model's error against runs on the mesh of its training runs"
    return texts
