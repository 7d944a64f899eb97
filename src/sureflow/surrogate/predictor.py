"""A fitted model in physical units: conditions in, fields with the model's own error bars out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sureflow.data.enthalpy_limits import EnthalpyLimits
from sureflow.data.meshes import PHYSICAL, Geometry, Points
from sureflow.data.normalize import Normalizer
from sureflow.data.scaling import Scaling
from sureflow.data.wall_layer import WallLayer, layer_columns
from sureflow.models.contract import FittedModel, ModelSettings
from sureflow.predictive import Predictive
from sureflow.surrogate.space import Space
from sureflow.surrogate.specification import Specification

Conditions = Float[np.ndarray, "case parameter"]
Condition = Float[np.ndarray, " parameter"]
Fields = Float[np.ndarray, "case variable point"]


@dataclass(frozen=True)
class Predictor:
    """A fitted model with what leads from conditions to its inputs, and from its answers to physical fields on a mesh."""

    spec: Specification  # with nothing left to choose
    fitted: FittedModel
    space: Space
    scaling: Scaling
    normalizer: Normalizer
    layer: WallLayer | None = None  # where the model needs it
    # The least scaled value of every field that has one, so that densities and temperatures are positive; () for none.
    floors: tuple[float | None, ...] = ()
    limits: EnthalpyLimits | None = None  # of temperature and speed, where the runs tell them

    @property
    def settings(self) -> ModelSettings:
        assert isinstance(self.spec.model, ModelSettings)
        return self.spec.model

    def __call__(self, conditions: Conditions) -> Predictive:
        """Mean and the model's own parts (case, variable, point) on the mesh of the runs."""
        return self._evaluate(conditions, self._coordinates(conditions))

    def samples(
        self, conditions: Conditions, count: int, seed: int = 0
    ) -> Float[np.ndarray, "sample case variable point"]:
        """Possible fields on the mesh of the runs, each one whole."""
        normalized = self._normalized(conditions, self._coordinates(conditions))
        drawn = self.fitted.samples(*normalized, count, np.random.default_rng(seed))
        scaled = np.asarray(self.normalizer.physical(Predictive(drawn, {})).mean)
        return self._limited(self.scaling.inverse(self._lifted(scaled), conditions), conditions)

    def novelty(self, conditions: Conditions, training: Float[np.ndarray, "run input"]) -> Float[np.ndarray, " case"]:
        """How new conditions are to the model, which was fitted to runs with the inputs `training`."""
        return self.fitted.novelty(self.inputs(conditions), training)

    def left_out_novelty(self, training: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        """How new every training run is to the model of the others."""
        return self.fitted.left_out_novelty(self.inputs(training))

    def physical(self, normalized: Predictive, conditions: Conditions) -> Predictive:
        """A prediction of the model in physical units."""
        scaled = self.normalizer.physical(normalized)
        if self.floors:
            quantiles = {level: self._lifted(np.asarray(one)) for level, one in scaled.quantiles.items()}
            scaled = Predictive(self._lifted(np.asarray(scaled.mean)), scaled.parts, quantiles)
        found = self.scaling.physical(scaled, conditions)
        if self.limits is None:
            return found
        quantiles = {level: self.limits.cut(np.asarray(one), conditions) for level, one in found.quantiles.items()}
        return Predictive(self._limited(np.asarray(found.mean), conditions), found.parts, quantiles)

    def possible(
        self, fields: Float[np.ndarray, "*sample case variable point"], conditions: Conditions
    ) -> Float[np.ndarray, "*sample case variable point"]:
        """Physical fields with what is below the floors lifted to them, and within the limits."""
        lifted = self.scaling.inverse(self._lifted(self.scaling.forward(fields, conditions)), conditions)
        return self._limited(lifted, conditions)

    def _limited(self, fields: np.ndarray, conditions: Conditions) -> np.ndarray:
        return fields if self.limits is None else self.limits.kept(fields, conditions)

    def _lifted(self, scaled: np.ndarray) -> np.ndarray:
        if not self.floors:
            return scaled
        floors = np.array([-np.inf if floor is None else floor for floor in self.floors])
        return np.maximum(scaled, floors[:, None])

    def unit(self, fields: Fields, conditions: Conditions) -> Fields:
        """Physical size of one unit of the model's normalized space, where the fields are these."""
        slope = self.scaling.slope(self.scaling.forward(fields, conditions), conditions)
        return np.broadcast_to(slope * self.normalizer.fields.std[:, None], fields.shape)

    def slopes(
        self, condition: Condition, widths: Condition
    ) -> tuple[Float[np.ndarray, "parameter variable point"], list[Geometry] | None]:
        """Derivatives of the mean field by every parameter, and of the mesh where it moves.

        The model's own are exact. Those of the scaling, a smooth function of the parameters alone, are central differences
        of fourth order over a thousandth of the parameters' `widths`, exact to some ten digits.
        """
        space, moving = self.space, self.space.moving
        row, coordinates = condition[None], self._coordinates(condition[None])
        normalized = self._normalized(row, coordinates)
        scaled = self.normalizer.physical(self.fitted.predict(*normalized)).mean
        rows, meshes = [], []
        for number, width in enumerate(widths):
            along = np.zeros(len(condition))
            along[number] = 1.0
            mesh = None if moving is None else moving.slope(condition, along)
            d_coordinates = np.zeros_like(coordinates)
            if mesh is not None and self.spec.seen_coordinates == PHYSICAL:
                d_coordinates = (mesh.points / self.normalizer.coordinates.std)[None]
            d_inputs = _difference(lambda at: self.inputs(at[None]), condition, along, 1e-3 * width)
            own = self.fitted.slope(*normalized, d_inputs, d_coordinates) * self.normalizer.fields.std[:, None]
            unit = np.broadcast_to(self.scaling.slope(np.asarray(scaled), row), np.shape(scaled))[0]
            rescaled = _difference(
                lambda at: np.asarray(self.scaling.inverse(np.asarray(scaled), at[None])),
                condition,
                along,
                1e-3 * width,
            )
            rows.append(unit * own + rescaled[0])
            meshes.append(mesh)
        return np.stack(rows), None if space.geometry is not None else meshes

    def mean_at(self, on_mesh: Predictive, conditions: Conditions, points: Points) -> Fields:
        """The mean at physical points: by the model itself where it predicts anywhere, else by interpolation."""
        if not self.settings.capabilities.anywhere:
            return self._interpolated(np.asarray(on_mesh.mean), conditions, points)
        found = [self._evaluate(one[None], self._model_points(one, points)).mean for one in conditions]
        return np.concatenate(found)

    def parts_at(self, on_mesh: Predictive, conditions: Conditions, points: Points) -> dict[str, Fields]:
        """The parts at points. Beyond the outermost values a line through two of them may end below zero."""
        parts = {name: self._interpolated(np.asarray(part), conditions, points) for name, part in on_mesh.parts.items()}
        return {name: np.maximum(part, 0.0) for name, part in parts.items()}

    def _coordinates(self, conditions: Conditions) -> np.ndarray:
        return self.space.coordinates(self.spec.seen_coordinates, conditions)

    def _normalized(self, conditions: Conditions, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.inputs(conditions), self.normalizer.coordinates.forward(coordinates)

    def inputs(self, conditions: Float[np.ndarray, "case given"]) -> Float[np.ndarray, "case input"]:
        """What the model is given of conditions."""
        conditions = np.asarray(conditions, float)
        inputs = self.normalizer.inputs.forward(self.scaling.inputs(conditions))
        if self.layer is None:
            return inputs
        lines = self.space.lines(conditions)
        return np.column_stack([inputs, layer_columns(self.layer, self.scaling, self.normalizer, conditions, lines)])

    def impossible(self, condition: Condition) -> str:
        """Why there is no prediction at a condition, or nothing."""
        return "" if self.layer is None else self.space.without_lines(condition)

    def _evaluate(self, conditions: Conditions, coordinates: np.ndarray) -> Predictive:
        return self.physical(self.fitted.predict(*self._normalized(conditions, coordinates)), conditions)

    def _model_points(self, condition: Condition, points: Points) -> Points:
        """Physical points in the coordinates of the model; those outside the mesh are refused."""
        stencil = self.space.locate(condition, points)
        if self.spec.seen_coordinates == PHYSICAL:
            return points
        return stencil(self._coordinates(condition[None]).T).T

    def _interpolated(
        self, fields: Float[np.ndarray, "case variable value"], conditions: Conditions, points: Points
    ) -> Fields:
        """Fields on the mesh of the runs at physical points."""
        pairs = zip(conditions, fields, strict=True)
        return np.stack([self.space.locate(condition, points)(run) for condition, run in pairs])


def _difference(
    function: Callable[[Condition], np.ndarray], at: Condition, along: Condition, step: float
) -> np.ndarray:
    """Central difference of fourth order."""
    one, two = (function(at + n * step * along) - function(at - n * step * along) for n in (1, 2))
    return (8.0 * one - two) / (12.0 * step)
