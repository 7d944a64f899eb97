"""A program for the values that a page draws of a volume, and no others.

The bars of calibrated models depend on those at neighbors in a block (`Value.around`), which need not be drawn. What leads to
them is computed at the drawn values and, after them, at these neighbors.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from jaxtyping import Int
from scipy.ndimage import maximum_filter

from sureflow.explore.operations import FIELDS_OF_SMALL, SMALL_OF_FIELDS
from sureflow.explore.packing import Kind
from sureflow.explore.program import Program, Step

REACH = "reach"  # the numbers of the values that are computed because of their neighbors
Values = Int[np.ndarray, " _"]  # their numbers


def restricted_program(program: Program, used: Values, n_values: int, location: str) -> Program:
    """The same outputs at some values of a mesh; nodes of a mesh that moves stay what they are where values are in cells."""
    wide, made = _before_neighbors(program), Program()
    made.keeping, made.arrays = program.keeping, dict(program.arrays)
    reach = _reach(program, used, n_values)
    if reach is not None:
        made.arrays[REACH] = reach.astype(np.int32)
    far = {name for index in wide for name in program.steps[index].rows}
    for name, rows in program.rows.items():
        cut = rows.shape[2] == n_values and (location == "points" or program.keeping[name].kind is not Kind.PLACES)
        made.rows[name] = rows[:, :, reach if name in far else used] if cut else rows
    _copy_steps(program, made, wide, len(used))
    return made


def _before_neighbors(program: Program) -> set[int]:
    """The steps whose fields neighbors are looked up in or follow from, and those that read the same rows."""
    fields: set[int] = set()
    for index, step in enumerate(program.steps):
        of_fields = step.op not in SMALL_OF_FIELDS and not fields.isdisjoint(step.inputs)
        if step.op in FIELDS_OF_SMALL or of_fields:
            fields.add(index)
    found = {step.inputs[0] for step in program.steps if step.op == "around"}
    for index in sorted(fields, reverse=True):
        if index in found:
            found.update(fields.intersection(program.steps[index].inputs))
    rows = {name for index in found for name in program.steps[index].rows}
    return found | {index for index in fields if not rows.isdisjoint(program.steps[index].rows)}


def _reach(program: Program, used: Values, n_values: int) -> Values | None:
    """The values themselves, then their neighbors; None where no bars depend on neighbors."""
    windows = [step.settings for step in program.steps if step.op == "around"]
    if not windows:
        return None
    near = np.zeros(n_values, bool)
    near[used] = True
    for settings in windows:
        near |= maximum_filter(near.reshape(settings["shape"]), 2 * settings["neighbors"] + 1).ravel()
    near[used] = False
    return np.concatenate([used, np.flatnonzero(near)])


def _copy_steps(program: Program, made: Program, wide: Iterable[int], count: int) -> None:
    """All steps; where one needs fewer values than an earlier one has, a step between them leaves the others out."""
    numbers: dict[int, int] = {}  # of the steps in the program that is made

    def drawn(index: int) -> int:
        return (
            made.put(Step("drawn", (numbers[index],), settings={"count": count})) if index in wide else numbers[index]
        )

    for index, step in enumerate(program.steps):
        if step.op == "around":
            step = replace(step, arrays={"places": REACH}, settings={**step.settings, "count": count})
        all_of_them = index in wide or step.op == "around"
        inputs = tuple(numbers[one] if all_of_them else drawn(one) for one in step.inputs)
        numbers[index] = made.put(replace(step, inputs=inputs))
    made.outputs = {name: drawn(index) for name, index in program.outputs.items()}
