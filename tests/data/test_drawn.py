"""Ranges that runs were drawn from: where conditions are inside though no run reaches as far."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sureflow as sf
from sureflow.data.drawn import drawn_ranges, estimated_ranges
from sureflow.data.runs import Runs
from sureflow.data.splits import CampaignParts
from sureflow.data.store import add_runs
from sureflow.errors import SureflowError

RANGES = {"angle": (0.0, 10.0), "size": (0.01, 1.0)}


def drawn(count: int = 40, seed: int = 0, angles: tuple[float, float] = RANGES["angle"], **changes) -> Runs:
    rng, x = np.random.default_rng(seed), np.linspace(0, 1, 5)[:, None]
    angle = rng.uniform(angles[0], angles[1], count)
    size = np.exp(rng.uniform(np.log(0.01), np.log(1.0), count))
    given = {"drawn_from": RANGES | {"angle": angles}, "logarithmic": ["size"], **changes}
    fields = {"p": np.sin(angle[:, None] + x[:, 0]) * size[:, None]}
    return Runs.from_arrays({"angle": angle, "size": size}, x, fields, **given)


def verdicts(runs: Runs, *conditions: tuple[float, float]) -> list[str]:
    surrogate = sf.fit(runs, model="interpolation", calibrate=False)
    return [verdict.trust for verdict in surrogate.place(np.array(conditions), extrapolate=True).verdicts]


def test_a_condition_between_the_runs_and_the_ends_of_their_ranges_is_inside_and_no_other():
    runs = drawn()
    beyond_runs = runs.parameters[:, 0].max() + 1e-3
    assert beyond_runs < 10.0
    asked = [(beyond_runs, 0.1), (10.0, 0.1), (10.01, 0.1), (5.0, 0.0099)]
    assert verdicts(runs, *asked) == ["inside", "inside", "extrapolated", "extrapolated"]


def test_ranges_that_nobody_told_are_estimated_and_the_verdict_says_so():
    runs = drawn(drawn_from=None)
    ends = estimated_ranges(runs.header, runs.parameters)
    low, high = ends["angle"]
    share = (4 / (0.05 * 41)) ** (1 / 39) - 1
    assert high == pytest.approx(runs.parameters[:, 0].max() + share * np.ptp(runs.parameters[:, 0]))
    assert low >= 0.0  # as all runs are
    assert np.log(ends["size"][0] / runs.parameters[:, 1].min()) == pytest.approx(
        -share * np.ptp(np.log(runs.parameters[:, 1]))
    )
    surrogate = sf.fit(runs, model="interpolation", calibrate=False)
    asked = np.array([[runs.parameters[:, 0].max() + 1e-3, 0.1], [high + 1e-3, 0.1]])
    inside, beyond = surrogate.place(asked, extrapolate=True).verdicts
    assert inside.trust == "inside"
    assert f"but within {low:.4g}..{high:.4g}, the range estimated from them" in inside.reason
    assert beyond.trust == "extrapolated"


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(0.0, 1.0, 12) ** 1.0 / 7.0,
        np.geomspace(1.0, 7.0, 12),
        [0.0, 2.0, 5.0, 10.0, 15.0, 17.5, 20.0],
        np.repeat(np.random.default_rng(0).uniform(size=4), 3),
    ],
    ids=["even", "geometric", "round", "repeated"],
)
def test_values_that_somebody_chose_are_the_ends(values):
    x = np.linspace(0, 1, 5)[:, None]
    runs = Runs.from_arrays(
        {"a": np.asarray(values)},
        x,
        {"p": np.sin(np.asarray(values)[:, None] + x[:, 0])},
        logarithmic=["a"] if np.min(values) > 0 else [],
    )
    assert estimated_ranges(runs.header, runs.parameters) == {}


def test_a_declared_range_is_not_estimated():
    runs = drawn(drawn_from=None, ranges={"angle": (-1.0, 12.0)})
    assert [*estimated_ranges(runs.header, runs.parameters)] == ["size"]


def test_nothing_is_refused_beyond_the_ranges_that_runs_were_drawn_from():
    surrogate = sf.fit(drawn(), model="interpolation", calibrate=False)
    assert np.isfinite(surrogate.predict(angle=10.5, size=0.1, extrapolate=True).p).all()
    assert surrogate.header.limits == {}


def test_a_selection_that_stays_away_from_an_end_does_not_know_the_range():
    runs = drawn(200)
    low = runs.select(runs.parameters[:, 0] < 5.0)
    found = drawn_ranges(low.header, low.parameters)
    assert found["angle"] == (0.0, low.parameters[:, 0].max())
    assert found["size"] == RANGES["size"]  # which the logarithm tells
    assert verdicts(low, (6.0, 0.1)) == ["extrapolated"]


def test_runs_beyond_the_ranges_widen_them():
    runs = Runs.join([drawn(), drawn(5, seed=1, angles=(12.0, 13.0), drawn_from=None)])
    assert drawn_ranges(runs.header, runs.parameters)["angle"] == (0.0, runs.parameters[:, 0].max())


def test_joined_sets_have_the_ranges_of_both():
    runs = Runs.join([drawn(), drawn(20, seed=1, angles=(10.0, 20.0))])
    assert drawn_ranges(runs.header, runs.parameters)["angle"] == (0.0, 20.0)
    train, test = runs.split(test=0.3)
    for part in (train, test):
        assert drawn_ranges(part.header, part.parameters)["angle"] == (0.0, 20.0)


def test_stores_and_models_keep_them(tmp_path):
    drawn().save(tmp_path / "runs.zarr")
    add_runs(tmp_path / "runs.zarr", drawn(20, seed=1, angles=(10.0, 20.0)))
    runs = sf.open_runs(tmp_path / "runs.zarr")
    assert drawn_ranges(runs.header, runs.parameters)["angle"] == (0.0, 20.0)
    sf.fit(runs, model="interpolation", calibrate=False).save(tmp_path / "model")
    assert [ends[0] for ends in sf.load(tmp_path / "model").domain.ranges] == [0.0, 20.0]


def test_runs_that_are_open_can_be_read_when_others_of_other_ranges_are_added(tmp_path):
    drawn().save(tmp_path / "runs.zarr")
    opened = sf.open_runs(tmp_path / "runs.zarr")
    add_runs(tmp_path / "runs.zarr", drawn(20, seed=1, angles=(10.0, 20.0)))
    np.testing.assert_array_equal(opened.fields[3], drawn().fields[3])


@pytest.mark.parametrize("count", [6, 9, 12])
def test_few_runs_of_half_a_range_do_not_know_the_other_half(count):
    runs = drawn(200)
    half = runs.select(np.flatnonzero(runs.parameters[:, 0] < 5.0)[:count])
    assert drawn_ranges(half.header, half.parameters)["angle"][1] < 5.0


def test_a_store_that_says_nothing_of_ranges_is_read(tmp_path):
    drawn().save(tmp_path / "runs.zarr")
    marks = Path(tmp_path, "runs.zarr", "zarr.json")
    content = json.loads(marks.read_text())
    del content["attributes"]["header"]["drawn_from"]
    marks.write_text(json.dumps(content))
    runs = sf.open_runs(tmp_path / "runs.zarr")
    assert runs.header.drawn_from == ()
    assert drawn_ranges(runs.header, runs.parameters) == {}


def test_only_parts_that_are_there_count():
    parts = {"parts": ["train", "far"]}
    near = drawn(numbers={"part": np.zeros(40)}, made_by=parts)
    far = drawn(numbers={"part": np.ones(40)}, made_by=parts, angles=(0.0, 30.0), seed=1)
    named = [of_part(runs, name) for runs, name in ((near, "train"), (far, "far"))]
    runs = Runs.join(named)
    assert drawn_ranges(runs.header, runs.parameters)["angle"] == (0.0, 30.0)
    train = runs.select(CampaignParts()(runs).train)
    assert [one.part for one in train.header.drawn_from] == ["train"]
    assert drawn_ranges(train.header, train.parameters)["angle"] == (0.0, 10.0)


def of_part(runs: Runs, name: str) -> Runs:
    designs = tuple(replace(one, part=name) for one in runs.header.drawn_from)
    return replace(runs, header=replace(runs.header, drawn_from=designs))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"angel": (0, 1)}, "'angel' has a unit, range or scale but no values"),
        ({"angle": (3, 3)}, "angle, 3..3, is empty"),
    ],
)
def test_ranges_of_nothing_are_refused(given, sentence):
    with pytest.raises(SureflowError, match=sentence):
        drawn(drawn_from=given)
