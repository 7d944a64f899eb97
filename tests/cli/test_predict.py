"""`sureflow predict`: conditions and points in any way users may give them."""

import re
import subprocess
import sys

import numpy as np
import pytest
import xarray

import kinds_of_runs
import layers
import sureflow
import synthetic

FLIGHT = ("mach=25", "altitude_km=46")


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """A model of flights, calibrated by folds."""
    folder = tmp_path_factory.mktemp("flights") / "model"
    runs = synthetic.runs()
    runs.save(folder.with_name("runs.zarr"))
    sureflow.fit(runs, "interpolation").save(folder)
    return folder


@pytest.fixture(scope="module")
def pulses(tmp_path_factory):
    """A model of runs that are not flights."""
    folder = tmp_path_factory.mktemp("pulses") / "model"
    sureflow.fit(kinds_of_runs.runs("block"), "interpolation", calibrate=False).save(folder)
    return folder


@pytest.mark.parametrize("ending", ["nc", "zarr", "csv", "png", "vts"])
def test_one_condition_in_every_format(run, refused, flights, tmp_path, ending):
    command = ("predict", flights, *FLIGHT, "-o", f"fields.{ending}")
    assert f"fields.{ending}: inside the training domain" in run(*command).out
    assert (tmp_path / f"fields.{ending}").exists()
    assert re.fullmatch(rf"fields.{ending} exists: .* \(--overwrite\)", refused(*command))
    run(*command, "--overwrite")


def test_a_file_holds_what_python_gives(run, flights, tmp_path):
    run("predict", flights, "--mach=25", "--altitude=46", "-o", "fields.nc")
    expected = sureflow.load(flights).predict(mach=25, altitude_km=46)
    with xarray.open_dataset(tmp_path / "fields.nc") as found:
        xarray.testing.assert_equal(found, expected)
        assert found.attrs["verdict"] == "inside"


def test_flags_and_values_say_the_same(run, flights):
    said = [
        run("predict", flights, *given).out
        for given in (FLIGHT, ("--mach", "25", "--altitude", "46"), ("--mach", "25", "altitude_km=46"))
    ]
    assert said[0] == said[1] == said[2]
    assert re.search(
        r"quantity +unit +read off the field +learned as a number\nstand_off +nose radii +\S+ \+- \S+", said[0]
    )
    assert "one standard deviation" in said[0]


def test_what_acts_on_the_wall_goes_into_a_file(run, flights, tmp_path):
    run("predict", flights, *FLIGHT, "--surface", "wall.nc")
    expected = sureflow.load(flights).surface(mach=25, altitude_km=46)
    with xarray.open_dataset(tmp_path / "wall.nc") as found:
        xarray.testing.assert_equal(found, expected)
    run("predict", flights, "--conditions", write_list(tmp_path), "--surface", "wall.csv")
    table = np.genfromtxt(tmp_path / "wall.csv", delimiter=",", names=True)
    assert {"mach", "altitude_km", "x", "arc", "wall_pressure", "wall_pressure_std"} <= set(table.dtype.names)
    assert len(table) == 2 * expected.sizes["face"]


def write_list(folder):
    (folder / "list.csv").write_text("altitude_km,mach\n30,12\n40,20\n")
    return "list.csv"


def test_runs_that_are_not_flights_have_their_own_numbers_alone(run, pulses):
    lines = run("predict", pulses, "angle=1.1", "thickness=0.41").out.splitlines()
    assert lines[:2] == ["inside the training domain", "error bars: uncalibrated: the model's own"]
    assert [line.split()[0] for line in lines[2:]] == ["p", "T", "quantity", "drag", "+-"]
    assert re.search(r"p +\S+\.\.\S+ Pa, standard deviation \S+ on average", lines[2])


def test_many_conditions_at_points(run, flights, tmp_path):
    (tmp_path / "list.csv").write_text("remark, altitude_km, mach\nfirst,30,12\nsecond,40,33\n")
    (tmp_path / "points.csv").write_text("x,r\n0.3,1.2\n-0.2,0.5\n0.9,1.8\n")
    ended = run("predict", flights, "--conditions", "list.csv", "--points", "points.csv", "-o", "out.zarr")
    assert "1 of 2 conditions are extrapolated" in ended.out
    found = xarray.open_zarr(tmp_path / "out.zarr", consolidated=False)
    assert found.u1.shape == (2, 3)
    np.testing.assert_array_equal(found.mach, [12, 33])


def test_refusals_name_the_option_that_answers(run, refused, flights):
    far = ("predict", flights, "mach=39", "altitude_km=70")
    sentence = refused(*far)
    assert sentence.startswith("refused: mach=39 is outside 10..30")
    assert sentence.endswith("(--extrapolate)")
    assert "answered only because of --extrapolate: mach=39" in run(*far, "--extrapolate").out


