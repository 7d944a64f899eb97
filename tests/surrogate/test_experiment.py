"""Experiments: files, overrides, and the specification that stands in the file itself."""

import tomllib
from pathlib import Path

import pytest

from sureflow.data.splits import AllRuns, RandomRuns
from sureflow.errors import SureflowError
from sureflow.heads import MVE
from sureflow.models import InterpolationSettings, PodGPSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate.experiment import Experiment, read_experiment
from sureflow.surrogate.specification import Specification
from sureflow.train.networks import Networks
from sureflow.validation import validated

GIVEN = {"runs": Path("runs.zarr"), "output": Path("model")}


def test_the_default_compares_models_on_all_runs():
    experiment = read_experiment(None, **GIVEN)
    assert experiment.spec == Specification()
    assert experiment.split == AllRuns()


@pytest.mark.parametrize("given", [{"uq": "ensemble"}, {"model": "deeponet"}, {"coordinates": "body-fitted"}])
def test_networks_are_an_ensemble_of_ten(given):
    assert read_experiment(None, **GIVEN, **given).spec.model == Networks()


@pytest.mark.parametrize("name", ["interpolation", "pod-gp", "pod-deeponet"])
def test_a_whole_field_model_by_name(name):
    experiment = read_experiment(None, model=name, scaling="freestream", **GIVEN)
    assert experiment.spec.model.name == name
    assert tomllib.loads(experiment.to_toml())["coordinates"] == "auto"


def test_settings_of_a_whole_field_model(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text('runs = "runs.zarr"\noutput = "model"\nscaling = "none"\n[model]\nname = "pod-gp"\nmodes = 5\n')
    assert read_experiment(path).spec.model == PodGPSettings(modes=5)
    assert read_experiment(path, ["model.energy=1e-3"]).spec.model == PodGPSettings(modes=5, energy=1e-3)
    assert read_experiment(path, model="pod-gp").spec.model == PodGPSettings(modes=5)
    assert read_experiment(path, model="interpolation").spec.model == InterpolationSettings()


def test_a_file_with_overrides(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(
        'runs = "runs.zarr"\noutput = "model"\nuq = "mve"\nmembers = 5\n'
        '[head]\nbeta = 0.0\n[split]\nkind = "random"\ntest_runs = 9\n[train]\nepochs = 3\n'
    )
    experiment = read_experiment(path, ["train.epochs=20", "coordinates=xr", "split.seed=3"], output=Path("other"))
    model = experiment.spec.model
    assert isinstance(model, Networks)
    assert model.train.epochs == 20
    assert experiment.spec.coordinates == "physical"
    assert model.head == MVE(beta=0.0)
    assert model.sampler == Ensemble(5)
    assert experiment.output == Path("other")
    assert experiment.split == RandomRuns(test_runs=9, seed=3)


def test_a_network_of_the_file_keeps_its_sizes_when_it_is_named_again(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text('runs = "runs.zarr"\noutput = "model"\n[model]\nname = "deeponet"\nencoder_width = 5\n')
    model = read_experiment(path, model="deeponet").spec.model
    assert isinstance(model, Networks)
    assert model.network.encoder_width == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("overrides", "given"),
    [
        (["train.points_per_run=all"], {"uq": "evidential"}),
        (["model.name=networks", "model.network.name=deeponet"], {}),
        ([], {"model": "pod-deeponet"}),
        (["model.folds=3"], {"model": "auto"}),
        (["split.kind=random", "split.test_runs=3"], {}),
        (["split.kind=paper"], {}),
    ],
)
def test_the_resolved_experiment_reads_back_equal(tmp_path, overrides, given):
    experiment = read_experiment(None, overrides, **given, **GIVEN)
    assert validated(Experiment, tomllib.loads(experiment.to_toml())) == experiment
    path = tmp_path / "experiment.toml"
    path.write_text(experiment.to_toml())
    assert read_experiment(path) == experiment
    # A resolved file takes overrides like any other.
    assert read_experiment(path, ["scaling=none"]).spec.scaling == "none"


def test_overrides_reach_into_a_resolved_file(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(read_experiment(None, uq="mve", **GIVEN).to_toml())
    model = read_experiment(path, ["train.epochs=2", "head.beta=0.25", "members=3"]).spec.model
    assert isinstance(model, Networks)
    assert model.train.epochs == 2
    assert model.head == MVE(beta=0.25)
    assert model.sampler == Ensemble(3)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.epoch=3", "train.epoch is not a setting; did you mean epochs?"),
        ("trian.epochs=3", "trian is not a setting; did you mean train?"),
        ("widths=3", "widths is not a setting; known: runs, output, split, model, scaling, coordinates, uq"),
        ("head.betta=1", "head.betta is not a setting"),
        ("model.width=3", "width is not a setting; did you mean"),
        ("split.seed=1", "split.kind is missing"),
        ("train.epochs=0", "train.epochs=0 must be greater than 0"),
        ("train.learning_rate=nan", "train.learning_rate=nan must be a finite number"),
        ("coordinates=polar", "coordinates='polar' is not one of auto, physical, body-fitted"),
        ("uq=gaussian", "uq='gaussian' is not one of deterministic, mve, evidential, mixture, ensemble, dropout"),
        ("train.epochs", "must read key=value"),
        ("runs.kind=3", "has no settings below it"),
        ("split.kind=other", "split.kind='other' is not one of all, random, parts, paper"),
        ("scaling=other", "scaling='other' is not one of none, freestream, similarity, nondimensional, log-density"),
        ("model.name=other", "model.name='other' is not one of auto, interpolation, pod-gp, "),
    ],
)
def test_mistakes_are_explained(override, message):
    with pytest.raises(SureflowError, match=message.replace("?", r"\?")) as refused:
        read_experiment(None, [override], **GIVEN)
    assert "spec." not in str(refused.value)


@pytest.mark.parametrize("override", ["train.epochs=3", "members=3", "uq=mve"])
def test_what_only_networks_have_is_refused_for_others(override):
    with pytest.raises(SureflowError, match=r"is for networks, and model\.name is pod-gp"):
        read_experiment(None, [override], model="pod-gp", **GIVEN)


def test_what_is_missing_is_named():
    with pytest.raises(SureflowError, match="output is missing"):
        read_experiment(None, runs=Path("runs.zarr"))


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    (tmp_path / "bad.toml").write_text("epochs = = 3")
    with pytest.raises(SureflowError, match=r"bad\.toml is not valid TOML"):
        read_experiment(tmp_path / "bad.toml")
    with pytest.raises(SureflowError, match=r"none\.toml cannot be read \(No such file or directory\)"):
        read_experiment(tmp_path / "none.toml")
