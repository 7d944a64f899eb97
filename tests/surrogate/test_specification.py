"""What is learned: short forms spelled out, files and back, and what is refused."""

import json
from dataclasses import replace

import pytest

import kinds_of_runs
import layers
import synthetic
from sureflow.errors import SureflowError
from sureflow.heads import MVE, Deterministic, Evidential, Mixture
from sureflow.models import (
    AlignedSettings,
    DeepONetSettings,
    FNOSettings,
    InterpolationSettings,
    NeuralProcessSettings,
    PodDeepONetSettings,
    PodGPSettings,
)
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Dropout, Ensemble
from sureflow.surrogate.specification import UQ, ComparisonSettings, Specification, specification, spell_out
from sureflow.train.networks import Networks
from sureflow.validation import parse_toml, plain, to_toml, validated

SPECIFICATIONS = [
    Specification(),
    Specification(InterpolationSettings(), "freestream"),
    Specification(PodGPSettings(modes=3, energy=1e-3)),
    Specification(PodDeepONetSettings(seed=2), "log-density"),
    Specification(ComparisonSettings((PodGPSettings(modes=2), InterpolationSettings()), folds=3, seed=1)),
    Specification(Networks(), coordinates="physical"),
    Specification(
        Networks(DeepONetSettings(encoder_width=3), Evidential(0.5), Ensemble(2), TrainSettings(points_per_run="all")),
        "none",
        "body-fitted",
    ),
]


def test_nothing_given_compares_models_of_whole_fields():
    found = specification({})
    assert found == Specification()
    assert isinstance(found.model, ComparisonSettings)
    assert [model.name for model in found.model.candidates] == [
        "aligned",
        "layer-aligned",
        "body-aligned",
        *["interpolation"] * 3,
        "pod-gp",
        *["levels"] * 2,
    ]
    assert (found.scaling, found.coordinates) == ("auto", "auto")


@pytest.mark.parametrize(
    "model", ["aligned", "shock-aligned", "layer-aligned", "body-aligned", "interpolation", "pod-gp"]
)
def test_a_model_by_name(model):
    assert specification({"model": model}) == specification({"model": {"name": model}})
    assert specification({"model": model}).model.name == model


@pytest.mark.parametrize(
    "given",
    [
        {"model": "deeponet"},
        {"model": {"name": "deeponet"}},
        {"uq": "ensemble"},
        {"coordinates": "body-fitted"},
        {"members": 10},
        {"head": {"name": "deterministic"}},
        {"sampler": {"name": "ensemble"}},
        {"sampler": "ensemble"},
        {"train": {"epochs": 97}},
        {"model": {"encoder_width": 32}},
        {"model": {"name": "networks"}, "uq": "ensemble"},
    ],
)
def test_what_only_networks_have_chooses_the_default_network_as_an_ensemble_of_ten(given):
    assert specification(given).model == Networks(DeepONetSettings(), Deterministic(), Ensemble(10))


@pytest.mark.parametrize("uq", UQ)
def test_uq_is_short_for_a_head_and_members(uq):
    model = specification({"uq": uq}).model
    assert isinstance(model, Networks)
    assert (model.head.name, model.sampler.name, model.sampler.members) == UQ[uq]
    assert model.uq == uq


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"uq": "mve", "members": 5}, Networks(head=MVE(), sampler=Ensemble(5))),
        ({"uq": "mve", "head": {"beta": 0.0}}, Networks(head=MVE(beta=0.0), sampler=Ensemble(1))),
        ({"uq": "mve", "head": "evidential"}, Networks(head=Evidential(), sampler=Ensemble(1))),
        ({"uq": "mve", "sampler": {"members": 3}}, Networks(head=MVE(), sampler=Ensemble(3))),
        ({"head": {"name": "mve"}}, Networks(head=MVE(), sampler=Ensemble(10))),
        ({"uq": "dropout", "sampler": {"rate": 0.1}}, Networks(sampler=Dropout(rate=0.1))),
        ({"uq": "dropout", "members": 3}, Networks(sampler=Dropout(3))),
        ({"uq": "mixture", "head": {"components": 2}}, Networks(head=Mixture(2), sampler=Ensemble(1))),
        ({"model": "fno"}, Networks(FNOSettings(), train=FNOSettings.training)),
        (
            {"model": "fno", "train": {"epochs": 3}},
            Networks(FNOSettings(), train=replace(FNOSettings.training, epochs=3)),
        ),
        ({"model": "neural-process"}, Networks(NeuralProcessSettings(), MVE(), Ensemble(1))),
        ({"model": {"name": "networks", "network": "fno"}}, Networks(FNOSettings())),
        ({"model": {"encoder_width": 5}}, Networks(DeepONetSettings(encoder_width=5))),
        ({"model": "deeponet", "train": {"epochs": 3}}, Networks(train=TrainSettings(epochs=3))),
        ({"model": {"name": "networks", "head": {"name": "mve"}}, "head": {"beta": 0.1}}, Networks(head=MVE(beta=0.1))),
        (
            {"model": {"name": "networks", "head": {"name": "mve", "beta": 0.1}}, "head": {"name": "evidential"}},
            Networks(head=Evidential()),
        ),
        (
            {"model": {"name": "networks", "train": {"epochs": 3, "seed": 4}}, "train": {"epochs": 5}},
            Networks(train=TrainSettings(epochs=5, seed=4)),
        ),
        (
            {"model": {"name": "networks", "sampler": {"name": "ensemble", "members": 4}}, "members": 3},
            Networks(sampler=Ensemble(3)),
        ),
        ({"model": {"name": "networks", "sampler": {"name": "ensemble", "members": 4}}}, Networks(sampler=Ensemble(4))),
        ({"model": Networks(head=MVE())}, Networks(head=MVE())),
    ],
    ids=str,
)
def test_short_forms_stand_for_networks(given, expected):
    assert specification(given).model == expected


