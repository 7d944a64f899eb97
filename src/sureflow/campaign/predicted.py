"""Predicted fields as the start of the solver that made a model's runs: the march then has little left to do."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sureflow.campaign.campaign import Campaign
from sureflow.data.schema import first_difference
from sureflow.errors import SureflowError
from sureflow.flow.mesh import FlowMesh, MeshSettings, SphereCone
from sureflow.flow.solution import FlowSolution
from sureflow.flow.solve import Start, solve_flow, solver_settings
from sureflow.flow.steer import Report, SolverSettings
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import Gas
from sureflow.physics.quantities import FIELD_UNITS
from sureflow.physics.wall import Wall
from sureflow.surrogate.artifact import load
from sureflow.surrogate.model import Surrogate
from sureflow.uq.domain import Trust
from sureflow.validation import plain, validated

# A prediction may undershoot: density and temperature are kept above this share of the free stream's.
LEAST = 0.2


class NoStart(SureflowError):
    """A condition that is too far from the runs of the model."""


@dataclass(frozen=True)
class PredictedStarts:
    """A model of a campaign's runs, with the mesh, gas, wall and scheme that made them."""

    surrogate: Surrogate
    mesh: FlowMesh
    gas: Gas
    wall: Wall
    settings: SolverSettings

    @classmethod
    def of(cls, surrogate: Surrogate) -> "PredictedStarts":
        """Refused of models of other runs than a campaign's, since their solver is not ours."""
        header, geometry = surrogate.header, surrogate.space.geometry
        made_by, shape, gas = header.made_by, surrogate.space.topology.shape, header.gas
        mesh = made_by.get("mesh") or {}
        known = {"wall", "scheme"} <= made_by.keys() and mesh.get("body") and mesh.get("settings")
        if not known or gas is None or shape is None or geometry is None or header.names != tuple(FIELD_UNITS):
            raise SureflowError(
                "this model was not trained on runs of a campaign, so that their mesh and solver are unknown: start from a "
                "model of runs that sureflow generated"
            )
        node_x, node_r = (geometry.grid(axis, shape) for axis in (0, 1))
        body = validated(SphereCone, mesh["body"], "body")
        fitted = FlowMesh(node_x, node_r, body, validated(MeshSettings, mesh["settings"], "mesh"), mesh["axisymmetric"])
        wall = validated(Wall, made_by["wall"], "wall")
        return cls(surrogate, fitted, gas, wall, solver_settings(made_by["scheme"]))

    def start(self, condition: FlightCondition) -> Start:
        """The predicted fields at a condition; one that is too far from the training runs is refused."""
        asked = self.surrogate.conditions({"mach": condition.mach, "altitude_km": condition.altitude_km})
        verdict = self.surrogate.place(asked, extrapolate=True).verdicts[0]
        if verdict.trust is Trust.REFUSED:
            raise NoStart(f"the model gives no start here ({verdict.reason}): solve without one")
        u1, u2, rho, temperature = np.asarray(self.surrogate.predictor(asked).mean)[0].reshape(4, *self.mesh.shape)
        stream = condition.free_stream(self.gas)
        rho = np.maximum(rho, LEAST * stream.density(self.gas))
        return Start(np.stack([u1, u2, rho, np.maximum(temperature, LEAST * stream.temperature)]), stream)

    def solve(self, condition: FlightCondition, progress: Report | None = None) -> FlowSolution:
        """The flow at a condition on the mesh of the model's runs, from what the model predicts."""
        return solve_flow(
            condition,
            self.mesh,
            gas=self.gas,
            wall=self.wall,
            start=self.start(condition),
            settings=self.settings,
            progress=progress,
        )

    def on_own_mesh(self, campaign: Campaign) -> Campaign:
        """The campaign on the mesh of the model's runs, which may be fitted to a lower Mach number; others are refused."""
        lower = min(self.mesh.settings.mach, campaign.mesh.mach) if self.mesh.settings else campaign.mesh.mach
        campaign = replace(campaign, mesh=replace(campaign.mesh, mach=lower))
        self.require_mesh(campaign.build_mesh())
        return campaign

    def require_mesh(self, mesh: FlowMesh) -> None:
        """Refuse a campaign on another mesh: fields of one cell are no start for another."""
        same = mesh.shape == self.mesh.shape and np.allclose(
            [mesh.node_x, mesh.node_r], [self.mesh.node_x, self.mesh.node_r], rtol=0.0, atol=1e-9
        )
        if not same:
            raise SureflowError(
                f"the campaign has another mesh than the model's runs ({self._difference(mesh)}): give it the same mesh, or "
                "start without a model"
            )

    def _difference(self, mesh: FlowMesh) -> str:
        """The first setting of the mesh or the body that differs, as a campaign names it."""
        for name, ours, theirs in (
            ("mesh", mesh.settings, self.mesh.settings),
            ("body", mesh.body, self.mesh.body),
        ):
            if found := first_difference(plain(ours), plain(theirs), name):
                return found
        return "their nodes differ"


def load_starts(folder: Path) -> PredictedStarts:
    """Of the model in a folder."""
    return PredictedStarts.of(load(folder))
