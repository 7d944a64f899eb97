"""`sureflow predict`: conditions in; fields with error bars out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureflow.cli.inputs import parse_values, read_table
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from sureflow.surrogate.model import Answer, Surrogate

MOST_POINTS = 20  # that are shown
STAR = " *"


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    values: Annotated[
        list[str] | None, typer.Argument(help="The parameters of a condition, as in mach=25 altitude_km=46.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the fields: .vtu, .vts, .vtkhdf, .pvd, .nc, .zarr, .csv, .png."),
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
    on: Annotated[
        Path | None, typer.Option(help="Mesh to predict on instead of that of the runs, such as other.vtu.")
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

    write, write_surface = None, None
    if output is not None or surface is not None:
        from sureflow.export.exporters import writer

        write, write_surface = (
            None if path is None else writer(path, overwrite=overwrite) for path in (output, surface)
        )

    begin(f"predicting with {model}")

    import numpy as np

    from sureflow.cli.console import out, print_facts
    from sureflow.evaluate.bar_parts import bar_parts, larger_part
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.artifact import load
    from sureflow.surrogate.labelled import labelled_prediction, worth

    keep_compiled_programs()
    surrogate = load(model)
    table: dict[str, Any] = dict(given) if conditions is None else read_table(conditions, surrogate.parameter_names)
    asked, located = surrogate.conditions(table), None
    if points is not None:
        located = np.column_stack(list(read_table(points, surrogate.header.axes).values()))
    answer = surrogate.answer(asked, located, extrapolate=extrapolate)
    if on is not None:
        elsewhere = surrogate.predict(on=on, extrapolate=extrapolate, **table)
        out.print(f"{elsewhere['inside_mesh'].mean().item():.1%} of {on} lies in the mesh of the runs", markup=False)
        if write is not None:
            write(elsewhere)
    elif write is not None:
        write(labelled_prediction(surrogate, answer, located, single=conditions is None))
    if write_surface is not None:
        write_surface(surrogate.surface(extrapolate=extrapolate, **table))
    name = f"{output}: " if output else ""
    out.print(f"{name}{spoken(answer.place.summary())}\nerror bars: {worth(surrogate)}", markup=False)
    if conditions is None:
        print_facts(spans(surrogate, answer))
        if located is not None and output is None:
            print("\n".join(at_points(surrogate, answer, located)))
        if surrogate.observer is not None or surrogate.numbers is not None:
            on_mesh = answer if located is None else surrogate.answer(asked, extrapolate=extrapolate)
            print("\n".join(quantities(surrogate, on_mesh)))
        if surrogate.mesh_error is not None and located is None:
            print(larger_part(bar_parts(surrogate, asked)))


def spoken(verdict: str) -> str:
    """The verdict in words for the user."""
    if verdict.startswith("inside"):
        return verdict.replace("inside", "inside the training domain", 1)
    return verdict.replace("refused:", "answered only because of --extrapolate:")


def spans(surrogate: "Surrogate", answer: "Answer") -> dict[str, str]:
    """Lowest and highest value of every field, and its mean standard deviation where the model has one."""
    from sureflow.surrogate.labelled import prediction_arrays

    arrays, texts = prediction_arrays(surrogate, answer), {}
    mean, std = arrays[""], arrays.get("_std")
    for column, field in enumerate(surrogate.header.fields):
        values = mean[:, column]
        texts[field.name] = f"{values.min():.4g}..{values.max():.4g}{f' {field.unit}' if field.unit else ''}"
        if std is not None:
            texts[field.name] += f", standard deviation {std[:, column].mean():.2g} on average"
            texts[field.name] += parts({name: array[:, column] for name, array in arrays.items()}, "")
    return texts


def at_points(surrogate: "Surrogate", answer: "Answer", points: "np.ndarray") -> list[str]:
    """A table with a row for each of the first points: where it is, and every field with its standard deviation."""
    mean, std = answer.predictive.mean[0], answer.predictive.std
    rows = [[*surrogate.header.axes, *(f"{name} +- std" if std is not None else name for name in surrogate.names)]]
    for point in range(min(len(points), MOST_POINTS)):
        bars = [""] * len(mean) if std is None else [f" +- {bar:.2g}" for bar in std[0, :, point]]
        values = [f"{value:.5g}{bar}" for value, bar in zip(mean[:, point], bars, strict=True)]
        rows.append([*(f"{place:.5g}" for place in points[point]), *values])
    lines = table_lines(rows)
    more = len(points) - MOST_POINTS
    return [*lines, f"and {more} more points: --output writes all of them"] if more > 0 else lines


def quantities(surrogate: "Surrogate", answer: "Answer") -> list[str]:
    """A table of stand-off, pressures, drag and heat flux at one condition, with bars where the model has any.

    Beside what is read off the fields stands what a process of the number alone says; a star marks who errs less on runs left
    out, where that is known.
    """
    from sureflow.surrogate.labelled import quantity_columns, quantity_names

    found, rows = quantity_columns(surrogate, answer.place, answer), []
    read_off = {quantity.name for quantity in surrogate.observer.quantities} if surrogate.observer else set()
    for name in quantity_names(found):
        own, unit = f"{name}_gp" if name in read_off else name, found[name][2]["units"]
        field = with_bar(found, name) if name in read_off else ""
        number = with_bar(found, own) if own in found else ""
        better = found[own][2].get("better") if own in found else None
        marked = [field + STAR * (better == "field"), number + STAR * (better == "gp")]
        rows.append([name, "" if unit == "1" else unit, *marked])
    titled = zip(["quantity", "unit", "read off the field", "learned as a number"], *rows, strict=True)
    lines = table_lines([*zip(*(column for column in titled if any(column[1:])), strict=True)])
    if any(STAR in line for line in lines):
        lines.append(f"{STAR.strip():<4}errs less on runs left out")
    if surrogate.mesh_error is not None:
        lines.append("+-  one standard deviation of the error, that of the mesh counted where it is named")
    elif any("+-" in line for line in lines):
        lines.append("+-  one standard deviation of the model's error against runs on the mesh of its training runs")
    return lines


def table_lines(rows: "Sequence[Sequence[str]]") -> list[str]:
    """Rows of texts in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def with_bar(found: "Mapping[str, tuple]", name: str) -> str:
    """'0.1234 +- 0.0005'."""
    values = found[name][1]
    bar = f" +- {found[f'{name}_std'][1][0]:.2g}" if f"{name}_std" in found else ""
    bar += parts({key: column[1] for key, column in found.items()}, name)
    return f"{values[0]:.5g}{bar}"


def parts(found: "Mapping[str, np.ndarray]", name: str) -> str:
    """' (surrogate 0.001, mesh 0.004)', where both are known."""
    if f"{name}_std_mesh" not in found:
        return ""
    told = (f"{part} {found[f'{name}_std_{part}'].mean():.2g}" for part in ("surrogate", "mesh"))
    return f" ({', '.join(told)})"