@pytest.mark.parametrize("spec", SPECIFICATIONS, ids=lambda spec: spec.model.name)
def test_specifications_survive_files(spec):
    assert validated(Specification, plain(spec)) == spec
    assert validated(Specification, json.loads(json.dumps(plain(spec)))) == spec
    assert specification(parse_toml(to_toml(spec), "spec.toml")) == spec
    assert hash(validated(Specification, plain(spec))) == hash(spec)


@pytest.mark.parametrize("spec", SPECIFICATIONS, ids=lambda spec: spec.model.name)
def test_what_is_spelled_out_stays_as_it_is(spec):
    once = spell_out(plain(spec))
    assert spell_out(once) == once


def test_physical_coordinates_have_had_another_name():
    assert specification({"coordinates": "xr"}).coordinates == "physical"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"train": {"epoch": 3}}, r"model.train.epoch is not a setting; did you mean epochs\?"),
        ({"trian": {"epochs": 3}}, r"trian is not a setting"),
        ({"uq": "mve", "head": {"betta": 1}}, r"model.head.betta is not a setting; did you mean beta\?"),
        ({"model": {"width": 3}}, r"model.network.width is not a setting; did you mean \w*width\?"),
        ({"train": {"epochs": 0}}, r"model.train.epochs=0 must be greater than 0"),
        ({"coordinates": "polar"}, r"coordinates='polar' is not one of auto, physical, body-fitted"),
        ({"uq": "gaussian"}, r"uq='gaussian' is not one of deterministic, mve, evidential, mixture, ensemble, dropout"),
        ({"uq": 3}, r"uq='3' is not one of deterministic"),
        ({"scaling": "other"}, r"scaling='other' is not one of none, freestream, similarity, nondimensional, log-density"),
        ({"scaling": 3}, r"scaling=3 must be a valid string"),
        ({"model": "other"}, r"model.name='other' is not one of auto, interpolation, pod-gp, .*, deeponet, fno, neural-process"),
        ({"model": "interpolatoin"}, r"did you mean interpolation\?"),
        ({"model": 3}, r"model: give the name of a model or a table with its settings"),
        ({"model": {"name": "pod-gp", "modes": 0}}, r"model.modes=0 must be greater than 0"),
        ({"model": {"name": "pod-gp", "width": 3}}, r"model.width is not a setting; known: energy, modes"),
        ({"model": {"name": "auto", "folds": 1}}, r"model.folds=1 must be greater than or equal to 2"),
        ({"model": {"name": "auto", "candidates": []}}, r"model.candidates: .*at least 1"),
        ({"model": {"name": "auto", "candidates": ["pod-pg"]}}, r"model.candidates.0.name='pod-pg' is not one of"),
        ({"head": "other"}, r"model.head.name='other' is not one of deterministic"),
        ({"sampler": "other"}, r"model.sampler.name='other' is not one of dropout, ensemble"),
        ({"members": 0}, r"model.sampler.members=0 must be greater than 0"),
        ({"model": {"name": []}, "uq": "mve"}, r"uq is for networks, and model.name is \[\]"),
        ({"model": "interpolation", "uq": "mve"}, r"; interpolation has model.kernel, model.scales"),
        ({"model": "pod-gp", "coordinates": "physical"}, r"coordinates='physical' is for networks, and the model is pod-gp"),
    ],
    ids=str,
)  # fmt: skip
def test_mistakes_are_explained(given, message):
    with pytest.raises(SureflowError, match=message):
        specification(given)


@pytest.mark.parametrize("given", [{"train": {"epochs": 3}}, {"members": 3}, {"uq": "mve"}, {"head": "mve"}])
@pytest.mark.parametrize("model", ["pod-gp", "auto", PodGPSettings()])
def test_what_only_networks_have_is_refused_for_others(given, model):
    name = model if isinstance(model, str) else model.name
    with pytest.raises(SureflowError, match=rf"{next(iter(given))} is for networks, and model\.name is {name}"):
        specification({"model": model, **given})


def test_the_source_is_named():
    with pytest.raises(SureflowError, match=r"^my\.toml: coordinates='polar'"):
        specification({"coordinates": "polar"}, "my.toml")


def test_auto_is_settled_by_the_runs():
    networks, fields = Specification(Networks()), Specification(InterpolationSettings())
    flights, volume = synthetic.runs(), kinds_of_runs.runs("volume")
    assert networks.coordinates_for(flights) == "body-fitted"
    assert networks.coordinates_for(volume) == "physical"
    assert fields.coordinates_for(flights) == "auto"
    assert fields.seen_coordinates == "physical"
    assert networks.scaling_for(flights) == "freestream"
    assert networks.scaling_for(volume) == "none"
    assert Specification(Networks(), "log-density", "physical").scaling_for(flights) == "log-density"


def test_everything_that_fixes_what_is_learned_is_in_three_settings():
    assert {*plain(Specification())} == {"model", "scaling", "coordinates"}


def test_a_model_of_wall_layers_that_is_named_has_the_scaling_that_a_comparison_gives_it():
    runs = layers.runs()
    assert Specification(AlignedSettings()).scaling_for(runs) == "similarity"
    assert Specification(InterpolationSettings()).scaling_for(runs) == "freestream"
    assert Specification(AlignedSettings(), "freestream").scaling_for(runs) == "freestream"
    assert Specification(AlignedSettings()).scaling_for(synthetic.runs()) == "freestream"