def test_no_option_answers_where_the_mesh_folds(refused, tmp_path):
    surrogate = sureflow.fit(layers.folding(), "body-aligned", scaling="similarity", calibrate=False)
    surrogate.save(tmp_path / "folding")
    for option in ((), ("--extrapolate",)):
        sentence = refused("predict", tmp_path / "folding", "mach=30.4", "altitude_km=40", *option)
        assert sentence.startswith("refused: the mesh that the runs suggest at mach=30.4, altitude_km=40 folds")
        assert sentence.endswith("Compute runs there")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "give either one condition, as in mach=25 altitude_km=46, or --conditions with a CSV file"),
        (["mach=25"], "this model takes mach, altitude_km; given: mach"),
        (["mach=25", "altitude=46"], "this model takes mach, altitude_km; given: mach, altitude"),
        (["mach=fast", "altitude_km=46"], "mach='fast' is not a finite number"),
        (["mach=nan", "altitude_km=46"], "mach='nan' is not a finite number"),
        (["mach", "25"], "'mach' must read name=value, as in mach=25"),
        (["mach=25", "--mach=25"], "mach is given twice: give it once"),
        (["--conditions=none.csv"], "none.csv cannot be read (No such file or directory)"),
        ([*FLIGHT, "--points=far.csv"], "1 of 1 points lie outside the mesh"),
        (["--conditions=far.csv"], "far.csv has no column 'mach'; needed: mach, altitude_km"),
        (["--conditions=long.csv"], "long.csv cannot be read (Expected 2 fields in line 2, saw 3)"),
        (["--conditions=text.csv"], "text.csv: altitude_km='abc' is not a finite number in row 2"),
        (["--conditions=gap.csv"], "gap.csv: altitude_km is missing in row 1"),
        (["--conditions=head.csv"], "head.csv has no rows below its header: give at least one"),
        (["--conditions=empty.csv"], "empty.csv has no column 'mach'"),
        (["--conditions=far.csv", "mach=25"], "give either one condition"),
        ([*FLIGHT, "-o", "fields.txt"], "fields.txt: the ending '.txt' is not one of"),
    ],
)
def test_mistakes(refused, flights, tmp_path, more, sentence):
    (tmp_path / "far.csv").write_text("x,r\n9,9\n")
    (tmp_path / "long.csv").write_text("mach,altitude_km\n12,20,30\n")
    (tmp_path / "text.csv").write_text("mach,altitude_km\n12,20\n12,abc\n")
    (tmp_path / "gap.csv").write_text("mach,altitude_km\n12,\n")
    (tmp_path / "head.csv").write_text("mach,altitude_km\n")
    (tmp_path / "empty.csv").write_text("")
    assert refused("predict", flights, *more).startswith(sentence)
    assert not (tmp_path / "fields.txt").exists()


def test_values_at_points_are_shown(run, flights, tmp_path):
    (tmp_path / "points.csv").write_text("x,r\n-0.5,0.2\n-0.3,0.6\n")
    shown = run("predict", flights, "mach=21", "altitude_km=41", "--points", "points.csv").out
    at = sureflow.load(flights).predict(mach=21, altitude_km=41, points=[[-0.5, 0.2], [-0.3, 0.6]])
    for point, place in enumerate(("-0.5  0.2", "-0.3  0.6")):
        assert f"{place}  {at.u1[point].item():.5g} +- {at.u1_std[point].item():.2g}" in shown


@pytest.mark.parametrize(
    "arguments", ["predict {model} mach=21 altitude_km=41", "info {model}", "train {model}/../runs.zarr -o trained"]
)
def test_no_jax_where_none_is_needed(flights, tmp_path, arguments):
    code = (
        "import sys; from sureflow.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "sys.exit(bool({'jax', 'equinox'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, *arguments.format(model=flights).split()]
    end = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert end.returncode == 0, end.stderr


@pytest.mark.parametrize(
    "arguments", ["predict model a=1 -o fields.vtk", "predict model a=1 -o here.nc", "predict model a", "predict model"]
)
def test_bad_options_are_told_before_anything_heavy(tmp_path, arguments):
    (tmp_path / "here.nc").write_text("mine")
    code = (
        "import sys; from sureflow.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 2\n"
        "sys.exit(bool({'numpy', 'scipy', 'xarray', 'jax'} & set(sys.modules)))"
    )
    end = subprocess.run([sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True, cwd=tmp_path)
    assert end.returncode == 0, end.stderr
    assert end.stderr.startswith("sureflow: ")
