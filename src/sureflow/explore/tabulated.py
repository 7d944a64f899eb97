"""Models without a closed form: their predictions over a lattice of conditions, and smooth interpolation between them.

The fields of the lattice are reduced to a few modes (POD), whose coefficients the page interpolates by cubics. What that
loses is measured at conditions between those of the lattice, and the page says it.
"""

import itertools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.explore.closed_forms import Form
from sureflow.explore.program import Value, join
from sureflow.predictive import EPISTEMIC
from sureflow.surrogate.model import Surrogate

# Entries along every parameter, by how many parameters there are.
ENTRIES = {1: 65, 2: 19, 3: 9}
AT_ONCE = 16  # conditions that are predicted together
MOST_MODES = 64
MEAN_LEFT, BAR_LEFT = 1e-9, 1e-6  # shares of the variance that the modes may leave
LEAST_BAR = 1e-9  # in normalized space

Ranges = list[tuple[float, float]]


def tabulated(surrogate: Surrogate, inputs: Value, ranges: Ranges, progress: Callable[[float], None]) -> Form:
    """The prediction with the model's own bars in normalized space, for parameters between the ends of their ranges.

    The lattice is over the inputs of the model, in which its predictions are smoother than in the parameters.
    """
    if surrogate.predictor.layer is not None:
        raise SureflowError(
            f"a {surrogate.model_name} model of wall layers cannot be put into a page: serve it instead"
        )
    if len(ranges) not in ENTRIES or surrogate.space.moving is not None:
        what = f"over {len(ranges)} parameters" if len(ranges) not in ENTRIES else "on a mesh that moves"
        raise SureflowError(
            f"a {surrogate.model_name} {what} cannot be put into a page, which would have to tabulate it: serve it instead, or "
            "choose a model of whole fields"
        )
    box = _input_box(surrogate, ranges)
    entries = np.array(list(itertools.product(*(np.linspace(*one, ENTRIES[len(ranges)]) for one in box))))
    means, bars = _tables(surrogate, entries, progress)
    mean = _smooth(inputs, box, means, MEAN_LEFT)
    if bars is None:
        return Form(mean, {})
    return Form(mean, {EPISTEMIC: _smooth(inputs, box, np.log(np.maximum(bars, LEAST_BAR)), BAR_LEFT).exponential()})


def _input_box(surrogate: Surrogate, ranges: Ranges) -> Ranges:
    """The ranges of the normalized inputs of a model."""
    predictor = surrogate.predictor
    grid = np.array(list(itertools.product(*(np.linspace(*one, 33) for one in ranges))))
    found = predictor.normalizer.inputs.forward(predictor.scaling.inputs(grid))
    width = np.maximum(np.ptp(found, axis=0), 1e-6)
    return list(zip(found.min(axis=0) - 0.01 * width, found.max(axis=0) + 0.01 * width, strict=True))


def _tables(
    surrogate: Surrogate, entries: np.ndarray, progress: Callable[[float], None]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Means and standard deviations of the fitted model at all entries of its inputs, a few at a time."""
    predictor = surrogate.predictor
    places = predictor.space.coordinates(predictor.spec.seen_coordinates, surrogate.domain.parameters[:1])
    coordinates = predictor.normalizer.coordinates.forward(places)
    means, bars = [], []
    for first in range(0, len(entries), AT_ONCE):
        progress(first / len(entries))
        found = predictor.fitted.predict(entries[first : first + AT_ONCE], coordinates)
        means.append(np.asarray(found.mean, np.float32))
        if found.std is not None:
            bars.append(np.asarray(found.std, np.float32))
    return np.concatenate(means), np.concatenate(bars) if bars else None


def _smooth(inputs: Value, ranges: Ranges, fields: Float[np.ndarray, "entry variable point"], left: float) -> Value:
    """A field that depends smoothly on the inputs, from its values over the lattice."""
    count, *shape = fields.shape
    middle = fields.mean(axis=0, dtype=float)
    rows = (fields - middle).reshape(count, -1)
    variance, vectors = np.linalg.eigh(rows @ rows.T)
    variance, vectors = np.maximum(variance[::-1], 0.0), vectors[:, ::-1]
    share = 1 - np.cumsum(variance) / max(variance.sum(), np.finfo(float).tiny)
    kept = min(int((share > left).sum()) + 1, MOST_MODES)
    # Weights of unit size keep the modes, which carry the amplitude, in the range of the levels they are stored in.
    scores = vectors[:, :kept] * np.sqrt(count)
    modes = (scores.T @ rows / count).reshape(kept, *shape)
    weights = inputs.lattice(ranges, scores)
    return join(inputs.program.constant(np.ones(1)), weights).rows(np.concatenate([middle[None], modes]))
