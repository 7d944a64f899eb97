"""From runs to a surrogate: choose, learn, calibrate, and tell those who listen."""

import doctest

import numpy as np
import pytest

import kinds_of_runs
import sureflow
import synthetic
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.heads import MVE
from sureflow.models import MODELS, Capabilities, InterpolationSettings, PodGPSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate import fit as fitting
from sureflow.surrogate.fit import Listener, fit, make_surrogate
from sureflow.surrogate.learning import CHECKPOINT, learn
from sureflow.surrogate.specification import ComparisonSettings, Specification
from sureflow.train.networks import Networks

CANDIDATES = ComparisonSettings((PodGPSettings(modes=2), InterpolationSettings()), folds=3)
SMALL = {"encoder_width": 4, "decoder_width": 8, "decoder_layers": 1, "fourier_octaves": 1}
QUICK = {"epochs": 2, "batch": 64, "points_per_run": 8}


@pytest.fixture(scope="module")
def chosen():
    """A model that was chosen, with what its making told."""
    told = []
    listener = Listener(
        comparing=lambda *progress: told.append(("comparing", *progress)),
        compared=lambda rows: told.append(("compared", rows)),
        refitting=lambda *progress: told.append(("refitting", *progress)),
    )
    return fit(synthetic.runs(), CANDIDATES, listener=listener), told


def test_the_front_door_is_this_fit():
    assert sureflow.fit is fit


def test_a_model_is_chosen_fitted_and_calibrated(chosen):
    model, _ = chosen
    best = min(model.comparison, key=lambda row: row["mae"])
    assert best["chosen"]
    assert model.model_name == best["model"]
    assert model.spec.scaling == "freestream"
    assert model.calibration.fields.runs == 25
    assert model.calibration.quantities is not None
    assert "calibrated with 25 runs left out in folds" in repr(model)


def test_those_who_listen_are_told(chosen):
    _, told = chosen
    kinds = [kind for kind, *_ in told]
    assert kinds == sorted(kinds, key=["comparing", "compared", "refitting"].index)
    assert {*kinds} == {"comparing", "compared", "refitting"}
    ((_, rows),) = (one for one in told if one[0] == "compared")
    for row, kept in zip(rows, chosen[0].comparison, strict=True):
        assert row.items() >= kept.items()


def test_the_chosen_model_is_the_one_that_is_fitted_alone(chosen):
    model, _ = chosen
    alone = fit(synthetic.runs(), model.settings)
    asked = np.array([[21.0, 47.0], [33.0, 47.0]])
    np.testing.assert_array_equal(alone.predictive(asked).mean, model.predictive(asked).mean)
    np.testing.assert_array_equal(alone.predictive(asked).std, model.predictive(asked).std)


def test_a_model_may_be_given_as_name_table_or_settings():
    runs = kinds_of_runs.runs("block")
    for given in ("pod-gp", {"name": "pod-gp"}, PodGPSettings()):
        assert fit(runs, given, calibrate=False).spec == Specification(PodGPSettings(), "none")


def test_networks_take_their_settings_by_keyword(tmp_path):
    epochs = []
    model = fit(
        synthetic.runs(),
        {"name": "deeponet", **SMALL},
        uq="mve",
        members=2,
        train=QUICK,
        scaling="none",
        coordinates="physical",
        folder=tmp_path,
        listener=Listener(epoch=epochs.append),
    )
    assert isinstance(model.settings, Networks)
    assert (model.settings.head, model.settings.sampler) == (MVE(), Ensemble(2))
    assert [report.epoch for report in epochs] == [0, 1]
    assert (tmp_path / CHECKPOINT).exists()
    # A network takes too long for folds: its bars stay its own, and it says so.
    assert model.calibration is None
    assert "uncalibrated" in repr(model)


def test_uq_without_a_model_chooses_the_default_network_as_in_files():
    model = fit(synthetic.runs(), uq="mve", head={"beta": 0.1}, train=QUICK, coordinates="physical")
    assert (model.model_name, model.uq, model.settings.head) == ("deeponet", "mve", MVE(beta=0.1))


