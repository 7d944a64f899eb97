"""Campaigns of many parameters: designs, meshes of their own, and parts that a store keeps apart."""

import json
import re

import numpy as np
import pytest

import sureflow as sf
from campaigns import TINY, fake_solver, run, same_files, tiny
from sureflow.campaign.campaign import Campaign, load_campaign
from sureflow.campaign.contents import follow_up
from sureflow.campaign.designs import DESIGNS, Conditions
from sureflow.errors import SureflowError
from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
from sureflow.physics.wall import WALL_KINDS

RANGES = {"mach": [8, 25], "altitude_km": [25, 55], "nose_radius": [0.05, 0.3], "wall_temperature": [500, 2500]}
SAMPLED = [name for name in DESIGNS if DESIGNS[name].samples]


def table(**values) -> np.ndarray:
    return np.array([list(row.values()) for row in Conditions(**(RANGES | values)).rows()])


def places(rows: np.ndarray) -> np.ndarray:
    """Shares of the ranges, that of the nose radius by its logarithm."""
    rows = rows.copy()
    rows[:, 2] = np.log(rows[:, 2])
    low, high = np.array([[8, 25, np.log(0.05), 500], [25, 55, np.log(0.3), 2500]])
    return (rows - low) / (high - low)


@pytest.mark.parametrize("design", SAMPLED)
def test_samples_are_repeatable_and_differ_by_seed(design):
    first, again, other = (table(design=design, runs=20, seed=seed) for seed in (1, 1, 2))
    assert first.shape == (20, 4)
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first, other).any()


@pytest.mark.parametrize("design", [name for name in SAMPLED if name != "outside"])
def test_samples_fill_the_ranges(design):
    share = places(table(design=design, runs=128))
    assert ((share >= 0) & (share <= 1)).all()
    counts = np.array([np.histogram(column, 4, (0, 1))[0] for column in share.T])
    assert counts.min() >= (16 if design == "random" else 31)  # 32 on average, and one more or less by rounding


def test_fewer_sobol_runs_are_the_first_of_more():
    np.testing.assert_array_equal(table(design="sobol", runs=10), table(design="sobol", runs=100)[:10])


def test_outside_means_outside_of_one_or_two_ranges_by_the_given_share():
    rows = table(design="outside", runs=60, beyond=(0.05, 0.25))
    share = places(rows)
    away = np.maximum(-share, share - 1.0)
    assert set((away > 0).sum(axis=1)) == {1, 2}
    assert away[away > 0].min() > 0.0499
    assert away.max() < 0.2501
    assert rows[:, 3].min() >= 200.0  # no colder wall, though the range would allow it


def test_a_grid_and_a_list_may_vary_body_and_wall():
    grid = {"mach": [10], "altitude_km": [40], "nose_radius": [0.1, 0.2], "wall_kind": ["isothermal", "adiabatic"]}
    listed = {"cases": [{"mach": 12, "altitude_km": 41, "length": 2.0}, [13, 42]]}
    campaign = Campaign.from_dict(TINY | {"conditions": [grid, {"cases": listed["cases"][:1]}]}, "mixed")
    assert campaign.parameter_names == ("mach", "altitude_km", "nose_radius", "length", "wall_kind")
    assert (campaign.meshes, len(campaign.rows())) == ("fitted", 5)
    condition, body, wall = campaign.setup(campaign.rows()[-1])
    assert (condition.mach, body, wall.kind) == (12.0, SphereCone(length=2.0), "isothermal")
    assert {campaign.setup(row).wall.kind for row in campaign.rows()} == {"isothermal", "adiabatic"}
    assert [row[-1] for row in campaign.rows()].count(float(WALL_KINDS.index("adiabatic"))) == 2


def family(**changes) -> Campaign:
    ranges = {name: RANGES[name] for name in ("mach", "altitude_km", "nose_radius")}
    parts = [
        {"name": "train", "design": "sobol", "runs": 6, **ranges},
        {"name": "in_domain", "design": "random", "runs": 3, "seed": 1, **ranges},
    ]
    mesh = {"cells": [8, 8], "wall_spacing": 1e-4}
    return Campaign.from_dict({"conditions": parts, "mesh": mesh, **changes}, "family")


def test_every_run_has_a_mesh_fitted_to_its_body_and_mach_number(tmp_path):
    campaign = family()
    run(tmp_path / "runs.zarr", campaign)
    runs = sf.open_runs(tmp_path / "runs.zarr")
    assert runs.is_moving
    assert [item.scale for item in runs.header.parameters] == ["linear", "linear", "log"]
    for case, (mach, _, radius) in enumerate(runs.parameters.tolist()):
        settings = MeshSettings(cells=(8, 8), wall_spacing=1e-4, mach=mach)
        mesh = body_mesh(SphereCone(nose_radius=radius), settings)
        nodes = runs.geometry_of(case).nodes
        assert nodes is not None
        np.testing.assert_array_equal(nodes, np.stack([mesh.node_x.ravel(), mesh.node_r.ravel()], axis=1))


