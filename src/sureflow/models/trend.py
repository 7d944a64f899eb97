"""What a straight line over the parameters says of the fields: networks of whole fields learn what it leaves."""

from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from sureflow.models.contract import Fields, Inputs, View
from sureflow.models.products import product

# Below this, in units of a field's standard deviation over all runs and points, a remainder is rounding.
NOTHING = 1e-9


def terms(inputs: Inputs) -> Float[np.ndarray, "case term"]:
    """A constant, and the parameters."""
    return np.column_stack([np.ones(len(inputs)), inputs])


class Trend(NamedTuple):
    """fields(x) = line(x) + scale remainder(x), with the line by least squares at every point.

    Outside of the training runs, where networks level off, the line goes on. `scale` is the standard deviation of what the
    line leaves of a field; zero where that is nothing, so that there is nothing to learn.
    """

    line: Float[np.ndarray, "term variable point"]
    scale: Float[np.ndarray, " variable"]

    @classmethod
    def fit(cls, view: View) -> tuple[Self, Fields]:
        """The trend of the runs, and what it leaves of their fields in units of the scale."""
        n_runs, *shape = view.fields.shape
        inverse = np.linalg.pinv(terms(view.inputs))
        line = product(inverse, np.asarray(view.fields, float).reshape(n_runs, -1)).reshape(-1, *shape)
        left = view.fields - cls(line, np.ones(shape[0])).at(view.inputs)
        scale = np.sqrt(np.mean(left**2, axis=(0, 2)))
        scale = np.where(scale > NOTHING, scale, 0.0)
        return cls(line, scale), left / np.where(scale > 0, scale, 1.0)[:, None]

    def at(self, inputs: Inputs) -> Fields:
        """The line at conditions."""
        return product(terms(inputs), self.line.reshape(len(self.line), -1)).reshape(len(inputs), *self.line.shape[1:])
