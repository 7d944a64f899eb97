import re

import pytest

from campaigns import TINY, TINY_TOML
from sureflow.campaign.campaign import Campaign, load_campaign
from sureflow.errors import SureflowError


def test_the_paper_preset_is_the_study():
    campaign = load_campaign("paper")
    pairs = campaign.rows()
    assert len(pairs) == 441
    assert {mach for mach, _ in pairs} == set(range(10, 31))
    assert {altitude for _, altitude in pairs} == set(range(20, 61, 2))
    assert campaign.mesh.cells == (64, 64)
    assert campaign.mesh.mach == 10.0


def test_the_quick_preset_has_runs_in_every_domain():
    pairs = load_campaign("quick").rows()
    inside = [(m, a) for m, a in pairs if 12 <= m <= 28 and 26 <= a <= 54]
    assert len(inside) >= 12
    assert (25.0, 46.0) in pairs
    assert sum(m in (29, 30) for m, _ in pairs) >= 4
    assert sum(m in (10, 11) for m, _ in pairs) >= 4
    assert sum(a in (56, 58, 60) for _, a in pairs) >= 4
    assert sum(a in (20, 22, 24) for _, a in pairs) >= 4
    assert set(pairs) <= set(load_campaign("paper").rows())


@pytest.mark.parametrize("name", ["family", "paper", "quick"])
def test_presets_have_conditions_and_a_mesh_that_exist(name):
    campaign = load_campaign(name)
    assert campaign.build_mesh().shape == campaign.mesh.cells[::-1]
    assert campaign.description


def test_a_file_of_the_users_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TINY_TOML)
    campaign = load_campaign(str(path))
    assert campaign == Campaign.from_dict(TINY, "tiny")
    assert campaign.mesh.mach == 18.0


def test_conditions_may_be_a_list_beside_grids():
    grid, listed = {"mach": [18, 20], "altitude_km": [40]}, {"cases": [[19, 41], [20, 40], [18.5, 42.5]]}
    campaign = Campaign.from_dict(TINY | {"conditions": [grid, listed]}, "tiny")
    assert campaign.rows() == [(18, 40), (18.5, 42.5), (19, 41), (20, 40)]
    assert campaign.mesh.mach == 18.0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"conditions": [{"mach": [20], "cases": [[20, 40]]}]}, "mach and altitude_km for a grid, or cases as a list"),
        ({"conditions": [{"cases": [[20, 40, 1]]}]}, "tiny: conditions.0.cases.0"),
        ({"conditions": [{"cases": [[20, 90]]}]}, "tiny: altitude=90 km is outside 0..86 km"),
        ({"mesh": {"cels": [16, 16]}}, "tiny: mesh.cels is not a setting; did you mean cells?"),
        ({"wal": {}}, "tiny: wal is not a setting; did you mean wall?"),
        ({"conditions": [{"mach": [20], "altitude": [40]}]}, "altitude_km"),
        ({"conditions": []}, "tiny: conditions: give at least one"),
        ({"conditions": [{"mach": [50], "altitude_km": [40]}]}, "mach=50 is outside 2..40"),
        ({"conditions": [{"mach": [float("nan")], "altitude_km": [40]}]}, "finite number"),
        ({"wall": {"kind": "sticky"}}, "wall.kind='sticky'"),
        ({"mesh": {"cells": [0, 0]}}, "cells=0x0 is outside"),
        ({"mesh": {"mach": 25}}, "mesh.mach=25 is above the campaign's lowest Mach number 18"),
        ({"conditions": [{"mach": [0.5], "altitude_km": [40]}]}, "tiny: mach=0.5 is outside 2..40"),
        ({"mesh": {"mach": 1}}, "tiny: mach=1 of the mesh is below 1.2"),
        ({"mesh": {"wall_spacing": 1e-30}}, "tiny: wall_spacing=1e-30 m must be 1e-8 m or more"),
        ({"mesh": {"nose_cell": 0}}, "tiny: nose_cell=0 nose radii is outside 1e-4..1"),
        ({"mesh": {"base_margin": 1}}, "tiny: base_margin=1 must be above 1"),
        ({"gas": {"gamma": 1}}, "tiny: gamma=1 of the gas is outside 1.05..5/3"),
        ({"gas": {"gamma": 0.5}}, "tiny: gamma=0.5 of the gas is outside 1.05..5/3"),
        ({"gas": {"prandtl": 0}}, "tiny: prandtl=0 of the gas must be a positive number"),
        ({"gas": {"gas_constant": -1}}, "tiny: gas_constant=-1 of the gas must be a positive number"),
        ({"gas": {"model": "helium"}}, "gas.model='helium'"),
        ({"solver": {"toleranc": 1}}, "tiny: solver.toleranc is not a setting; did you mean tolerance?"),
        ({"mesh": 3}, "mesh=3"),
        (
            {"conditions": [{"mach": 10, "altitude_km": [40]}]},
            "tiny: conditions.0.mach=10 must be a valid list",
        ),
        ({"conditions": {"mach": [10], "altitude_km": [40]}}, "tiny: conditions must be a valid list"),
        ({"solver": {"most_steps": -3}}, "tiny: most_steps=-3 of the solver must be positive"),
    ],
)
def test_mistakes_are_named(changes, sentence):
    with pytest.raises(SureflowError, match=re.escape(sentence)):
        Campaign.from_dict(TINY | changes, "tiny")


@pytest.mark.parametrize(
    ("preset", "sentence"),
    [
        ("papr", "preset 'papr' is not one of adiabatic, family, paper, quick; did you mean paper?"),
        ("xyz", "preset 'xyz' is not one of adiabatic, family, paper, quick, and no path of a TOML file"),
        ("nowhere.toml", "nowhere.toml cannot be read (No such file or directory)"),
    ],
)
def test_unknown_presets(preset, sentence):
    with pytest.raises(SureflowError, match=re.escape(sentence)):
        load_campaign(preset)


def test_a_file_that_is_not_toml(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("mach = [")
    with pytest.raises(SureflowError, match="is not valid TOML"):
        load_campaign(str(path))