def test_parts_are_kept_apart_in_the_store(tmp_path):
    campaign = family()
    store = run(tmp_path / "runs.zarr", campaign)
    part = store.numbers()[:, [number.name for number in store.header.numbers].index("part")]
    train = {tuple(row.values()) for row in campaign.conditions[0].rows()}
    for row, number in zip(store.parameters().tolist(), part, strict=True):
        assert store.header.made_by["parts"][int(number)] == ("train" if tuple(row) in train else "in_domain")


def test_a_store_says_what_its_runs_were_drawn_from(tmp_path):
    path = tmp_path / "runs.zarr"
    store = run(path, family())
    ranges = {name: tuple(map(float, RANGES[name])) for name in ("mach", "altitude_km", "nose_radius")}
    assert [(one.part, one.ranges) for one in store.header.drawn_from] == [("train", ranges), ("in_domain", ranges)]
    assert load_campaign("family").drawn_from[-1].part == "in_domain"  # not the part that is drawn outside
    assert tiny().drawn_from == ()
    marks = json.loads((path / "zarr.json").read_text())
    del marks["attributes"]["header"]["drawn_from"]
    (path / "zarr.json").write_text(json.dumps(marks))
    again = run(path, family())  # a store of an earlier version learns it from its own campaign
    assert again.header.drawn_from == store.header.drawn_from
    assert sf.open_runs(path).header.drawn_from == store.header.drawn_from


def test_interrupted_continued_and_longer_it_is_the_same_store(tmp_path):
    one, other = tmp_path / "one.zarr", tmp_path / "other.zarr"
    more = [(11.0, 30.0, 0.07), (20.0, 51.0, 0.21)]
    for path in (one, other):
        run(path, family())
        run(path, family(), shard=(1, 2))
    solver = fake_solver(family())
    run(one, follow_up(one, more), solver)
    assert sorted(solver.solved) == [row[:2] for row in more]
    for shard in (2, 1):
        run(other, follow_up(other, more), shard=(shard, 2))
    assert same_files(one, other)


def test_the_family_preset_is_the_one_of_the_study():
    campaign = load_campaign("family")
    assert campaign.parameter_names == ("mach", "altitude_km", "nose_radius", "half_angle_deg", "wall_temperature")
    parts = [campaign.part_of(row) for row in campaign.rows()]
    assert [parts.count(part) for part in (0.0, 1.0, 2.0)] == [300, 80, 40]


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"design": "sobl", "runs": 5, **RANGES}, "design='sobl' is not one of grid, list, sobol"),
        ({"design": "sobol", **RANGES}, "the design sobol needs the number of runs"),
        ({"runs": 5, **RANGES}, "the design grid has no use for the number of runs: leave it out"),
        ({"design": "sobol", "runs": 5, **RANGES, "mach": [25, 8]}, "mach=[25.0, 8.0] must be a range [low, high]"),
        ({"design": "sobol", "runs": 5, **RANGES, "mach": [8, 9, 10]}, "must be a range [low, high]"),
        ({"design": "sobol", "runs": 5, **RANGES, "nose_radius": [0, 1]}, "nose_radius=[0.0, 1.0] must be positive"),
        ({"design": "random", "runs": 5, **RANGES, "wall_kind": ["slip"]}, "wall_kind cannot be sampled"),
        ({"design": "random", "runs": 200_000, **RANGES}, "there are 200,000 conditions"),
        (
            {
                "mach": [5 + 0.005 * number for number in range(3000)],
                "altitude_km": [20 + 0.01 * n for n in range(3000)],
            },
            "there are 9,000,000 conditions, and a campaign has at most 100,000: give fewer values",
        ),
        ({"cases": [{"mach": 12, "nose_radius": 0.1}]}, "needs a mach and an altitude_km"),
        ({"cases": [{"mach": 12, "altitude_km": 30, "radius": 1}]}, "radius is not one of mach, altitude_km"),
        ({"cases": [{"mach": 12, "altitude_km": "slip"}]}, "altitude_km='slip' is not a number"),
        ({"mach": [12], "altitude_km": [30], "half_angle_deg": [80]}, "half_angle_deg=80 is outside 0..60"),
        ({"mach": [12], "altitude_km": [30], "wall_temperature": [-5]}, "wall temperature=-5 K is outside"),
    ],
)
def test_mistakes_are_named(part, sentence):
    with pytest.raises(SureflowError, match=re.escape(sentence)):
        Campaign.from_dict(TINY | {"conditions": [part]}, "tiny")


def test_one_mesh_does_not_fit_bodies_that_vary():
    with pytest.raises(SureflowError, match=r"meshes=.shared. does not fit bodies that vary"):
        family(meshes="shared")
