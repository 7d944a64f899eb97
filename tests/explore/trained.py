"""Small trained models, one of every kind that the page knows in closed form."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

import kinds_of_runs
import layers
import sureflow as sf
import synthetic
from small_networks import PAIR
from sureflow.models.interpolation import InterpolationSettings
from sureflow.models.pod_deeponet import PodDeepONetSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.surrogate.model import Surrogate
from sureflow.train.nbf import NBFSettings

KERNELS = ("thin-plate", "matern")  # of an interpolation, beside the cubic one
CLOSED = (
    "interpolation",
    *KERNELS,
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
    settings = InterpolationSettings(model) if model in KERNELS else NETWORKS.get(model, model)
    return replace(
        sf.fit(synthetic.runs(), settings, calibrate=False), calibration=trained("interpolation").calibration
    )


@cache
def of_kind(kind: str) -> Surrogate:
    """An interpolation of runs on another kind of mesh."""
    return sf.fit(kinds_of_runs.runs(kind), "interpolation", calibrate=False)


@cache
def folding() -> Surrogate:
    """Runs brought to one body, on meshes that fold beyond the fastest runs."""
    return sf.fit(layers.folding(), "body-aligned", scaling="similarity", calibrate=False)


@cache
def logarithmic() -> Surrogate:
    """A calibrated interpolation over three decades of one parameter and a linear range of the other."""
    at = np.array(list(product(np.geomspace(1e3, 1e6, 7), np.linspace(0.0, 4.0, 5))))
    y, x = (axis.ravel() for axis in np.mgrid[0:1:7j, 0:1:7j])
    field = 300.0 + 20.0 * np.sin(0.4 * np.log(at[:, :1]) + 0.3 * at[:, 1:] + 3.0 * x) + 10.0 * y
    parameters, units = {"reynolds": at[:, 0], "angle": at[:, 1]}, {"T": "K", "angle": "deg"}
    runs = sf.Runs.from_arrays(
        parameters, np.column_stack([x, y]), {"T": field}, units, logarithmic=["reynolds"], axes=("x", "y")
    )
    return sf.fit(runs, "interpolation")


@cache
def network() -> Surrogate:
    """A small ensemble, which the page must tabulate."""
    return sf.fit(synthetic.runs(), PAIR, calibrate=False)


@cache
def block_volume() -> Surrogate:
    """A calibrated interpolation in the cells of a structured block in three dimensions, longer than neighbors reach."""
    shape, at = (12, 4, 5), np.array(list(product(np.linspace(0.0, 2.0, 5), np.linspace(0.3, 0.6, 4))))
    places = [np.arange(size + 1) / size for size in shape], [(np.arange(size) + 0.5) / size for size in shape]
    corners, middles = (np.stack(np.meshgrid(*one, indexing="ij"), axis=-1).reshape(-1, 3) for one in places)
    z, y, x = middles.T
    angle, thickness = at.T[:, :, None]
    pulse = np.exp(-((x - 0.3 * angle) ** 2 + (y - 0.4) ** 2 + (z - 0.2 * angle) ** 2) / thickness**2)
    fields = {"p": 1e5 * (1 + pulse), "T": 300.0 + 50.0 * np.sin(3.0 * angle + 2.0 * x) * thickness}
    parameters = {"angle": at[:, 0], "thickness": at[:, 1]}
    mesh = {"shape": shape, "nodes": corners}
    runs = sf.Runs.from_arrays(parameters, middles, fields, {"p": "Pa", "T": "K"}, axes=("z", "y", "x"), **mesh)
    surrogate = sf.fit(runs, "interpolation")
    assert any(surrogate.calibration.fields.spread)  # so that bars depend on those of neighbors
    return surrogate
