"""The store of a campaign: how it is made, opened again, and made longer by a campaign that follows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sureflow.campaign.campaign import Campaign
from sureflow.campaign.designs import PARAMETERS
from sureflow.campaign.lock import StoreLock
from sureflow.campaign.versions import versions
from sureflow.data.disk import remove_store
from sureflow.data.drawn import PART
from sureflow.data.header import Header, Variable
from sureflow.data.layout import Contents, level_path
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.run_store import RunStore
from sureflow.data.streams import Flight
from sureflow.errors import SureflowError
from sureflow.flow.mesh import FlowMesh
from sureflow.flow.solution import RECORD_UNITS
from sureflow.flow.solve import scheme, solver_settings
from sureflow.physics.gases import describe_gas
from sureflow.physics.quantities import FIELD_UNITS
from sureflow.physics.wall import WALL_KINDS
from sureflow.validation import plain

# Nodes are found by iterations that may end elsewhere in their last digits; in body lengths.
SAME_NODES = 1e-12


def campaign_contents(campaign: Campaign, mesh: FlowMesh) -> Contents:
    """Everything of a store that is settled before its first run; a mesh that is fitted to every run stands for all."""
    fitted, parts = campaign.meshes == "fitted", campaign.parts
    refinement = {} if campaign.refinement == 1.0 else {"refinement": campaign.refinement}
    description = {"body": plain(campaign.body), "settings": plain(campaign.mesh), "axisymmetric": mesh.axisymmetric}
    header = Header(
        parameters=tuple(PARAMETERS[name] for name in campaign.parameter_names),
        fields=tuple(Variable(name, unit) for name, unit in FIELD_UNITS.items()),
        axes=("x", "r"),
        numbers=tuple(Variable(name, unit) for name, unit in (RECORD_UNITS | ({PART: "1"} if parts else {})).items()),
        stream=Flight(campaign.gas),
        drawn_from=campaign.drawn_from,
        made_by={
            "gas": describe_gas(campaign.gas),
            "wall": plain(campaign.wall),
            "mesh": description | {"fitted": True} | refinement if fitted else mesh.description(),
            "scheme": scheme(campaign.solver),
            **({"parts": parts} if parts else {}),
        },
    )
    return Contents(
        header, campaign.table(), Topology(mesh.shape), geometry_of(mesh), is_moving=fitted, versions=versions()
    )


def geometry_of(mesh: FlowMesh) -> Geometry:
    return Geometry.blocks(mesh.centers, (mesh.node_x, mesh.node_r))


def make_or_open(
    lock: StoreLock, path: Path, campaign: Campaign, *, overwrite: bool
) -> tuple[RunStore, FlowMesh, list[int]]:
    """The store of a campaign, its mesh, and which of its cases are the campaign's.

    A store whose runs were made otherwise is refused, or deleted if that was asked for. Conditions that are not in it yet are
    added to it, and so are ranges that they are drawn from.
    """
    if overwrite and path.exists():
        with lock.everything():
            remove_store(path)
    if not path.exists():
        mesh = campaign.build_mesh()
        return RunStore.create(path, campaign_contents(campaign, mesh)), mesh, list(range(len(campaign.rows())))
    store = RunStore.open(path, writable=True)
    mesh = mesh_of_store(store, campaign)
    store.refuse_other_contents(replace(campaign_contents(campaign, mesh), parameters=store.parameters()))
    if store.lacks_designs(campaign.drawn_from):
        with lock.everything():
            store.keep_designs(campaign.drawn_from)
    stored = [tuple(row) for row in store.parameters().tolist()]
    missing = [row for row in campaign.rows() if row not in set(stored)]
    if missing:
        with lock.everything():
            store.append(np.array(missing))
    place = {row: case for case, row in enumerate([*stored, *missing])}
    return store, mesh, [place[row] for row in campaign.rows()]


def mesh_of_store(store: RunStore, campaign: Campaign) -> FlowMesh:
    """The mesh of a store if the campaign can use it, else the campaign's own.

    It can if the two differ in nothing but the Mach number that they were fitted to, and the store's is the lower one: its
    outer boundary then lies outside of the campaign's shocks.
    """
    if campaign.meshes == "fitted" or store.is_moving:
        return campaign.build_mesh()
    mesh = (store.header.made_by.get("mesh") or {}).get("settings") or {}
    fitted_to = mesh.get("mach", math.inf)
    if fitted_to < campaign.mesh.mach:
        campaign = replace(campaign, mesh=replace(campaign.mesh, mach=fitted_to))
    ours, nodes = campaign.build_mesh(), store.geometry().nodes
    if nodes is not None and nodes.shape == (ours.node_x.size, 2):
        theirs = nodes.T.reshape(2, *ours.node_x.shape)
        if np.allclose(theirs, [ours.node_x, ours.node_r], rtol=0.0, atol=SAME_NODES * campaign.body.length):
            return replace(ours, node_x=theirs[0], node_r=theirs[1])
    return ours


def follow_up(path: Path, conditions: Sequence[Sequence[float]], levels: Sequence[int] = ()) -> Campaign:
    """A campaign of further conditions, each a row of the store's parameters, with all the settings that made a store.

    `run_campaign` with the same path adds them to that store. `levels` say on which mesh each is computed; a condition is then
    computed on all coarser meshes of the store as well.
    """
    header = RunStore.open(path).header
    made_by, mesh = header.made_by, header.made_by.get("mesh")
    if not mesh or "scheme" not in made_by or list(mesh)[:3] != ["body", "settings", "axisymmetric"]:
        raise SureflowError(
            f"{path} was not made by a campaign, so its settings are unknown: give a store that sureflow generated"
        )
    at = list(levels) or [0] * len(conditions)
    rows = {level: [row for row, own in zip(conditions, at, strict=True) if own == level] for level in sorted({*at})}
    coarsest = 0
    while levels and level_path(path, coarsest + 1).exists():
        coarsest += 1
    if coarsest:
        rows[coarsest] = list(conditions)
    values = {
        "conditions": [
            {"cases": [_case(header.parameter_names, row) for row in some]} | ({"level": level} if level else {})
            for level, some in rows.items()
        ],
        "meshes": "fitted" if mesh.get("fitted") else "shared",
        "refinement": mesh.get("refinement", 1.0),
        "parts": made_by.get("parts", ()),
        "body": mesh["body"],
        "mesh": mesh["settings"],
        "gas": made_by["gas"],
        "wall": made_by["wall"],
        "solver": plain(solver_settings(made_by["scheme"])),
    }
    return Campaign.from_dict(values, f"a campaign that follows {path}")


def _case(names: Sequence[str], row: Sequence[float]) -> dict[str, float | str]:
    """A condition as a campaign file has it."""
    values: dict[str, float | str] = dict(zip(names, row, strict=True))
    return values | ({"wall_kind": WALL_KINDS[int(values["wall_kind"])]} if "wall_kind" in values else {})
