"""The ranges that the conditions of runs were drawn from, which samples of them hardly ever reach the ends of."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.validation import settings

if TYPE_CHECKING:
    from sureflow.data.header import Header

PART = "part"  # the number of a run that tells which named part of its campaign it belongs to
# Runs that stay away from an end of a range as far as fewer than one in so many samples do were not drawn from all of it.
HARDLY_EVER = 1000
# Few samples may stay far away by chance, but what is farther than this share of the range from all of them is not inside it.
FARTHEST = 0.25
# Where ranges are estimated: the share of conditions, drawn as the runs were, that may lie outside of one or more of them.
OUTSIDE = 0.05
# By how much of what the runs span an end is moved outward at most.
FARTHEST_ESTIMATE = 0.15
# Values of so few digits were chosen, and not drawn.
DIGITS = 4
# Steps that differ by less than this share of the range are even.
EVEN = 1e-6

Conditions = Float[np.ndarray, "case parameter"]


@settings
class DrawnFrom:
    """From which ranges a design drew its conditions, by parameter; `part` is the part of the campaign that it belongs to.

    Predictions within are asked for as the runs were. Unlike the declared range of a parameter it limits nothing.
    """

    ranges: dict[str, tuple[float, float]]
    part: str = ""

    def __post_init__(self) -> None:
        for name, (low, high) in self.ranges.items():
            if not low < high:
                raise SureflowError(f"drawn_from: the range of {name}, {low:g}..{high:g}, is empty: give [low, high]")


def drawn_ranges(header: "Header", parameters: Conditions) -> dict[str, tuple[float, float]]:
    """The ranges that runs with these parameters were drawn from, by parameter, in what is known of them.

    Several designs count together. An end counts unless the runs stay so far away from it as n samples of the range hardly
    ever would, beyond a share 1 - 1000^(-1/n) of it, or a quarter: such runs are a selection, and know nothing of what was
    left out.
    """
    found = {}
    for parameter, values in zip(header.parameters, parameters.T, strict=True):
        designs = [one.ranges[parameter.name] for one in header.drawn_from if parameter.name in one.ranges]
        if not designs or not len(values):
            continue
        logarithmic = parameter.scale == "log" and min(low for low, _ in designs) > 0
        see = np.log if logarithmic else np.asarray
        ends = np.array([min(low for low, _ in designs), max(high for _, high in designs)])
        reached = np.array([values.min(), values.max()])
        away = np.abs(see(reached) - see(ends)) / max(float(np.ptp(see(ends))), np.finfo(float).tiny)
        counts = away <= min(1.0 - HARDLY_EVER ** (-1.0 / len(values)), FARTHEST)
        low, high = np.where(counts, ends, reached).tolist()
        found[parameter.name] = (min(low, float(reached[0])), max(high, float(reached[1])))
    return found


def estimated_ranges(header: "Header", parameters: Conditions) -> dict[str, tuple[float, float]]:
    """Ranges that runs seem to be drawn from, by parameter; not of those whose values look chosen, or whose range is known.

    A further value out of a uniform distribution lies below n others, by more than a share c of what they span, with the
    probability (1 + c)^(1 - n) / (n + 1), since all steps between values in order have the same distribution. Ends are moved
    outward by the c with which `OUTSIDE` of all conditions lie beyond one of the 2 p ends: not at all for many runs in few
    parameters, farther for few in many.
    """
    known = {name for one in header.drawn_from for name in one.ranges} | {*header.declared}
    columns = {
        parameter.name: (np.log, np.exp) if parameter.scale == "log" else (np.asarray, np.asarray)
        for parameter, values in zip(header.parameters, parameters.T, strict=True)
        if parameter.name not in known and _looks_drawn(values, logarithmic=parameter.scale == "log")
    }
    n_runs = len(parameters)
    share = (2 * len(columns) / (OUTSIDE * (n_runs + 1))) ** (1.0 / max(n_runs - 1, 1)) - 1.0
    found = {}
    for name, (see, back) in columns.items():
        values = see(parameters[:, header.parameter_names.index(name)])
        out = min(max(share, 0.0), FARTHEST_ESTIMATE) * np.ptp(values)
        low, high = float(back(values.min() - out)), float(back(values.max() + out))
        # What has one sign in all runs may have no meaning beyond zero.
        found[name] = (
            max(low, 0.0) if back(values.min()) >= 0 else low,
            min(high, 0.0) if back(values.max()) <= 0 else high,
        )
    return found


def _looks_drawn(values: Float[np.ndarray, " case"], *, logarithmic: bool) -> bool:
    """Whether values may be a random sample: none repeats, as in grids, their steps differ, and not all are round numbers."""
    for seen in (values, np.log(values)) if logarithmic else (values,):
        steps = np.diff(np.sort(seen))
        if len(values) < 3 or steps.min() <= 0 or np.ptp(steps) <= EVEN * steps.sum():
            return False
    return any(float(f"{value:.{DIGITS}g}") != value for value in values.tolist())


def of_parts(header: "Header", numbers: Float[np.ndarray, "case number"] | None) -> "Header":
    """The header of runs with these numbers, without designs of parts that none of them belongs to."""
    if not any(one.part for one in header.drawn_from):
        return header
    names, columns = header.made_by.get("parts") or [], [number.name for number in header.numbers]
    if numbers is None or PART not in columns:
        return header
    present = {names[int(place)] for place in numbers[:, columns.index(PART)] if 0 <= place < len(names)}
    return replace(header, drawn_from=tuple(one for one in header.drawn_from if not one.part or one.part in present))


def together(designs: Iterable[Sequence[DrawnFrom]]) -> tuple[DrawnFrom, ...]:
    """Those of several sets of runs, each once."""
    found: list[DrawnFrom] = []
    for some in designs:
        found += [one for one in some if one not in found]
    return tuple(found)
