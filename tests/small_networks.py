"""Networks that are trained at once, for tests of what surrounds them: all that use the same one compile it once."""

from sureflow.heads import Deterministic
from sureflow.models import DeepONetSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.train.networks import Networks

SMALL = DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1, fourier_octaves=1)
QUICK = TrainSettings(epochs=1, batch=64, points_per_run=8)
SINGLE = Networks(SMALL, Deterministic(), Ensemble(1), QUICK)
PAIR = Networks(SMALL, Deterministic(), Ensemble(2), QUICK)