def test_wrong_keywords_are_explained():
    runs = kinds_of_runs.runs("block")
    with pytest.raises(SureflowError, match="epochs is not a setting"):
        fit(runs, "deeponet", epochs=3)
    with pytest.raises(SureflowError, match=r"model.name='interpolatoin' .* did you mean interpolation\?"):
        fit(runs, "interpolatoin")
    with pytest.raises(SureflowError, match=r"train is for networks, and model\.name is auto"):
        fit(runs, "auto", train={"epochs": 3})
    with pytest.raises(SureflowError, match="scaling='freestream' needs the free stream of every run"):
        fit(runs, "interpolation", scaling="freestream")


def test_few_runs_are_fitted_without_calibration():
    model = fit(synthetic.runs().select(np.array([0, 4, 12, 20])), "interpolation")
    assert model.calibration is None


def test_a_comparison_is_not_learned_by_itself():
    with pytest.raises(SureflowError, match="several models are compared before one is learned: give the one to learn"):
        learn(synthetic.runs(), Specification())
    assert isinstance(
        make_surrogate(synthetic.runs(), Specification(CANDIDATES)).settings, PodGPSettings | InterpolationSettings
    )


def test_runs_that_cannot_be_learned_from_are_refused():
    x = np.linspace(0, 1, 5)[:, None]
    angle = np.arange(6.0)
    fields = np.random.default_rng(0).normal(size=(6, 5))
    with pytest.raises(SureflowError, match="2 converged runs are too few to learn from: at least 3 are needed"):
        fit(Runs.from_arrays({"angle": angle[:2]}, x, {"p": fields[:2]}), "interpolation")
    with pytest.raises(SureflowError, match=r"angle=1.*twice|repeat"):
        fit(Runs.from_arrays({"angle": [0.0, 1, 1, 3, 4, 5]}, x, {"p": fields}), "interpolation")
    fields[3, 2] = np.nan
    with pytest.raises(SureflowError, match="p of the run at angle=3 has 1 missing or non-finite values"):
        fit(Runs.from_arrays({"angle": angle}, x, {"p": fields}), "interpolation")


def test_a_model_that_needs_a_structured_mesh_says_so(monkeypatch):
    monkeypatch.setattr(InterpolationSettings, "capabilities", Capabilities(True, needs_structured_mesh=True))
    assert fit(kinds_of_runs.runs("block"), "interpolation").model_name == "interpolation"
    with pytest.raises(
        SureflowError, match="interpolation needs runs on a structured mesh, and the mesh of these is unst"
    ):
        fit(kinds_of_runs.runs("volume"), "interpolation")
    assert MODELS["interpolation"] is InterpolationSettings


@pytest.mark.parametrize("model", [None, "interpolation"])
def test_repeated_conditions_are_refused_before_models_are_compared(model):
    across, x = np.random.default_rng(0).uniform(size=(12, 2)), np.linspace(0, 1, 20)[:, None]
    across[1] = across[0]
    fields = 300.0 + across[:, :1] + across[:, 1:] * x[:, 0]
    with pytest.raises(SureflowError, match="1 of 12 runs repeat the condition of another"):
        fit(Runs.from_arrays({"a": across[:, 0], "b": across[:, 1]}, x, {"p": fields}), model)


@pytest.mark.parametrize(("logarithmic", "refused"), [([], True), (["a"], False)])
def test_conditions_next_to_each_other_are_refused(logarithmic, refused):
    """As models see them: two small values may be far from each other by their logarithms."""
    a, x = np.geomspace(1e-9, 1.0, 12), np.linspace(0, 1, 20)[:, None]
    b, fields = np.tile([0.0, 1.0], 6), 300.0 + np.log(a)[:, None] * x[:, 0]
    b[1] = 0.0
    runs = Runs.from_arrays({"a": a, "b": b}, x, {"p": fields}, logarithmic=logarithmic)
    if not refused:
        assert fit(runs, "interpolation").model_name == "interpolation"
        return
    with pytest.raises(SureflowError, match="runs 0 and 1 at a=1e-09, b=0 differ by less than 1e-06 of the range of"):
        fit(runs, "interpolation")


def test_examples_in_docstrings_run():
    found = doctest.testmod(fitting)
    assert found.attempted
    assert not found.failed
