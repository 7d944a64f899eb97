"""What a dry run tells: the files, what is in them, and what would be done with it."""

import numpy as np

from sureflow.importers.assembly import values_of
from sureflow.importers.planning import Plan
from sureflow.importers.snapshot import Block

MOST = 12  # files or blocks that are listed one by one


def preview(plan: Plan) -> dict[str, list[str]]:
    """Lines by title."""
    first, files = plan.first, plan.files
    listed = [
        f"{file}  {', '.join(f'{name}={values[case]:g}' for name, values in plan.columns.items())}"
        for case, file in enumerate(files[:MOST])
    ]
    found = {
        f"{len(files)} runs": [*listed, *([f"and {len(files) - MOST} more"] if len(files) > MOST else [])],
        f"blocks of {first.path.name}": [described_block(block) for block in first.blocks[:MOST]],
        "patches": [described_block(block) for block in first.patches[:MOST]],
        "times": [described_times(plan)] if first.times else [],
        "fields": described_fields(plan),
        "left out": list(plan.selection.left_out),
        "result": [described_mesh(plan)],
    }
    return {title: lines for title, lines in found.items() if lines}


def described_block(block: Block) -> str:
    arrays = [
        f"{name}{'' if array.ndim == 1 else f' ({array.shape[1]} components)'} on {place}"
        for place, arrays in (("cells", block.on_cells), ("points", block.on_nodes))
        for name, array in arrays.items()
    ]
    count = f"{block.n_cells:,} {'cells' if block.topology.kind != 'points' else 'points'} ({block.topology.kind})"
    low, high = block.nodes.min(axis=0), block.nodes.max(axis=0)
    bounds = " x ".join(f"{a:g}..{b:g}" for a, b in zip(low, high, strict=True))
    return f"{block.name}: {count} in {bounds}: {', '.join(arrays) or 'no arrays'}"


def described_times(plan: Plan) -> str:
    times = plan.first.times
    return f"{len(times)} from {times[0]:g} to {times[-1]:g}: {plan.first.time:g} is taken"


def described_fields(plan: Plan) -> list[str]:
    blocks = plan.first.named(plan.settings.blocks)
    lines = []
    for choice, variable in zip(plan.selection.choices, plan.header.fields, strict=True):
        values = values_of(blocks, choice, plan.selection.location, plan.first)
        unit = f" {variable.unit}" if variable.unit else ""
        guess = " (unit guessed)" if choice.guessed and variable.unit else "" if variable.unit else " (unit unknown)"
        lines.append(f"{choice.name} from {choice.source}: {np.min(values):.6g}..{np.max(values):.6g}{unit}{guess}")
    return lines


def described_mesh(plan: Plan) -> str:
    flat = plan.mesh.flat
    count = len(plan.mesh.geometry.points)
    size = count * len(plan.header.fields) * plan.dtype.itemsize * len(plan.files)
    reduced = f"; the mesh {flat.words}" if flat.words else ""
    mesh = "nodes of each run" if plan.is_moving else "a mesh that all runs share"
    if plan.is_resampled:
        mesh = f"brought onto the mesh of {plan.settings.reference or plan.first.path.name} ({plan.settings.interpolation})"
    return (
        f"{len(plan.files)} runs of {len(plan.header.fields)} fields at {count:,} {plan.selection.location} in "
        f"{', '.join(plan.header.axes)}, {mesh}{reduced}; {size / 1e6:,.1f} MB in {plan.dtype.name} before compression"
    )
