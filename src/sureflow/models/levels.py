"""Runs on several nested meshes: many on a coarse one, and few on a fine one that tell the difference."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.models.belief import Belief
from sureflow.models.contract import (
    MODELS,
    Capabilities,
    Checkpoint,
    Coordinates,
    FittedModel,
    Inputs,
    ModelSettings,
    Progress,
    Samples,
    Sizes,
    View,
    require_enough_runs,
    require_fitting,
    unheard,
)
from sureflow.models.interpolation import InterpolationSettings
from sureflow.models.warps import told_of_lines
from sureflow.predictive import Predictive
from sureflow.validation import settings

COARSE, DIFFERENCE = "coarse.", "difference."  # before the names of arrays


@dataclass(frozen=True)
class Levels(FittedModel):
    """fine(x) = coarse(x) + difference(x): recursive co-kriging with the factor 1 (Le Gratiet & Garnier 2014), for fields.

    The coarse model learns from the coarse runs in the cells of the fine mesh. The other one learns what it misses at the fine
    runs; where a coarse run is there as well, an interpolation leaves the difference of the two runs. The errors of the two
    are taken as independent: their variances add up. `columns` are those of the inputs that the difference does not see.
    """

    coarse: FittedModel
    difference: FittedModel
    columns: int = 0

    def arrays(self) -> dict[str, np.ndarray]:
        parts = ((COARSE, self.coarse), (DIFFERENCE, self.difference))
        return {f"{kind}{name}": array for kind, model in parts for name, array in model.arrays().items()}

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        below, above = (
            self.coarse.predict(inputs, coordinates),
            self.difference.predict(self._plain(inputs), coordinates),
        )
        names = dict.fromkeys((*below.parts, *above.parts))
        parts = {name: np.hypot(below.parts.get(name, 0.0), above.parts.get(name, 0.0)) for name in names}
        return Predictive(np.asarray(below.mean) + np.asarray(above.mean), parts)

    def novelty(self, inputs: Inputs, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " case"]:
        """As the difference sees it, which has the fewer runs."""
        return self.difference.novelty(self._plain(inputs), self._plain(runs))

    def left_out_novelty(self, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        return self.difference.left_out_novelty(self._plain(runs))

    def slope(
        self, inputs: Inputs, coordinates: Coordinates, d_inputs: Inputs, d_coordinates: Coordinates
    ) -> Float[np.ndarray, "variable value"]:
        below = self.coarse.slope(inputs, coordinates, d_inputs, d_coordinates)
        return below + self.difference.slope(self._plain(inputs), coordinates, self._plain(d_inputs), d_coordinates)

    @property
    def has_samples(self) -> bool:
        return self.coarse.has_samples and self.difference.has_samples

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        below = self.coarse.samples(inputs, coordinates, count, rng)
        return below + self.difference.samples(self._plain(inputs), coordinates, count, rng)

    def belief(self) -> Belief | None:
        """The processes of both: a coarse run tells those of the coarse model alone."""
        below, above = self.coarse.belief(), self.difference.belief()
        if below is None or above is None:
            return None
        coarse = tuple(replace(process, level=process.level + 1) for process in below.processes)
        return Belief((*above.processes, *coarse), above.errors, below.metric)

    def _plain(self, inputs: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, "case seen"]:
        return np.asarray(inputs)[:, : np.shape(inputs)[1] - self.columns]


@MODELS.add
@settings
class LevelsSettings(ModelSettings):
    """The models of the coarsest level and of the differences from one level to the next."""

    name: ClassVar[str] = "levels"
    uq: ClassVar[str] = "levels"
    fitted: ClassVar[type[FittedModel]] = Levels
    coarse: Annotated[ModelSettings, MODELS] = InterpolationSettings()
    difference: Annotated[ModelSettings, MODELS] = InterpolationSettings()

    def __post_init__(self) -> None:
        for name in ("coarse", "difference"):
            needs = getattr(self, name).capabilities
            if not needs.refits_quickly or needs.needs_levels or (name == "difference" and needs.needs_wall_layer):
                raise SureflowError(
                    f"{name}={getattr(self, name).name!r} cannot be a part of levels: choose interpolation or pod-gp"
                )

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return Capabilities(
            refits_quickly=True,
            needs_structured_mesh=True,
            needs_wall_layer=self.coarse.capabilities.needs_wall_layer,
            needs_levels=True,
        )

    @property
    def title(self) -> str:
        usual = self == LevelsSettings()
        return self.name if usual else f"{self.name} ({self.coarse.title} + {self.difference.title})"

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Levels:
        if view.coarser is None:
            raise SureflowError(f"{self.name} needs runs on a coarser mesh as well: choose interpolation")
        inputs, below = view.inputs[:, : view.inputs.shape[1] - self._columns(view.sizes)], view.coarser
        require_enough_runs(inputs, self.name)
        coarse = (self if below.coarser is not None else self.coarse).fit(below)
        missed = view.fields - np.asarray(coarse.predict(view.inputs, view.coordinates).mean)
        difference = self.difference.fit(replace(view, inputs=inputs, fields=missed, layer=None, coarser=None))
        return Levels(coarse, difference, self._columns(view.sizes))

    def restore(self, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> Levels:
        below, above = (_named(arrays, kind) for kind in (COARSE, DIFFERENCE))
        deeper = any(name.startswith(COARSE) for name in below)
        found = (self if deeper else self.coarse).restore(below, sizes)
        for kind, part in ((self.coarse.fitted, {} if deeper else below), (self.difference.fitted, above)):
            require_fitting(kind, part, variable=sizes.fields)
        return Levels(found, self.difference.restore(above, sizes), self._columns(sizes))

    def _columns(self, sizes: Sizes) -> int:
        """Inputs of the wall layer, which only the coarse model sees."""
        needed = self.coarse.capabilities.needs_wall_layer and sizes.shape is not None
        return told_of_lines(sizes.shape) if needed and sizes.shape else 0


def _named(arrays: Mapping[str, np.ndarray], kind: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)}
