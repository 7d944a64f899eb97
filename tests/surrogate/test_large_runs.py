"""Runs that are larger than memory: with the limit set to a few kB, all models work in passes and give the same."""

from mmap import mmap

import numpy as np
import pytest

import kinds_of_runs
import synthetic
from sureflow import scratch
from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.store import open_runs
from sureflow.surrogate.artifact import load
from sureflow.surrogate.fit import fit

ASKED = np.array([[21.0, 47.0], [12.0, 25.0], [33.0, 47.0]])
QUICK = {
    "interpolation": "interpolation",
    "pod-gp": {"name": "pod-gp", "modes": 4},
    "pod-deeponet": {"name": "pod-deeponet", "members": 2, "width": 8, "modes": 3, "steps": 50},
}
# Sums in another order. Gaussian processes and networks see coefficients of modes whose last digits differ, and may have
# turned the sign of a mode; networks are not odd functions, so that the sign matters to them.
TOLERANCE = {"interpolation": 1e-6, "pod-gp": 1e-4}


@pytest.fixture
def little_memory(monkeypatch):
    def limit():
        monkeypatch.setattr(scratch, "IN_MEMORY", 1024)
        monkeypatch.setattr(scratch, "BLOCK", 8192)

    return limit


def single(runs: Runs) -> Runs:
    """The same runs in single precision."""
    assert runs.geometry is not None
    fields = runs.array().astype(np.float32).swapaxes(0, 1)
    return Runs.from_arrays(
        dict(zip(runs.parameter_names, runs.parameters.T, strict=True)),
        runs.geometry.points,
        dict(zip(runs.names, fields, strict=True)),
        dict(zip(runs.names, runs.units, strict=True)),
        runs.header.stream,
        axes=runs.header.axes,
        shape=runs.topology.shape,
        nodes=runs.geometry.nodes,
    )


@pytest.mark.parametrize("name", TOLERANCE)
def test_fits_and_bars_in_passes_are_those_in_memory(name, little_memory):
    runs = synthetic.runs()
    expected = fit(runs, QUICK[name])
    little_memory()
    assert not runs.fits_in_memory
    found = fit(runs, QUICK[name])
    assert found.spec == expected.spec
    scale = runs.array().std(axis=(0, 2))[:, None]
    np.testing.assert_allclose(
        found.predictor.normalizer.fields.std, expected.predictor.normalizer.fields.std, rtol=1e-12
    )
    np.testing.assert_allclose(
        found.predictive(ASKED).mean / scale, expected.predictive(ASKED).mean / scale, atol=TOLERANCE[name]
    )
    # Held-out errors are kept in single precision, and bars chosen among candidates that are 5 % apart.
    np.testing.assert_allclose(
        found.predictive(ASKED).std / scale, expected.predictive(ASKED).std / scale, rtol=0.12, atol=1e-6
    )


@pytest.mark.parametrize("name", QUICK)
def test_a_large_model_is_saved_mapped_and_predicts_the_same(name, little_memory, tmp_path):
    little_memory()
    model = fit(single(synthetic.runs()), QUICK[name])
    model.save(tmp_path)
    loaded = load(tmp_path)
    for asked in (ASKED[:1], ASKED):
        np.testing.assert_array_equal(loaded.predictive(asked).mean, model.predictive(asked).mean)
        np.testing.assert_array_equal(loaded.predictive(asked).std, model.predictive(asked).std)
    np.testing.assert_array_equal(loaded.samples(ASKED, 2), model.samples(ASKED, 2))
    for large in ("fields", "residuals") if name == "interpolation" else ("modes",):
        for fitted in (model.predictor.fitted, loaded.predictor.fitted):
            assert isinstance(getattr(fitted, large).base, np.memmap | mmap)


def test_normalized_runs_keep_the_precision_of_the_runs(little_memory):
    little_memory()
    model = fit(single(synthetic.runs()), "interpolation", calibrate=False)
    fitted = model.predictor.fitted
    assert fitted.fields.dtype == fitted.residuals.dtype == np.float32
    twice = fit(synthetic.runs(), "interpolation", calibrate=False).predictor.fitted
    assert twice.fields.dtype == np.float64
    np.testing.assert_allclose(fitted.fields, twice.fields, atol=1e-5)


def test_runs_of_a_store_are_read_and_not_kept(little_memory, tmp_path):
    path = synthetic.write_store(tmp_path / "runs.zarr")
    expected = fit(open_runs(path), "interpolation")
    little_memory()
    runs = open_runs(path)
    found = fit(runs, "interpolation")
    assert not runs.fields.source.kept  # type: ignore[attr-defined]
    scale = runs.array().std(axis=(0, 2))[:, None]
    np.testing.assert_allclose(found.predictive(ASKED).mean / scale, expected.predictive(ASKED).mean / scale, atol=1e-6)
    assert found.data_checksum == expected.data_checksum


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_every_mesh_works_in_passes(kind, little_memory):
    runs = kinds_of_runs.runs(kind)
    expected = fit(runs, "interpolation").predict(angle=0.7, thickness=0.4)
    little_memory()
    found = fit(runs, "interpolation").predict(angle=0.7, thickness=0.4)
    for name in ("p", "T", "x", "y"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def test_moments_in_passes_are_those_in_memory(little_memory):
    runs = synthetic.runs()
    expected = Standard.of_fields(runs)
    little_memory()
    found = Standard.of_fields(runs)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13)
    np.testing.assert_allclose(found.std, expected.std, rtol=1e-13)


def test_a_comparison_in_passes_chooses_alike(little_memory):
    given = {"name": "auto", "candidates": ["interpolation", {"name": "pod-gp", "modes": 1}], "folds": 2}
    expected = fit(synthetic.runs(), given, calibrate=False)
    little_memory()
    found = fit(synthetic.runs(), given, calibrate=False)
    assert found.settings == expected.settings
    for ours, theirs in zip(found.comparison, expected.comparison, strict=True):
        assert ours["mae"] == pytest.approx(theirs["mae"], rel=1e-3)
