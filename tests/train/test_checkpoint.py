import jax
import numpy as np
import pytest

import synthetic
from sureflow.data.normalize import Normalizer
from sureflow.errors import SureflowError
from sureflow.heads import MVE
from sureflow.models import DeepONetSettings
from sureflow.train.checkpoint import epochs_done, load_checkpoint, save_checkpoint
from sureflow.train.loop import Recipe, TrainSettings, fit

RECIPE = Recipe(
    DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1, fourier_octaves=1),
    MVE(),
    members=2,
    train=TrainSettings(epochs=4, batch=64, points_per_run=8),
)


@pytest.fixture(scope="module")
def view():
    data = synthetic.dataset()
    return Normalizer.fit(data, "xr").training_view(data, "xr")


@pytest.fixture(scope="module")
def trained(view, tmp_path_factory):
    """An uninterrupted training, with the checkpoint of its second epoch."""
    path = tmp_path_factory.mktemp("checkpoint") / "checkpoint.safetensors"

    def keep_second(training):
        if len(training.history) == 2:
            save_checkpoint(path, training, "mine")

    return fit(view, RECIPE, on_epoch=keep_second), path


def test_a_resumed_training_ends_in_the_same_bits(view, trained):
    whole, path = trained
    assert epochs_done(path) == 2
    resumed = fit(view, RECIPE, start=load_checkpoint(path, view, RECIPE, "mine"))
    for ours, theirs in zip(jax.tree.leaves(resumed.state), jax.tree.leaves(whole.state), strict=True):
        assert bool((ours == theirs).all())
    for ours, theirs in zip(resumed.history, whole.history, strict=True):
        assert ours.epoch == theirs.epoch
        for name, values in theirs.parts.items():
            np.testing.assert_array_equal(ours.parts[name], values)


def test_a_checkpoint_of_another_experiment_is_refused(view, trained):
    with pytest.raises(SureflowError, match="belongs to another experiment or other data"):
        load_checkpoint(trained[1], view, RECIPE, "theirs")


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_a_damaged_checkpoint_is_refused(view, trained, tmp_path, keep):
    damaged = tmp_path / "checkpoint.safetensors"
    damaged.write_bytes(trained[1].read_bytes()[:keep])
    with pytest.raises(SureflowError, match="is damaged"):
        load_checkpoint(damaged, view, RECIPE, "mine")


def test_no_checkpoint_means_no_epoch(tmp_path):
    assert epochs_done(tmp_path / "none") == 0
