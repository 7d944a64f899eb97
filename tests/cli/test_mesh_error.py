"""The error of the mesh, learned, told and read by commands."""

import numpy as np

import sureflow as sf
import synthetic
from mesh_pairs import COARSE, COARSER, FINE, runs


def test_meshes_that_do_not_fit_are_refused_before_the_calibration(refused, tmp_path):
    sf.fit(runs(COARSE), "interpolation", calibrate=False).save(tmp_path / "model")
    for name, shape in (("runs", COARSE), ("odd", (24, 24))):
        runs(shape).save(tmp_path / f"{name}.zarr")
    assert "give --finer as well" in refused("calibrate", "model", "runs.zarr", "--coarser", "odd.zarr")
    assert "are not nested" in refused("calibrate", "model", "runs.zarr", "--finer", "odd.zarr")
    assert sf.load(tmp_path / "model").calibration is None


def test_commands_say_which_part_of_the_bars_dominates(call, tmp_path):
    pairs = synthetic.grid()[::2]
    for name, shape, where in (("runs", COARSE, None), ("fine", FINE, pairs), ("coarse", COARSER, pairs)):
        runs(shape, where).save(tmp_path / f"{name}.zarr")
    runs(COARSE, np.array([[17.0, 33.0], [23.0, 41.0]])).save(tmp_path / "test.zarr")
    sf.fit(runs(COARSE), "interpolation", calibrate=False).save(tmp_path / "model")
    assert "larger part" not in call("evaluate", "model", "test.zarr").out
    told = call("calibrate", "model", "runs.zarr", "--finer", "fine.zarr", "--coarser", "coarse.zarr")
    assert told.code == 0
    predicted = call("predict", "model", "mach=22", "altitude_km=44").out
    assert "(surrogate " in predicted
    assert "The error of the mesh is the larger part of the bars of" in predicted
    evaluated = call("evaluate", "model", "test.zarr").out
    assert "parts of the bars, in_domain" in evaluated
    assert "The error of the mesh is the larger part of the bars of" in evaluated
