"""The contract of a sampler: how many networks are trained, how often each is asked, and how the answers are combined."""

from abc import ABC
from typing import ClassVar

import jax.numpy as jnp

from sureflow.errors import SureflowError
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.pytrees import tell_jax
from sureflow.registry import SettingsRegistry

tell_jax()  # what it gives back and takes


class Sampler(ABC):
    """Settings of a sampler (declared with `@settings`); it goes with any network and any head.

    `members` networks are trained for every variable, each with weights of its own. Those of a `random` sampler draw: they
    are given a random key and a `rate` in training, and are asked `passes` times in prediction, each time with another key.
    """

    name: ClassVar[str]
    random: ClassVar[bool] = False
    members: int = 1
    passes: int = 1
    rate: float = 0.0  # share of the units that networks drop

    @property
    def several(self) -> bool:
        """Whether there is more than one answer."""
        return self.members * self.passes > 1

    def require_several(self) -> None:
        if not self.several:
            raise SureflowError("a single network has no members to sample: train an ensemble")

    def combine(self, answers: Predictive) -> Predictive:
        """One prediction from a leading axis of answers, as the moments of their equal mixture.

        mean = mean_b mu_b and std^2 = mean_b sigma_b^2 + var_b mu_b: the variances of the parts are averaged, and the
        spread of the means joins the epistemic part. One answer is itself.
        """
        averaged = {name: jnp.sqrt(jnp.mean(part**2, axis=0)) for name, part in answers.parts.items()}
        if self.several:
            averaged[EPISTEMIC] = jnp.hypot(averaged.get(EPISTEMIC, 0.0), jnp.std(answers.mean, axis=0))
        return Predictive(jnp.mean(answers.mean, axis=0), averaged)


SAMPLERS: SettingsRegistry[Sampler] = SettingsRegistry("sampler", Sampler)
