"""The error of the mesh: learned from pairs, part of predictions, kept with the model."""

import numpy as np
import pytest

import sureflow as sf
import synthetic
from mesh_pairs import COARSE, COARSER, FINE, runs
from sureflow.surrogate.mesh_bars import with_mesh_error
from sureflow.uq.mesh_error import local_order


@pytest.fixture(scope="module")
def model():
    return sf.fit(runs(COARSE), "interpolation", calibrate=False)


@pytest.fixture(scope="module")
def learned(model):
    pairs = synthetic.grid()[::2]
    return with_mesh_error(model, runs(COARSE), runs(FINE, pairs), runs(COARSER, pairs))


def test_predictions_carry_both_parts(learned):
    found = learned.predict(mach=22.0, altitude_km=44.0)
    for name in ("u1", "rho", "T"):
        both = np.hypot(found[f"{name}_std_surrogate"], found[f"{name}_std_mesh"])
        assert found[f"{name}_std"].values == pytest.approx(both.values)
        assert float(found[f"{name}_std_mesh"].max()) > 0
    assert "standard deviation" in found["u1_std_mesh"].attrs["long_name"]


def test_bars_of_the_mesh_hold_the_error_at_conditions_without_a_pair(learned):
    """Judged by a mesh that is four times finer, restricted, at conditions that no pair has."""
    conditions = synthetic.grid()[1::4]
    finest = runs((64, 64), conditions).array().reshape(len(conditions), 4, 16, 4, 16, 4).mean(axis=(3, 5))
    truth, ours = finest.reshape(len(conditions), 4, -1), runs(COARSE, conditions).array()
    inside, ratio = [], []
    for case, (mach, altitude) in enumerate(conditions):
        found = learned.predict(mach=mach, altitude_km=altitude, extrapolate=True)
        for variable, name in enumerate(("u1", "u2", "rho", "T")):
            std, error = found[f"{name}_std_mesh"].values.ravel(), np.abs(truth - ours)[case, variable]
            counted = error > 1e-3 * error.max()
            inside.append((error <= 1.645 * std)[counted].mean())
            ratio.append(std[counted].mean() / error[counted].mean())
    assert np.mean(inside) > 0.85
    assert np.median(ratio) < 3.0


def test_quantities_carry_both_parts(learned):
    found = learned.quantities(mach=20.0, altitude_km=40.0)
    assert float(found.stand_off_std_mesh) > 0
    expected = np.hypot(float(found.stand_off_std_surrogate), float(found.stand_off_std_mesh))
    assert float(found.stand_off_std) == pytest.approx(expected)
    assert float(found.stagnation_pressure_std_mesh) > 0  # no run keeps it, but the fields tell it


def test_it_is_kept_with_the_model(learned, tmp_path):
    learned.save(tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert again.predict(mach=22.0, altitude_km=44.0).identical(learned.predict(mach=22.0, altitude_km=44.0))


def test_without_it_nothing_changes(model):
    assert not any(str(name).endswith("_std_mesh") for name in model.predict(mach=22.0, altitude_km=44.0))


def test_too_few_pairs_and_other_meshes_are_refused(model):
    with pytest.raises(sf.SureflowError, match="3 conditions were computed on all of the meshes"):
        with_mesh_error(model, runs(COARSE), runs(FINE, synthetic.grid()[:3]))
    with pytest.raises(sf.SureflowError, match="are not nested"):
        with_mesh_error(model, runs(COARSE), runs((24, 24)))


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0])
def test_local_orders_are_those_of_the_differences(order):
    field = np.random.default_rng(0).normal(size=(4, 2, 12, 12))
    assert local_order(field * 2**order, field, 2) == pytest.approx(order)
    assert local_order(field * 20.0, field, 2) == pytest.approx(2.0)
    assert local_order(field * 0.5, field, 2) == pytest.approx(1.0)
