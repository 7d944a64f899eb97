"""Runs in NumPy archives."""

import numpy as np
import pytest

import kinds_of_runs
import sureflow
from sureflow.data.streams import Flight
from sureflow.errors import SureflowError

POINTS = np.linspace(0.0, 1.0, 7)[:, None]
ANGLE = np.arange(4.0)
GIVEN = {
    "parameters.angle": ANGLE,
    "coordinates": POINTS,
    "fields.p": np.sin(ANGLE[:, None] + POINTS[:, 0]),
}


def archive_of(runs) -> dict[str, np.ndarray]:
    """Runs under the names of an archive."""
    header, topology = runs.header, runs.topology
    geometries = [runs.geometry_of(case) for case in range(len(runs))]
    points, nodes = (np.stack([getattr(one, kind) for one in geometries]) for kind in ("points", "nodes"))
    given = {f"parameters.{name}": column for name, column in zip(runs.parameter_names, runs.parameters.T, strict=True)}
    given |= {f"fields.{name}": runs.array()[:, index] for index, name in enumerate(runs.names)}
    given |= {f"units.{item.name}": np.array(item.unit) for item in (*header.fields, *header.parameters) if item.unit}
    given |= {f"numbers.{item.name}": runs.numbers[:, index] for index, item in enumerate(header.numbers)}
    moving = runs.is_moving
    given |= {"coordinates": points if moving else points[0], "nodes": nodes if moving else nodes[0]}
    given |= {"axes": np.array(header.axes), "location": np.array(header.location)}
    if topology.cells is None:
        return given | {"shape": np.array(topology.shape)}
    return given | {name: getattr(topology.cells, name) for name in ("connectivity", "offsets", "types")}


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_every_kind_of_runs(tmp_path, kind):
    runs = kinds_of_runs.runs(kind)
    np.savez(tmp_path / "runs.npz", **archive_of(runs))
    found = sureflow.open_runs(tmp_path / "runs.npz")
    assert found.header == runs.header
    assert found.topology == runs.topology
    assert found.checksum == runs.checksum
    np.testing.assert_array_equal(found.numbers, runs.numbers)


def test_what_the_file_does_not_say_can_be_given(tmp_path):
    given = {"parameters.mach": ANGLE + 10, "parameters.altitude_km": ANGLE + 40, **GIVEN}
    del given["parameters.angle"]
    np.savez(tmp_path / "runs.npz", **given)
    found = sureflow.open_runs(tmp_path / "runs.npz", free_stream=Flight(), units={"p": "Pa"})
    assert found.units == ("Pa",)
    assert found.header.stream == Flight()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"coordinates": None}, r"runs.npz has no array coordinates: it has parameters.angle, fields.p"),
        ({"fields.p": None}, r"runs.npz has no array fields.<name>"),
        ({"pressure": ANGLE}, r"runs.npz: the array 'pressure' is not one of parameters.<name>, fields.<name>"),
        ({"fields.p": ANGLE}, r"runs.npz: fields must share one shape \(case, point\)"),
        ({"offsets": np.arange(3)}, r"runs.npz: unstructured cells need .*: connectivity is missing"),
        ({"units.q": np.array("Pa")}, r"runs.npz: 'q' has a unit, range or scale but no values"),
        ({"fields.p": np.array([{}, {}], dtype=object)}, r"runs.npz is not a NumPy archive of numbers"),
    ],
)
def test_mistakes(tmp_path, changes, sentence):
    given = {name: values for name, values in (GIVEN | changes).items() if values is not None}
    np.savez(tmp_path / "runs.npz", **given)
    with pytest.raises(SureflowError, match=sentence):
        sureflow.open_runs(tmp_path / "runs.npz")


def test_what_is_not_an_archive(tmp_path):
    for content in (b"", b"garbage", b"PK\x03\x04 cut off"):
        (tmp_path / "runs.npz").write_bytes(content)
        with pytest.raises(SureflowError, match="is not a NumPy archive of numbers"):
            sureflow.open_runs(tmp_path / "runs.npz")
    np.save(tmp_path / "one.npy", ANGLE)
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(SureflowError, match="is not a NumPy archive of numbers"):
        sureflow.open_runs(tmp_path / "one.npz")
