"""What every model answers with: a mean, and a standard deviation with the parts that it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float

from sureflow.pytrees import pytree

# The two parts that heads and samplers know. A converged CFD run has no noise, so what the literature calls
# aleatoric is the model's discrepancy here: the scatter of the truth about the mean that the network itself expects.
# The ends of the central 50, 90 and 95 % intervals.
INTERVALS = {0.5: (0.25, 0.75), 0.9: (0.05, 0.95), 0.95: (0.025, 0.975)}
DISCREPANCY = "discrepancy"
EPISTEMIC = "epistemic"


@pytree
@dataclass(frozen=True, eq=False)
class Predictive:
    """Mean and standard deviation of a prediction, of one shape; `parts` are independent standard deviations.

    A model that says nothing about its error has no parts, and its `std` is None rather than zero. `quantiles`, by their
    probability as in 0.05, are those of models whose distribution is not normal; of a normal one, `std` says them.
    """

    mean: Float[Any, "..."]  # an array of NumPy or of JAX
    parts: Mapping[str, Float[Any, "..."]]
    quantiles: Mapping[float, Float[Any, "..."]] = field(default_factory=dict)

    @property
    def std(self) -> Float[Any, "..."] | None:
        """std^2 = sum of part^2."""
        if not self.parts:
            return None
        return sum(part**2 for part in self.parts.values()) ** 0.5
