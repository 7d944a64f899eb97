"""Which part of the bars is the larger one: the surrogate's own error, or that of the mesh of its runs."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from sureflow.data.runs import Runs
from sureflow.evaluate.results import Row
from sureflow.evaluate.summary import Domains
from sureflow.surrogate.labelled import prediction_arrays, quantity_columns
from sureflow.surrogate.model import Surrogate

Conditions = Float[np.ndarray, "case parameter"]

FIELD, QUANTITY = "field", "quantity"
SURROGATE, MESH = "surrogate", "mesh"
AT_ONCE = 8  # conditions
MOST_TIMES = 1000  # beyond it a ratio is of no interest, as at a training run, where the surrogate hardly errs


def bar_part_rows(surrogate: Surrogate, runs: Runs, tests: Domains) -> list[Row]:
    """By domain, and field or quantity: both parts of the bars, averaged over the test runs. None of a model without them."""
    if surrogate.mesh_error is None:
        return []
    return [
        {"domain": domain, **row}
        for domain, mask in tests.items()
        if mask.any()
        for row in bar_parts(surrogate, runs.parameters[mask])
    ]


def bar_parts(surrogate: Surrogate, conditions: Conditions) -> list[Row]:
    """A row a field and quantity: standard deviations of the surrogate's and the mesh's error, averaged over the conditions.

    Those of fields are in their units and averaged over the points as well; those of quantities are in percent.
    """
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for start in range(0, len(conditions), AT_ONCE):
        for key, *both in _parts(surrogate, conditions[start : start + AT_ONCE]):
            found.setdefault(key, []).extend(zip(*both, strict=True))
    means = {key: np.mean(each, axis=0) for key, each in found.items()}
    return [
        {"kind": kind, "name": name, "unit": unit, SURROGATE: float(both[0]), MESH: float(both[1])}
        for (kind, name, unit), both in means.items()
        if np.isfinite(both).all()
    ]


def _parts(
    surrogate: Surrogate, conditions: Conditions
) -> Iterator[tuple[tuple[str, str, str], list[float], list[float]]]:
    answer = surrogate.answer(conditions, extrapolate=True)
    arrays = prediction_arrays(surrogate, answer)
    if "_std_mesh" not in arrays:
        return
    for column, field in enumerate(surrogate.header.fields):
        both = (arrays[f"_std_{part}"][:, column].mean(axis=1).tolist() for part in (SURROGATE, MESH))
        yield (
            (
                FIELD,
                field.name,
                field.unit,
            ),
            *both,
        )
    columns = quantity_columns(surrogate, answer.place)
    for name in (name for name in columns if f"{name}_std_mesh" in columns):
        shown = name.removesuffix("_gp")
        if shown != name and f"{shown}_std_mesh" in columns:
            continue  # read off the field as well
        size = 0.01 * np.abs(columns[name][1])
        yield (
            (QUANTITY, shown, "%"),
            *((columns[f"{name}_std_{part}"][1] / size).tolist() for part in (SURROGATE, MESH)),
        )


def larger_part(rows: Sequence[Row]) -> str:
    """'The error of the mesh is the larger part of the bars of u1 (3.1 times the other), T (12 times the other). ...'."""
    sentences = []
    for part, other, words in (
        (MESH, SURROGATE, "The error of the mesh"),
        (SURROGATE, MESH, "The surrogate's own error"),
    ):
        times = {row["name"]: row[part] / row[other] for row in rows if row[part] > row[other] > 0}
        times |= {row["name"]: np.inf for row in rows if row[part] > row[other] == 0}
        if times:
            over = ", ".join(f"{name} ({_times(ratio)})" for name, ratio in times.items())
            sentences.append(f"{words} is the larger part of the bars of {over}.")
    return " ".join(sentences)


def _times(ratio: float) -> str:
    if ratio > MOST_TIMES:
        return "nearly all of it" if np.isfinite(ratio) else "all of it"
    return f"{ratio:.{0 if ratio >= 10 else 1}f} times the other"
