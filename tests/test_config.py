import tomllib
from pathlib import Path

import pytest

from sureflow.config import UQ, Experiment, read_experiment
from sureflow.data.split import PaperDomains
from sureflow.errors import SureflowError
from sureflow.heads import MVE, Deterministic
from sureflow.models import InterpolationSettings, PodGPSettings

GIVEN = {"runs": Path("runs.zarr"), "output": Path("model")}


def test_the_default_compares_whole_field_models_on_all_runs():
    experiment = read_experiment(None, **GIVEN)
    assert [candidate.name for candidate in experiment.recipe.candidates] == ["interpolation", "pod-gp", "pod-deeponet"]
    assert experiment.split.kind == "all"
    assert experiment.scaling == "auto"


@pytest.mark.parametrize("given", [{"uq": "ensemble"}, {"model": "deeponet"}, {"coordinates": "body-fitted"}])
def test_networks_are_an_ensemble_of_ten(given):
    experiment = read_experiment(None, **GIVEN, **given)
    assert experiment.recipe.members == 10
    assert experiment.recipe.head == Deterministic()
    assert experiment.coordinates == "body-fitted"


@pytest.mark.parametrize("name", ["interpolation", "pod-gp", "pod-deeponet"])
def test_a_whole_field_model_by_name(name):
    experiment = read_experiment(None, model=name, scaling="freestream", **GIVEN)
    assert experiment.recipe.name == name
    assert "coordinates" not in tomllib.loads(experiment.to_toml())


def test_settings_of_a_whole_field_model(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text('runs = "runs.zarr"\noutput = "model"\nscaling = "none"\n[model]\nname = "pod-gp"\nmodes = 5\n')
    assert read_experiment(path).recipe == PodGPSettings(modes=5)
    assert read_experiment(path, ["model.energy=1e-3"]).recipe == PodGPSettings(modes=5, energy=1e-3)
    assert read_experiment(path, model="interpolation").recipe == InterpolationSettings()


@pytest.mark.parametrize("uq", UQ)
def test_uq_is_short_for_a_head_and_members(uq):
    experiment = read_experiment(None, uq=uq, **GIVEN)
    assert (experiment.head.name, experiment.members) == UQ[uq]


def test_a_file_with_overrides(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(
        'runs = "runs.zarr"\noutput = "model"\nuq = "mve"\nmembers = 5\n'
        '[head]\nbeta = 0.0\n[split]\nkind = "paper"\ntest_runs = 9\n[train]\nepochs = 3\n'
    )
    experiment = read_experiment(
        path, ["train.epochs=20", "coordinates=xr", "split.mach=[12, 20]"], output=Path("other")
    )
    assert experiment.train.epochs == 20
    assert experiment.coordinates == "xr"
    assert experiment.head == MVE(beta=0.0)
    assert experiment.members == 5
    assert experiment.output == Path("other")
    assert experiment.split == PaperDomains(test_runs=9, mach=(12, 20))


@pytest.mark.parametrize(
    ("overrides", "given"),
    [
        (["train.points_per_run=all"], {"uq": "evidential"}),
        ([], {"model": "pod-deeponet"}),
        (["model.folds=3"], {"model": "auto"}),
    ],
)
def test_the_resolved_experiment_reads_back_equal(overrides, given):
    experiment = read_experiment(None, [*overrides, "split.kind=paper"], **given, **GIVEN)
    assert Experiment.model_validate(tomllib.loads(experiment.to_toml())) == experiment


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.epoch=3", "train.epoch is not a setting; did you mean epochs?"),
        ("trian.epochs=3", "trian is not a setting; did you mean train?"),
        ("head.betta=1", "head.betta is not a setting; known: name"),
        ("model.width=3", "model.width is not a setting; did you mean"),
        ("split.seed=1", "split.kind is missing"),
        ("train.epochs=0", "train.epochs=0: Input should be greater than 0"),
        ("coordinates=polar", "coordinates='polar': Input should be 'xr' or 'body-fitted'"),
        ("uq=gaussian", "uq='gaussian' is none of deterministic, mve, evidential, ensemble"),
        ("train.epochs", "must read key=value"),
        ("runs.kind=3", "has no settings below it"),
        ("split.kind=other", "split.kind='other' is not one of all, random, paper"),
        ("scaling=other", "scaling='other': Input should be 'auto', 'none', 'freestream' or 'log-density'"),
        ("model.name=other", "model.name='other' is none of auto, deeponet, interpolation"),
    ],
)
def test_mistakes_are_explained(override, message):
    with pytest.raises(SureflowError, match=message.replace("?", r"\?")):
        read_experiment(None, [override], **GIVEN)


@pytest.mark.parametrize("override", ["train.epochs=3", "members=3", "uq=mve"])
def test_what_only_networks_have_is_refused_for_others(override):
    with pytest.raises(SureflowError, match=r"is for networks, and model\.name is pod-gp"):
        read_experiment(None, [override], model="pod-gp", **GIVEN)


def test_what_is_missing_is_named():
    with pytest.raises(SureflowError, match="output is missing"):
        read_experiment(None, runs=Path("runs.zarr"))


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    (tmp_path / "bad.toml").write_text("epochs = = 3")
    with pytest.raises(SureflowError, match="cannot be read as TOML"):
        read_experiment(tmp_path / "bad.toml")
