"""How models that learn by gradient steps are trained."""

from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from sureflow.validation import settings


@settings
class TrainSettings:
    """How to train. Epochs and weight decay are those of Leon et al. 2023; what they do not give is our choice, the learning
    rate by validation in the reference study.

    An epoch visits every training run at `points_per_run` freshly drawn points. A `batch` is so many of these samples; of
    networks for whole fields, so many runs. Weight decay is decoupled from the gradient (AdamW, Loshchilov & Hutter 2019). The
    optimizer `muon` (Jordan et al. 2024) needs far fewer steps for networks that fit well, each of more work.
    """

    epochs: PositiveInt = 97
    points_per_run: PositiveInt | Literal["all"] = 512
    batch: PositiveInt = 512
    optimizer: Literal["adam", "muon"] = "adam"
    learning_rate: PositiveFloat = 1e-2
    schedule: Literal["constant", "cosine"] = "cosine"
    weight_decay: NonNegativeFloat = 1e-4
    seed: NonNegativeInt = 0
