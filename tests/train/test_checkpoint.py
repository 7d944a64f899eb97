import jax
import numpy as np
import pytest

import synthetic
from sureflow.errors import Exists, SureflowError
from sureflow.heads import MVE
from sureflow.models import DeepONetSettings
from sureflow.models.contract import Checkpoint
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate.learning import CHECKPOINT, continues, learn
from sureflow.surrogate.specification import Specification
from sureflow.train import checkpoint as checkpoint_module
from sureflow.train.batching import TrainingView
from sureflow.train.checkpoint import epochs_done, load_checkpoint, save_checkpoint
from sureflow.train.loop import initial_state, train
from sureflow.train.networks import Networks
from views import view_of_runs

SMALL = DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1, fourier_octaves=1)
MODEL = Networks(SMALL, MVE(), Ensemble(2), TrainSettings(epochs=4, batch=64, points_per_run=8))
RECIPE = MODEL.recipe


@pytest.fixture(scope="module")
def view():
    return TrainingView.of(view_of_runs(synthetic.runs()))


@pytest.fixture(scope="module")
def trained(view, tmp_path_factory):
    """An uninterrupted training, with the checkpoint of its second epoch."""
    path = tmp_path_factory.mktemp("checkpoint") / "checkpoint.safetensors"

    def keep_second(training):
        if len(training.history) == 2:
            save_checkpoint(path, training, "mine")

    return train(view, RECIPE, on_epoch=keep_second), path


def test_a_resumed_training_ends_in_the_same_bits(view, trained):
    whole, path = trained
    assert epochs_done(path) == 2
    resumed = train(view, RECIPE, start=load_checkpoint(path, initial_state(view, RECIPE), "mine"))
    for ours, theirs in zip(jax.tree.leaves(resumed.state), jax.tree.leaves(whole.state), strict=True):
        assert bool((ours == theirs).all())
    for ours, theirs in zip(resumed.history, whole.history, strict=True):
        assert ours.epoch == theirs.epoch
        for name, values in theirs.parts.items():
            np.testing.assert_array_equal(ours.parts[name], values)


def test_a_checkpoint_of_another_experiment_is_refused(view, trained):
    with pytest.raises(Exists, match="belongs to another experiment or other data"):
        load_checkpoint(trained[1], initial_state(view, RECIPE), "theirs")


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_a_damaged_checkpoint_is_refused(view, trained, tmp_path, keep):
    damaged = tmp_path / "checkpoint.safetensors"
    damaged.write_bytes(trained[1].read_bytes()[:keep])
    with pytest.raises(SureflowError, match="is damaged"):
        load_checkpoint(damaged, initial_state(view, RECIPE), "mine")


def test_no_checkpoint_means_no_epoch(tmp_path):
    assert epochs_done(tmp_path / "none") == 0


class Killed(BaseException):
    """What no part of the program may catch."""


def killing(action, after: int):
    """`action`, killed when it is called for the last time."""
    calls = 0

    def act(*arguments):
        nonlocal calls
        calls += 1
        if calls == after:
            raise Killed
        action(*arguments)

    return act


@pytest.mark.parametrize("moment", ["before an epoch is kept", "after an epoch was kept"])
def test_a_model_that_is_killed_in_training_goes_on_to_the_same_bits(tmp_path, monkeypatch, moment):
    given, told = view_of_runs(synthetic.runs()), []
    whole = MODEL.fit(given).arrays()
    checkpoint = Checkpoint(tmp_path / CHECKPOINT, "mine")
    progress = told.append
    if moment == "before an epoch is kept":
        monkeypatch.setattr(checkpoint_module, "save_checkpoint", killing(save_checkpoint, after=3))
    else:
        progress = killing(told.append, after=3)
    with pytest.raises(Killed):
        MODEL.fit(given, progress, checkpoint)
    monkeypatch.undo()
    assert epochs_done(checkpoint.path) == 2
    again = MODEL.fit(given, told.append, checkpoint).arrays()
    assert sorted({report.epoch for report in told}) == [0, 1, 2, 3]
    assert [report.epoch for report in told][-2:] == [2, 3]
    for name, values in whole.items():
        np.testing.assert_array_equal(again[name], values)


def test_checkpoints_belong_to_data_and_settings(tmp_path):
    runs, spec = synthetic.runs(), Specification(MODEL, "none", "physical")
    assert not continues(tmp_path, runs, spec)
    whole = learn(runs, spec, folder=tmp_path)
    assert continues(tmp_path, runs, spec)
    assert epochs_done(tmp_path / CHECKPOINT) == 4
    again = learn(runs, spec, folder=tmp_path, progress=lambda report: pytest.fail("nothing is left to train"))
    asked = np.array([[20.0, 40.0]])
    np.testing.assert_array_equal(again.predictive(asked).mean, whole.predictive(asked).mean)
    for other_runs, other in (
        (runs.select(slice(0, 20)), spec),
        (runs, Specification(MODEL, "freestream", "physical")),
        (runs, Specification(MODEL, "none", "body-fitted")),
        (runs, Specification(Networks(SMALL, MVE(beta=0.0), Ensemble(2), MODEL.train), "none", "physical")),
    ):
        assert not continues(tmp_path, other_runs, other)
        with pytest.raises(Exists, match="belongs to another experiment or other data"):
            learn(other_runs, other, folder=tmp_path)
