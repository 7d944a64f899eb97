"""What numbers of a run are learned over, and relative to what: inputs of named scalings; hand calculations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.normalize import Standard
from sureflow.data.scaling import FreestreamScaling, Scaling, SimilarityScaling
from sureflow.data.similarity import Similarity
from sureflow.models.warps import COLUMNS
from sureflow.surrogate.observe import Observer
from sureflow.surrogate.predictor import Conditions, Predictor
from sureflow.uq.domain import TrainingDomain
from sureflow.uq.folds import Fold, side_folds

InputKind = Literal["model", "freestream", "similarity"]  # those of the model itself, or of a scaling


@dataclass(frozen=True)
class NumberSpace:
    """Of a model that was trained on the runs of the domain; with the scalings that they offer, and the body if it is known."""

    predictor: Predictor
    domain: TrainingDomain
    scalings: Mapping[InputKind, Scaling]
    body: Observer | None

    @classmethod
    def of(cls, header: Header, predictor: Predictor, domain: TrainingDomain) -> "NumberSpace":
        return cls(predictor, domain, _scalings(header), Observer.of(header, predictor.space))

    def inputs(self, kind: InputKind, conditions: Conditions) -> Float[np.ndarray, "case input"]:
        """What the processes are given of conditions."""
        if kind not in self.scalings:
            return self._of_the_model(conditions)
        return self.standards[kind].forward(self.scalings[kind].inputs(np.asarray(conditions, float)))

    def _of_the_model(self, conditions: Conditions) -> Float[np.ndarray, "case input"]:
        """What the model is given; of what it is told of lines no more than its layer, which is what stored processes know."""
        inputs, parameters = self.predictor.inputs(conditions), len(self.predictor.normalizer.inputs.mean)
        return np.column_stack([inputs[:, :parameters], inputs[:, parameters:][:, -COLUMNS:]])

    def all_inputs(
        self, conditions: Conditions, kinds: Iterable[InputKind] | None = None
    ) -> dict[InputKind, Float[np.ndarray, "case input"]]:
        """Of these kinds, or of all that numbers may be learned over."""
        return {kind: self.inputs(kind, conditions) for kind in (self.kinds if kinds is None else kinds)}

    @property
    def kinds(self) -> tuple[InputKind, ...]:
        """Inputs that numbers may be learned over, the usual ones first."""
        return tuple(self.scalings) or ("model",)

    @cached_property
    def standards(self) -> dict[InputKind, Standard]:
        """How the inputs of a scaling are normalized."""
        runs = self.domain.parameters
        return {kind: Standard.fit(scaling.inputs(runs), axis=0) for kind, scaling in self.scalings.items()}

    def estimates(self, names: Iterable[str], conditions: Conditions) -> dict[str, Float[np.ndarray, " case"]]:
        """Hand calculations of some numbers, of those for which there is one."""
        return {} if self.body is None else self.body.estimates(names, conditions)

    @cached_property
    def sides(self) -> dict[int, list[Fold]]:
        """Outer bands of the runs, to be left out."""
        return side_folds(self.domain)


def _scalings(header: Header) -> dict[InputKind, Scaling]:
    """Those that need no more than a free stream, and gas and length."""
    if header.stream is None:
        return {}
    found: dict[InputKind, Scaling] = {
        "freestream": FreestreamScaling(header.units, header.parameter_names, header.stream)
    }
    similarity = Similarity.of(header)
    if similarity is not None:
        found["similarity"] = SimilarityScaling(header.units, similarity)
    logarithmic = tuple((item.name, column) for column, item in enumerate(header.parameters) if item.scale == "log")
    return {kind: replace(scaling, logarithmic=logarithmic) for kind, scaling in found.items()}
