"""Where a condition lies: inside the box of the training runs, or how far outside of it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class TrainingDomain:
    """The parameters of the training runs, and the box that they span."""

    names: tuple[str, ...]
    parameters: Float[np.ndarray, "case parameter"]

    @property
    def lower(self) -> Float[np.ndarray, " parameter"]:
        return self.parameters.min(axis=0)

    @property
    def upper(self) -> Float[np.ndarray, " parameter"]:
        return self.parameters.max(axis=0)

    def excess(self, conditions: Float[np.ndarray, "... parameter"]) -> Float[np.ndarray, "... parameter"]:
        """How far each parameter lies outside of the box, in widths of the box; 0 inside."""
        width = np.where(self.upper > self.lower, self.upper - self.lower, 1.0)
        return np.maximum(0, np.maximum(self.lower - conditions, conditions - self.upper)) / width

    def verdict(self, condition: Float[np.ndarray, " parameter"]) -> str:
        """`inside`, or what is extrapolated and how far."""
        beyond = [
            f"{name}={value:g} is outside {low:g}..{high:g} by {share:.0%} of that range"
            for name, value, low, high, share in zip(
                self.names, condition, self.lower, self.upper, self.excess(condition), strict=True
            )
            if share > 0
        ]
        return "extrapolated: " + "; ".join(beyond) if beyond else "inside"

    def summary(self, conditions: Float[np.ndarray, "case parameter"]) -> str:
        """The verdict of the condition that lies farthest out, and how many are extrapolated."""
        excess = self.excess(conditions).max(axis=1)
        farthest = self.verdict(conditions[excess.argmax()])
        if len(conditions) == 1 or not excess.any():
            return farthest
        return f"{np.count_nonzero(excess)} of {len(conditions)} conditions are extrapolated; the farthest: {farthest}"
