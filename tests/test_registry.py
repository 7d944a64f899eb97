"""Registries: choices by name, in files and by a user's own code."""

import sys
from abc import ABC
from dataclasses import FrozenInstanceError
from typing import Annotated, ClassVar

import pytest
from pydantic import PositiveInt

from sureflow.data.scaling import SCALINGS
from sureflow.data.splits import SPLITS
from sureflow.data.streams import STREAMS
from sureflow.errors import SureflowError
from sureflow.export.exporters import EXPORTERS
from sureflow.flow.riemann import FLUXES
from sureflow.heads import HEADS
from sureflow.models import MODELS, NETWORKS
from sureflow.physics.gases import GASES
from sureflow.registry import Registry, SettingsRegistry
from sureflow.samplers import SAMPLERS
from sureflow.train.networks import Networks
from sureflow.validation import parse_toml, plain, settings, to_toml, validated


class Shape(ABC):
    name: ClassVar[str]


SHAPES = SettingsRegistry("shape", Shape)


@SHAPES.add
@settings
class Circle(Shape):
    name: ClassVar[str] = "circle"
    radius: float = 1.0


@SHAPES.add
@settings
class Box(Shape):
    name: ClassVar[str] = "box"
    sides: tuple[PositiveInt, ...] = (1, 2)
    inside: Annotated[Shape, SHAPES] | None = None


@settings
class Drawing:
    shape: Annotated[Shape, SHAPES] = Circle()


def test_built_in_entries_are_where_they_belong():
    assert {*MODELS} >= {"interpolation", "pod-gp", "pod-deeponet", Networks.name}
    assert {*NETWORKS} >= {"deeponet"}
    assert {*HEADS} >= {"deterministic", "mve", "evidential"}
    assert {*SAMPLERS} >= {"ensemble"}
    assert {*SCALINGS} >= {"none", "freestream", "log-density"}
    assert {*STREAMS} >= {"flight", "columns"}
    assert {*SPLITS} >= {"all", "random", "paper"}
    assert {*GASES} >= {"perfect"}
    assert {*FLUXES} >= {"hlle", "hllc", "hllc-hlle"}
    assert {*EXPORTERS} >= {".nc", ".zarr", ".csv", ".vts", ".vtu", ".png"}


@pytest.mark.parametrize("registry", [MODELS, NETWORKS, HEADS, SAMPLERS, SCALINGS, STREAMS, SPLITS, GASES])
def test_classes_stand_under_their_own_name_and_have_the_base_of_their_kind(registry):
    for name in registry:
        assert getattr(registry[name], registry.key) == name
        assert issubclass(registry[name], registry.base)


def test_an_entry_is_found_by_its_name():
    numbers = Registry[int]("number")
    assert numbers.register("one", 1) == 1
    assert numbers["one"] == 1
    assert "one" in numbers
    assert "two" not in numbers
    assert [*numbers] == ["one"]


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(SureflowError, match=r"^shape='circel' is not one of circle, box; did you mean circle\?$"):
        SHAPES["circel"]
    with pytest.raises(SureflowError, match=r"^shape='xyz' is not one of circle, box$"):
        SHAPES["xyz"]
    with pytest.raises(SureflowError, match=r"^shape='x{80}\.\.\.' is not one of"):
        SHAPES["x" * 1000]


def test_a_name_is_given_once():
    registry = Registry[object]("thing")
    first = object()
    registry.register("name", first)
    registry.register("name", first)  # as when a module is imported again
    with pytest.raises(SureflowError, match="the thing 'name' is registered already: choose another name"):
        registry.register("name", object())
    assert registry["name"] is first


def test_entries_may_be_registered_when_they_are_first_asked_for(tmp_path, monkeypatch):
    (tmp_path / "module_of_a_square.py").write_text(
        "import test_registry_things as t\nt.THINGS.register('square', 4)\n"
    )
    (tmp_path / "test_registry_things.py").write_text(
        "from sureflow.registry import Registry\nTHINGS = Registry('thing')\n"
        "THINGS.later('square', 'module_of_a_square')\nTHINGS.register('line', 1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import test_registry_things as module

    assert "square" in module.THINGS
    assert {*module.THINGS} == {"line", "square"}
    assert "module_of_a_square" not in sys.modules
    assert module.THINGS["square"] == 4
    assert [*module.THINGS].count("square") == 1


def test_the_modules_of_later_entries_register_them():
    for registry in (SPLITS, EXPORTERS, MODELS, HEADS, FLUXES):
        for name in registry:
            assert registry[name] is registry.entries[name]


@pytest.mark.parametrize("given", ["box", {"name": "box"}, {"name": "box", "sides": [1, 2]}, Box()])
def test_a_choice_is_a_name_a_table_or_the_thing_itself(given):
    assert validated(Drawing, {"shape": given}).shape == Box()


@pytest.mark.parametrize("shape", [Circle(), Circle(2.5), Box((3,)), Box((3, 4), inside=Box(inside=Circle(0.1)))])
def test_choices_survive_files(shape):
    drawing = Drawing(shape)
    assert validated(Drawing, plain(drawing)) == drawing
    assert validated(Drawing, parse_toml(to_toml(drawing), "drawing.toml")) == drawing
    assert SHAPES.build(SHAPES.describe(shape)) == shape


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "circle", "radios": 2}, r"shape.radios is not a setting; did you mean radius\?"),
        ({"name": "circle", "radius": "wide"}, r"shape.radius='wide' must be a valid number"),
        ({"name": "circle", "radius": float("nan")}, r"shape.radius=nan must be a finite number"),
        ({"name": "box", "sides": [1, 0]}, r"shape.sides.1=0 must be greater than 0"),
        ({"name": "box", "inside": {"name": "box", "sides": [0]}}, r"shape.inside.sides.0=0 must be greater"),
        ({"name": "box", "inside": {"radius": 1}}, r"shape.inside.name is missing"),
        ({"name": "bux"}, r"shape.name='bux' is not one of circle, box; did you mean box\?"),
        ({"name": 3}, r"shape.name='3' is not one of circle, box"),
        ({"radius": 1}, r"shape.name is missing"),
        (3, r"shape: give the name of a shape or a table with its settings"),
        (None, r"shape: give the name of a shape or a table with its settings"),
    ],
)
def test_mistakes_in_a_choice_are_explained(given, message):
    with pytest.raises(SureflowError, match=rf"^drawing.toml: {message}"):
        validated(Drawing, {"shape": given}, "drawing.toml")


def test_all_mistakes_are_named_at_once():
    with pytest.raises(SureflowError, match=r"shape.radius=-?'a'.*; color is not a setting; known: shape"):
        validated(Drawing, {"shape": {"name": "circle", "radius": "a"}, "color": 1})


def test_settings_are_frozen_hashable_and_equal_by_value():
    assert {Circle(2.0), Circle(2), Circle(3)} == {Circle(2.0), Circle(3.0)}
    with pytest.raises(FrozenInstanceError):
        Circle().radius = 3.0  # type: ignore[misc]
    with pytest.raises(SureflowError, match=r"radios is not a setting; did you mean radius\?"):
        Circle(radios=1)  # type: ignore[call-arg]
