"""Quantities that users declare, against integrals known in closed form; with bars, and with exact derivatives."""

from pathlib import Path

import numpy as np
import pytest

import sureflow as sf
from sureflow.data.declared import DeclaredQuantity
from sureflow.data.header import Header
from sureflow.data.measures import measures, vtk_cells
from sureflow.data.meshes import Cells, Geometry, Patch, Topology
from sureflow.errors import SureflowError
from sureflow.surrogate.declared_observer import DeclaredObserver
from sureflow.surrogate.space import Space

OPENFOAM = Path(__file__).parent.parent / "fixtures/openfoam/ascii"
N = 40


def block(
    axes: tuple[str, ...], quantities: list[dict], location: str = "cells"
) -> tuple[DeclaredObserver, np.ndarray]:
    """A unit square of N x N cells with the patch `bottom`; and where its values are."""
    x, y = np.meshgrid(np.linspace(0, 1, N + 1), np.linspace(0, 1, N + 1))
    nodes = np.column_stack([x.ravel(), y.ravel()])
    topology = Topology((N, N))
    cells = vtk_cells(topology)
    centers = nodes[cells.connectivity].reshape(-1, 4, 2).mean(axis=1)
    corners = np.column_stack([np.arange(N), np.arange(1, N + 1)]).ravel()
    bottom = Patch(Cells(corners, np.arange(0, 2 * N + 1, 2), np.full(N, 3)), np.arange(N))
    points = centers if location == "cells" else nodes
    header = Header(
        parameters=({"name": "angle"},), fields=({"name": "p"},), axes=axes, location=location, quantities=quantities
    )
    space = Space(axes, Topology((N, N), patches={"bottom": bottom}), location, len(points), Geometry(points, nodes))
    return DeclaredObserver(header, space), points


def read(quantity: dict, field, axes=("x", "y"), location="cells") -> float:
    observer, points = block(axes, [DeclaredQuantity(name="q", **({"field": "p"} | quantity))], location)
    return float(observer(field(*points.T)[None, None], np.zeros((1, 1)))[0, 0])


@pytest.mark.parametrize("location", ["cells", "points"])
@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ({"kind": "integral"}, 0.5 + 1.0),
        ({"kind": "mean"}, 1.5),
        ({"kind": "integral", "patch": "bottom"}, 0.5),
        ({"kind": "force", "patch": "bottom", "direction": [0, 1]}, -0.5),
        ({"kind": "force", "patch": "bottom", "direction": [1, 0]}, 0.0),
        ({"kind": "moment", "patch": "bottom", "about": [0, 0]}, -1.0 / 3.0),
        ({"kind": "value", "at": [0.3, 0.4]}, 0.3 + 0.8),
        ({"kind": "line", "at": [0.1, 0.2], "to": [0.9, 0.2]}, 0.5 + 0.4),
        ({"kind": "mean", "factor": 2.0}, 3.0),
    ],
)
def test_integrals_of_x_plus_2_y(quantity, expected, location):
    found = read(quantity, lambda x, y: x + 2 * y, location=location)
    # On cells, a patch has the values of the cells behind it: half a cell away.
    tolerance = 2.2 / N if location == "cells" and quantity.get("patch") else 1e-3
    assert found == pytest.approx(expected, abs=tolerance)


def test_around_an_axis():
    assert read({"kind": "integral"}, lambda x, r: 1.0 + 0 * x, ("x", "r")) == pytest.approx(np.pi, rel=1e-9)
    assert read({"kind": "mean"}, lambda x, r: r, ("x", "r")) == pytest.approx(2.0 / 3.0, rel=1e-3)


@pytest.mark.parametrize("kind", [10, 12, 13, 14, 41])
def test_volumes(kind):
    """Of cells that fill a part of the unit cube that is known."""
    cube = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)
    corners, volume = {
        10: ((0, 1, 3, 4), 1 / 6),
        12: (range(8), 1.0),
        13: ((0, 3, 1, 4, 7, 5), 0.5),
        14: ((0, 1, 2, 3, 4), 1 / 3),
        41: (range(8), 1.0),
    }[kind]
    cells = Cells(np.array([*corners]), np.array([0, len(corners)]), np.array([kind]))
    assert measures(cube, cells)[0] == pytest.approx(volume)


def test_of_imported_runs_with_bars(tmp_path):
    """Over a patch of OpenFOAM, through store, training, calibration and back."""
    quantities = {"drag": {"kind": "force", "patch": "ramp", "field": "p", "direction": [1, 0], "unit": "N/m"}}
    first = sf.read_runs(OPENFOAM, entries={"speed": "0/U:internalField[0]"}, quantities=quantities)
    speed = first.parameters[0, 0] * np.linspace(0.9, 1.1, 12)
    fields = {name: first.fields[0][n] * (speed[:, None] / speed[0]) ** 2 for n, name in enumerate(first.names)}
    runs = sf.Runs(
        first.header,
        speed[:, None],
        type(first.fields)(np.stack(list(fields.values()), 1)),
        first.topology,
        first.geometry,
    )
    runs.save(tmp_path / "runs.zarr")
    opened = sf.open_runs(tmp_path / "runs.zarr")
    assert opened.topology == runs.topology
    model = sf.fit(opened, "interpolation")
    model.save(tmp_path / "model")
    found = sf.load(tmp_path / "model").quantities(speed=speed[0])
    ramp = first.geometry.nodes[first.topology.patches["ramp"].faces.connectivity]
    heights = ramp[1::2, 1] - ramp[::2, 1]
    pressure = first.fields[0][first.names.index("p")][first.topology.patches["ramp"].owners]
    assert found.drag.item() == pytest.approx(float((pressure * np.abs(heights)).sum()), rel=1e-6)
    assert found.drag.attrs["units"] == "N/m"
    assert np.isfinite(found.drag_std)


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        ({"kind": "force", "field": "p"}, "needs direction"),
        ({"kind": "mean", "field": "T"}, "is read off 'T': the fields are p"),
        ({"kind": "value", "field": "p", "at": [1, 2, 3]}, "3 numbers in at, but the mesh has 2 axes"),
        ({"kind": "mean", "field": "p", "patch": "wing"}, "the patches are bottom"),
    ],
)
def test_what_cannot_be_read(quantity, words):
    with pytest.raises(SureflowError, match=words):
        read(quantity, lambda x, y: x)


def test_derivatives_are_exact():
    kinds = [
        {"name": "a", "field": "p", "kind": "integral"},
        {"name": "b", "field": "p", "kind": "moment", "patch": "bottom", "about": [0.2, 0.3]},
        {"name": "c", "field": "p", "kind": "maximum"},
        {"name": "d", "field": "p", "kind": "mean"},
    ]
    observer, points = block(("x", "y"), kinds)
    geometry, rng = observer.space.geometry, np.random.default_rng(0)
    run, d_run = 1.0 + rng.random((1, len(points))), rng.random((1, 1, len(points)))
    moved = Geometry(*(0.01 * np.sin(3 * array) for array in geometry.arrays()))
    slopes = observer.slopes(run, geometry, d_run, [moved])

    def at(step: float) -> np.ndarray:
        there = Geometry(*(array + step * d for array, d in zip(geometry.arrays(), moved.arrays(), strict=True)))
        readings = observer.readings(there)
        return np.array([r(np, run[v] + step * d_run[0, v], there.points, there.nodes) for v, r in readings])

    np.testing.assert_allclose(slopes[:, 0], (at(1e-6) - at(-1e-6)) / 2e-6, rtol=1e-6)
