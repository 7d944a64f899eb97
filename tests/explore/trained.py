"""Small trained models, one of every kind that the page knows in closed form."""

from dataclasses import replace
from functools import cache

import kinds_of_runs
import layers
import sureflow as sf
import synthetic
from small_networks import PAIR
from sureflow.models.pod_deeponet import PodDeepONetSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.surrogate.model import Surrogate
from sureflow.train.nbf import NBFSettings

CLOSED = (
    "interpolation",
    "aligned",
    "shock-aligned",
    "layer-aligned",
    "body-aligned",
    "bodies",
    "pod-gp",
    "pod-deeponet",
    "nbf",
)

NETWORKS = {
    "pod-deeponet": PodDeepONetSettings(members=3, width=8, steps=200),
    "nbf": NBFSettings(
        members=2,
        width=8,
        modes=4,
        steps=100,
        basis_width=16,
        train=TrainSettings(epochs=1, points_per_run="all", batch=64),
    ),
}


@cache
def trained(model: str) -> Surrogate:
    """A model of the small bow shock; the bars of all kinds are those of the interpolation, whose folds are quick."""
    if model == "interpolation":
        return sf.fit(synthetic.runs(), model)
    if model == "bodies":  # over four parameters, on meshes that move
        return sf.fit(layers.bodies(), "body-aligned", scaling="similarity")
    if model.endswith("aligned"):
        return sf.fit(layers.runs(), model, scaling="similarity")
    settings = NETWORKS.get(model, model)
    return replace(
        sf.fit(synthetic.runs(), settings, calibrate=False), calibration=trained("interpolation").calibration
    )


@cache
def of_kind(kind: str) -> Surrogate:
    """An interpolation of runs on another kind of mesh."""
    return sf.fit(kinds_of_runs.runs(kind), "interpolation", calibrate=False)


@cache
def network() -> Surrogate:
    """A small ensemble, which the page must tabulate."""
    return sf.fit(synthetic.runs(), PAIR, calibrate=False)
