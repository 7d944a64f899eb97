"""Conditions for the next runs: those that lie farthest from all runs, as the model sees them."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from sureflow.errors import SureflowError
from sureflow.surrogate.model import Surrogate

if TYPE_CHECKING:
    import pandas

CANDIDATES = 1 << 12
AT_ONCE = 16  # conditions whose fields are held in memory together


def propose(model: Surrogate, count: int = 5, *, seed: int = 0) -> "pandas.DataFrame":
    """The next `count` runs to compute, in this order: a row a run, with its parameters.

    Space-filling: each is the one of many candidates in the ranges of the parameters (declared ones, else those of the training
    runs) that lies farthest from all training runs and from those before it. Distances are in the model's normalized inputs
    (column `distance`), and so do not depend on units. `mean_std` is the standard deviation that the model expects there, in
    standard deviations of the training fields, averaged over points and fields; it is missing where the model has no bars.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 50)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 7.0, 8.0])
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]})
    >>> next_run = sf.propose(sf.fit(runs, "interpolation"), count=1)
    >>> round(float(next_run.angle[0]))
    5
    """
    import pandas

    if count < 1:
        raise SureflowError(f"count={count} must be at least 1")
    conditions = _candidates(model, seed)
    chosen, distance = _farthest(model, conditions, count)
    table = pandas.DataFrame(conditions[chosen], columns=list(model.parameter_names))
    return table.assign(distance=distance, mean_std=_mean_std(model, conditions[chosen]))


def _candidates(model: Surrogate, seed: int) -> Float[np.ndarray, "candidate parameter"]:
    """A Sobol sequence in the ranges of the parameters."""
    domain = model.domain
    declared = np.array([parameter.range for parameter in model.header.parameters])
    lower = np.where(np.isfinite(declared[:, 0]), declared[:, 0], domain.lower)
    upper = np.where(np.isfinite(declared[:, 1]), declared[:, 1], domain.upper)
    unit = qmc.Sobol(len(lower), rng=np.random.default_rng(seed)).random(CANDIDATES)
    return lower + unit * (upper - lower)


def _farthest(
    model: Surrogate, conditions: Float[np.ndarray, "candidate parameter"], count: int
) -> tuple[list[int], list[float]]:
    """Candidates in the order in which they are taken, and their distances from all runs and those taken before."""
    predictor = model.predictor

    def seen(parameters: np.ndarray) -> np.ndarray:
        return predictor.normalizer.inputs.forward(predictor.scaling.inputs(parameters))

    places = seen(conditions)
    nearest = cdist(places, seen(model.domain.parameters)).min(axis=1)
    chosen, distances = [], []
    for _ in range(min(count, len(places))):
        best = int(nearest.argmax())
        chosen.append(best)
        distances.append(float(nearest[best]))
        nearest = np.minimum(nearest, np.linalg.norm(places - places[best], axis=1))
    return chosen, distances


def _mean_std(model: Surrogate, conditions: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, " case"]:
    found = np.full(len(conditions), np.nan)
    if model.field_scale is None:
        return found
    for start in range(0, len(conditions), AT_ONCE):
        std = model.predictive(conditions[start : start + AT_ONCE]).std
        if std is None:
            break
        found[start : start + AT_ONCE] = (np.asarray(std) / model.field_scale.std[:, None]).mean(axis=(1, 2))
    return found
