"""A store that version 1 wrote, with four flights of which one failed, and what version 1 said of it."""

from pathlib import Path

import numpy as np
import pytest

import synthetic
from sureflow.data.run_store import RunStore
from sureflow.data.runs import Runs
from sureflow.data.store import add_runs, open_runs, open_store
from sureflow.data.streams import Flight
from sureflow.errors import SureflowError
from sureflow.physics.gases import PerfectGas

STORE = Path(__file__).parent / "version1_runs"
CONDITIONS = np.array([(10.0, 20.0), (10.0, 40.0), (20.0, 40.0)])


def test_a_store_of_version_1_opens():
    runs = open_runs(STORE)
    np.testing.assert_array_equal(runs.parameters, CONDITIONS)
    # Processors differ in the last digit of powers, which the fixture was computed with.
    np.testing.assert_allclose(runs.array(), synthetic.fields(CONDITIONS, (3, 4)).reshape(3, 4, 12), rtol=1e-15)
    np.testing.assert_array_equal(runs.numbers, [[10, 0.5], [12, 0.5], [13, 0.5]])
    assert runs.left_out == {"failed": 1}
    assert runs.header.axes == ("x", "r")
    assert runs.units == ("m/s", "m/s", "kg/m3", "K")
    assert runs.header.stream == Flight(PerfectGas(gamma=1.3))
    assert runs.gas == PerfectGas(gamma=1.3)
    assert runs.header.made_by["wall"] == {"kind": "isothermal", "temperature": 1500.0}
    _, _, xi, eta = (values.ravel() for values in synthetic.cells((3, 4)))
    np.testing.assert_array_equal(runs.coordinates("body-fitted"), np.column_stack([xi, eta]))
    node_x, _ = synthetic.nodes((3, 4))
    np.testing.assert_array_equal(runs.geometry_of(0).grid(0, (3, 4)), node_x)


def test_checksums_are_those_of_version_1():
    """Models of version 1 know their runs by them."""
    assert open_runs(STORE).checksum == "63c4f1a5fdaa146b5d2191b9cf1f27661c01b2b5e1a79512f0b40035fb8ab051"
    assert open_store(STORE).checksum() == "2729203a1df2c60d874f6d22c0a9a784a272f0860206cb09d3f3f45564f32eaf"


def test_a_store_of_version_1_is_saved_as_the_present_one(tmp_path):
    runs = open_runs(STORE)
    runs.save(tmp_path / "runs.zarr")
    again = open_runs(tmp_path / "runs.zarr")
    assert again.checksum == runs.checksum
    assert Runs.join([runs, again.select(slice(0, 0))]).checksum == runs.checksum


def test_a_store_of_version_1_is_not_written_to():
    for use in (lambda: add_runs(STORE, open_runs(STORE)), lambda: RunStore.open(STORE, writable=True)):
        with pytest.raises(
            SureflowError, match="has schema version 1 and cannot be added to: save its runs as another"
        ):
            use()
