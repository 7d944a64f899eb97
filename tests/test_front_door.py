"""The names that `import sureflow` offers: light, documented with examples that run, and useful to look at."""

import doctest
import inspect
import subprocess
import sys

import numpy as np
import pytest

import kinds_of_runs
import sureflow as sf
from sureflow import evaluate as evaluate_first  # noqa: F401  (the folder of that name is imported with it)


def test_importing_it_is_light():
    heavy = ["jax", "numpy", "xarray", "pydantic", "typer", "zarr"]
    code = f"import sys, sureflow; print([name for name in {heavy} if name in sys.modules])"
    end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert end.stdout.strip() == "[]"


def test_everything_public_is_there_and_documented():
    assert set(sf.__all__) == set(sf.PUBLIC)
    for name in sf.__all__:
        assert inspect.getdoc(getattr(sf, name)), name
    with pytest.raises(AttributeError, match="has no attribute 'fitt'"):
        sf.fitt  # noqa: B018


def test_evaluate_is_the_function_whatever_was_imported():
    import sureflow.evaluate.results  # noqa: F401

    assert callable(sf.evaluate)
    assert not inspect.ismodule(sf.evaluate)


@pytest.mark.parametrize(
    "documented",
    [
        sf.Runs.from_arrays,
        sf.open_runs,
        sf.fit,
        sf.load,
        sf.evaluate,
        sf.plot,
        sf.propose,
        sf.solve,
        sf.Surrogate.predict,
    ],
    ids=lambda documented: documented.__qualname__,
)
def test_examples_in_docstrings(documented, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(documented, documented.__name__, globs={})
    assert found
    assert found[0].examples, f"{documented.__qualname__} has no example"
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found[0]).failed == 0


@pytest.fixture(scope="module", params=kinds_of_runs.KINDS)
def fitted(request):
    """Runs of every kind, and a model of them."""
    runs = kinds_of_runs.runs(request.param)
    return runs, sf.fit(runs, "interpolation")


def test_runs_and_models_say_what_they_are(fitted):
    runs, model = fitted
    assert repr(runs).startswith("30 runs over angle (0..2), thickness (0.3..0.6): p (Pa), T (K) at 20 cells")
    for words in (
        "interpolation",
        "30 runs",
        "angle 0..2 deg, thickness 0.3..0.6",
        "p (Pa), T (K)",
        "calibrated with 30",
    ):
        assert words in repr(model)
    for html in (runs._repr_html_(), model._repr_html_()):
        assert "<table>" in html
        assert "thickness" in html


def test_predictions_keep_the_names_of_the_runs(fitted):
    runs, model = fitted
    field = model.predict(angle=[1.0, 1.1], thickness=0.41)
    assert {*runs.header.axes, "angle", "thickness"} <= set(field.coords)
    assert field.p.attrs["units"] == "Pa"
    assert field.angle.attrs["units"] == "deg"
    assert field.sizes["case"] == 2
    alone = model.predict(angle=1.1, thickness=0.41)
    assert "case" not in alone.dims
    np.testing.assert_allclose(np.ravel(alone.p_std), np.ravel(field.p_std[1]), rtol=1e-5)


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_fields_in_a_plane_are_drawn_in_notebooks(kind):
    field = sf.fit(kinds_of_runs.runs(kind), "interpolation", calibrate=False).predict(angle=1.1, thickness=0.41)
    if kind == "volume":
        with pytest.raises(sf.SureflowError, match="a picture shows a plane"):
            sf.plot(field)
    else:
        assert sf.plot(field, "T")._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (
            lambda model: model.predict(angel=1.0, thickness=0.4),
            r"this model takes angle, thickness; given: angel, thickness",
        ),
        (lambda model: model.predict(angle="steep", thickness=0.4), r"angle='steep' is not a number"),
        (lambda model: model.predict(angle=[1.0, 1.1], thickness=[0.3] * 3), r"2 of angle, 3 of thickness"),
        (lambda model: model.predict(angle=np.nan, thickness=0.4), r"finite"),
        (lambda model: model.predict(angle=1.0, thickness=0.4, points=[[9.0, 9.0]]), r"outside the mesh"),
        (lambda model: model.predict(angle=1.0, thickness=0.4, points=[0.5, 0.5]), r"points must be \(point, 2\)"),
        (lambda model: model.quantities(angle=1.0), r"this model takes angle, thickness; given: angle"),
        (lambda model: sf.plot(model.predict(angle=1.0, thickness=0.4), "q"), r"variable='q' is not one of p, T"),
        (lambda model: sf.fit(kinds_of_runs.runs("block"), "interpolatoin"), r"did you mean interpolation\?"),
        (lambda model: sf.fit(kinds_of_runs.runs("block"), "deeponet", membres=3), r"membres"),
        (lambda model: sf.fit(kinds_of_runs.runs("block"), scaling="freestreem"), r"did you mean freestream\?"),
        (lambda model: sf.evaluate(model, kinds_of_runs.runs("block")), r"all 30 runs were trained on"),
        (lambda model: sf.load("nowhere"), r"nowhere is not a trained model: there is no such folder"),
    ],
)
def test_mistakes_are_one_sentence(mistake, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = sf.fit(kinds_of_runs.runs("block"), "interpolation", calibrate=False)
    with pytest.raises(sf.SureflowError, match=sentence) as error:
        mistake(model)
    assert "\n" not in str(error.value)
    assert "--" not in str(error.value)


def test_refusals_and_what_exists_are_errors_of_their_own(tmp_path):
    model = sf.fit(kinds_of_runs.runs("block"), "interpolation", calibrate=False)
    with pytest.raises(sf.Refused, match=r"angle=9 is outside 0\.\.2"):
        model.predict(angle=9.0, thickness=0.4)
    assert model.predict(angle=9.0, thickness=0.4, extrapolate=True).attrs["verdict"].startswith("refused")
    model.save(tmp_path / "model")
    with pytest.raises(sf.Exists, match="holds a trained model"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)
