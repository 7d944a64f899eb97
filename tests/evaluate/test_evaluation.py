"""Rows of an evaluation against the same numbers computed at once from whole arrays."""

import json

import numpy as np
import pytest

import sureflow
import synthetic
from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.splits import Division
from sureflow.data.streams import Flight
from sureflow.errors import SureflowError
from sureflow.evaluate import evaluation, tally
from sureflow.evaluate.evaluation import evaluate, labelled, std_histogram
from sureflow.evaluate.masks import run_masks
from sureflow.evaluate.summary import KEYS
from sureflow.metrics import accuracy, intervals, scoring
from sureflow.physics.gases import PerfectGas
from sureflow.physics.regions import REGIONS
from sureflow.predictive import Predictive

SHAPE = (12, 6)
CONDITIONS = np.array([(m, h) for m in (10.0, 15.0, 20.0, 25.0, 30.0) for h in (20.0, 30.0, 40.0, 50.0, 60.0)])
NAMES = ("u1", "u2", "rho", "T")


class Oracle:
    """Knows every run and errs by what it is told; keeps what it was asked. Arrays are (case, variable, point)."""

    def __init__(self, data, bars=True, factor=2.0):
        rng = np.random.default_rng(1)
        self.data, self.asked = data, []
        truth = data.array()
        self.std = truth.std(axis=(0, 2))[:, None] * rng.uniform(0.01, 0.2, truth.shape)
        self.mean = truth + factor * self.std * rng.normal(size=self.std.shape)
        self.parts = {"epistemic": 0.6 * self.std, "discrepancy": 0.8 * self.std} if bars else {}

    def __call__(self, conditions):
        cases = [int(np.flatnonzero((self.data.parameters == c).all(axis=1))[0]) for c in conditions]
        self.asked += cases
        return Predictive(self.mean[cases], {name: part[cases] for name, part in self.parts.items()})


def flow(conditions):
    """u1, u2, rho, T (case, 4, point) with every region: a cooled wall of two rows, a shock that moves with the Mach number."""
    gas = PerfectGas()
    row, column = np.indices(SHAPE)
    stream = Flight().values(("mach", "altitude_km"), conditions)
    velocity, density, temperature = (stream[name][:, None, None] for name in ("velocity", "density", "temperature"))
    pressure = density * gas.gas_constant * temperature
    behind = row < 6 + conditions[:, :1, None] // 10
    speed = np.where(behind, 0.2 + 0.02 * column, 1.0) * velocity
    enthalpy = np.where(row < 2, 0.4 + 0.2 * row, 1.0) * (gas.cp * temperature + 0.5 * velocity**2)
    p = np.where(behind, 50.0 - column, 1.0) * pressure
    t = (enthalpy - 0.5 * speed**2) / gas.cp
    fields = np.stack([0.8 * speed, 0.6 * speed, p / (gas.gas_constant * t), t], axis=1)
    return fields.reshape(len(conditions), 4, -1)


def flow_runs(shape=SHAPE, order=NAMES, **others):
    """The flow on a structured block in the plane."""
    fields = dict(zip(NAMES, np.moveaxis(flow(CONDITIONS), 1, 0), strict=True))
    cells, nodes = (np.stack(np.indices(n), axis=-1).reshape(-1, 2) for n in (SHAPE, (SHAPE[0] + 1, SHAPE[1] + 1)))
    return Runs.from_arrays(
        {"mach": CONDITIONS[:, 0], "altitude_km": CONDITIONS[:, 1]},
        cells + 0.5,
        {name: fields[name] for name in order},
        **({"shape": shape, "nodes": nodes * 1.0} if shape else {}),
        **({"free_stream": Flight(), "gas": PerfectGas()} | others),
    )


@pytest.fixture(scope="module")
def data():
    return flow_runs()


@pytest.fixture(scope="module")
def split():
    """A box to train in, of which three runs are kept for testing, and four domains around it that overlap in the corners."""
    mach, altitude = CONDITIONS.T
    outer = {
        "high_mach": mach > 25,
        "high_altitude": altitude > 50,
        "low_mach": mach < 15,
        "low_altitude": altitude < 30,
    }
    outside = np.logical_or.reduce(list(outer.values()))
    test = ~outside & (np.cumsum(~outside) % 3 == 0)
    return Division(~outside & ~test, {"in_domain": test, **outer, "out_of_domain": outside}, {})


@pytest.fixture(scope="module")
def space(data, split):
    return Standard.of_fields(data.select(split.train))


@pytest.fixture(scope="module")
def oracle(data):
    return Oracle(data)


@pytest.fixture(scope="module")
def found(oracle, data, split, space):
    return evaluate(oracle, data, split.test, space)


def normalized(space, values):
    return (values - space.mean[:, None]) / space.std[:, None]


def row_of(rows, **wanted):
    (row,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return row


def flat(data, oracle, space, runs, variable, region):
    """mean, std and truth of all points of a domain and region, normalized, and a list of those by run."""
    by_run = []
    for case in map(int, np.flatnonzero(runs)):
        mask = run_masks(data, case, data.fields[case])[region]
        values = (normalized(space, oracle.mean[case]), oracle.std[case] / space.std[:, None])
        truth = normalized(space, data.fields[case])
        if mask.any():
            by_run.append([array[variable][mask] for array in (*values, truth)])
    return [np.concatenate(arrays) for arrays in zip(*by_run, strict=True)], by_run


def test_every_run_is_predicted_once_though_domains_overlap(oracle, found, split):
    tested = np.flatnonzero(np.logical_or.reduce(list(split.test.values())))
    assert split.test["high_mach"][tested].sum() + split.test["low_altitude"][tested].sum() > 0
    assert sorted(set(oracle.asked)) == sorted(tested)
    assert len(oracle.asked) == len(tested)


def test_rows_are_complete(found, data, split):
    keys = [(row["domain"], row["region"], row["variable"]) for row in found.rows]
    assert len(set(keys)) == len(keys)
    assert {key[0] for key in keys} == set(split.test)
    assert {key[1] for key in keys} == set(REGIONS)
    assert {key[2] for key in keys} == {*data.names, "mean"}
    assert all(tuple(row) == ("domain", "region", "variable", *KEYS) for row in found.rows)
    json.dumps([found.rows, found.cases, found.curves, found.histogram], allow_nan=False)


@pytest.mark.parametrize("region", ["all", "disturbed", "shock"])
@pytest.mark.parametrize("domain", ["in_domain", "low_mach", "out_of_domain"])
def test_numbers_of_one_variable(found, data, oracle, space, split, domain, region):
    (mean, std, truth), by_run = flat(data, oracle, space, split.test[domain], 2, region)
    row = row_of(found.rows, domain=domain, region=region, variable="rho")
    relative = [accuracy.relative_error(m, t) for m, _, t in by_run]
    expected = {
        "mae": accuracy.mean_absolute_error(mean, truth),
        "relative_error": np.mean(relative),
        "relative_error_q25": np.quantile(relative, 0.25),
        "relative_error_q75": np.quantile(relative, 0.75),
        "miscalibration": intervals.miscalibration_area(mean, std, truth),
        "coverage90": np.mean([intervals.coverage(*values, 0.9) for values in by_run]),
        "coverage50": np.mean([intervals.coverage(*values, 0.5) for values in by_run]),
        "mean_std": std.mean(),
        "sharpness": scoring.sharpness(std),
        "crps": scoring.gaussian_crps(mean, std, truth).mean(),
        "nll": scoring.gaussian_nll(mean, std, truth).mean(),
        "z_rms": scoring.z_rms(mean, std, truth),
        "ause": np.mean([scoring.ause(m - t, s) for m, s, t in by_run]),
        "spearman": np.mean([scoring.rank_correlation(m - t, s) for m, s, t in by_run]),
        "largest_std": std.max(),
        "n_runs": len(by_run),
    }
    assert {key: row[key] for key in expected} == pytest.approx(expected, rel=2e-5)


def test_a_corner_run_counts_once_out_of_domain(found, split):
    outer = [split.test[name] for name in ("high_mach", "high_altitude", "low_mach", "low_altitude")]
    pooled = row_of(found.rows, domain="out_of_domain", region="all", variable="u1")["n_runs"]
    assert pooled == np.logical_or.reduce(outer).sum() < sum(mask.sum() for mask in outer)


def test_the_mean_and_spread_over_variables(found, data):
    where = {"domain": "high_mach", "region": "disturbed"}
    single = [row_of(found.rows, **where, variable=name) for name in data.names]
    mean = row_of(found.rows, **where, variable="mean")
    for key in ("mae", "miscalibration", "crps", "relative_error", "coverage95"):
        assert mean[key] == pytest.approx(np.mean([row[key] for row in single]), rel=1e-5)
    for key in ("mae", "miscalibration"):
        assert mean[f"{key}_spread"] == pytest.approx(np.std([row[key] for row in single]), rel=1e-4)
        assert [row[f"{key}_spread"] for row in single] == [None] * 4
    assert mean["largest_std"] == max(row["largest_std"] for row in single)


def test_the_spread_out_of_domain_is_over_the_four_domains(found):
    for variable in ("mean", "T"):
        outer = [
            row_of(found.rows, domain=name, region="all", variable=variable)
            for name in ("high_mach", "high_altitude", "low_mach", "low_altitude")
        ]
        pooled = row_of(found.rows, domain="out_of_domain", region="all", variable=variable)
        for key in ("mae", "miscalibration"):
            assert pooled[f"{key}_spread"] == pytest.approx(np.std([row[key] for row in outer]), rel=1e-4)


def test_curves_are_those_of_the_rows(found, data, oracle, space, split):
    (mean, std, truth), _ = flat(data, oracle, space, split.test["in_domain"], 0, "all")
    curve = row_of(found.curves, domain="in_domain", region="all", variable="u1")
    np.testing.assert_allclose(curve["observed"], intervals.calibration_curve(mean, std, truth)[1], atol=1e-6)
    assert {row["region"] for row in found.curves} == {"all", "disturbed"}
    assert {row["variable"] for row in found.curves} == {*data.names, "mean"}
    assert all(len(row["expected"]) == len(row["observed"]) == 100 for row in found.curves)


def test_cases_are_the_runs_of_their_domains(found, data, split, space, oracle):
    rows = [row for row in found.cases if row["domain"] == "high_mach" and row["variable"] == "T"]
    chosen = data.parameters[split.test["high_mach"]]
    assert [(row["mach"], row["altitude_km"]) for row in rows] == [tuple(c) for c in chosen]
    case = int(np.flatnonzero(split.test["high_mach"])[1])
    expected = np.abs(normalized(space, oracle.mean[case]) - normalized(space, data.fields[case]))[3].mean()
    assert rows[1]["mae"] == pytest.approx(expected, rel=1e-5)
    assert 0 < rows[1]["coverage90"] < 1
    assert not [row for row in found.cases if row["domain"] == "out_of_domain"]


def near(value):
    """Equal but for the order of sums."""
    return value if value is None else pytest.approx(value, rel=1e-4)


def test_blocks_and_chunks_change_nothing(oracle, data, split, space, found, monkeypatch):
    monkeypatch.setattr(evaluation, "POINTS_AT_ONCE", 3 * data.n_points)
    monkeypatch.setattr(tally, "CHUNK", 40)
    again = evaluate(oracle, data, split.test, space)
    assert again.curves == found.curves
    for row, expected in zip(again.rows, found.rows, strict=True):
        assert [row[key] for key in KEYS] == [near(expected[key]) for key in KEYS]


def test_intervals_of_the_prediction_are_counted_where_it_has_any(oracle, data, split, space, found):
    def skewed(conditions):
        own = oracle(conditions)
        return Predictive(own.mean, own.parts, {0.05: own.mean - 0.1 * own.std, 0.95: own.mean + 3.0 * own.std})

    rows = evaluate(skewed, data, split.test, space).rows
    error = (data.array() - oracle.mean)[split.test["in_domain"]]
    std = oracle.std[split.test["in_domain"]]
    expected = ((error >= -0.1 * std) & (error <= 3.0 * std)).mean(axis=(0, 2))
    for name, share in zip(data.names, expected, strict=True):
        wanted = {"domain": "in_domain", "region": "all", "variable": name}
        row, gaussian = row_of(rows, **wanted), row_of(found.rows, **wanted)
        assert row["coverage90"] == pytest.approx(share, rel=1e-5)
        # Other levels and calibration curves stay Gaussian, and so does one part of the bars.
        assert (row["coverage50"], row["miscalibration"]) == (gaussian["coverage50"], gaussian["miscalibration"])
    parts = [evaluate(one, data, split.test, space, part="epistemic").rows for one in (skewed, oracle)]
    assert parts[0] == parts[1]


@pytest.mark.parametrize("scaling", ["none", "log-density"])
def test_what_a_calibrated_model_promises_is_counted(scaling):
    train, test = synthetic.runs().split(test=0.3, seed=1)
    model = sureflow.fit(train, "interpolation", scaling=scaling)
    evaluation = sureflow.evaluate(model, test)
    predicted = model.predict(**dict(zip(test.parameter_names, test.parameters.T, strict=True)), extrapolate=True)
    inside = [
        np.abs(predicted[name].values - np.stack([run[variable] for run in test.fields]).reshape(predicted[name].shape))
        <= predicted[f"{name}_interval90"].values
        for variable, name in enumerate(test.names)
    ]
    for name, covered in zip(test.names, inside, strict=True):
        rows = [row for row in evaluation.rows if (row["region"], row["variable"]) == ("all", name)]
        counted = sum(row["coverage90"] * row["n_runs"] for row in rows) / sum(row["n_runs"] for row in rows)
        assert counted == pytest.approx(covered.mean(), rel=1e-5)
    assert "those of its predictions" in repr(evaluation)
    own = sureflow.evaluate(sureflow.fit(train, "interpolation", scaling=scaling, calibrate=False), test)
    assert "it is not calibrated" in repr(own)


def test_one_part_of_the_std_alone(oracle, data, split, space, found):
    epistemic = evaluate(oracle, data, split.test, space, part="epistemic", regions=["all"])
    assert {row["region"] for row in epistemic.rows} == {"all"}
    for row in epistemic.rows:
        whole = row_of(found.rows, **{key: row[key] for key in ("domain", "region", "variable")})
        assert row["mean_std"] == pytest.approx(0.6 * whole["mean_std"], rel=1e-5)
        assert row["mae"] == whole["mae"]
    with pytest.raises(SureflowError, match=r"part='aleatoric' is not a part .* epistemic, discrepancy"):
        evaluate(oracle, data, split.test, space, part="aleatoric")


def test_a_model_without_bars_has_errors_alone(data, split, space, found):
    plain = evaluate(Oracle(data, bars=False), data, split.test, space)
    for row, with_bars in zip(plain.rows, found.rows, strict=True):
        assert row["mae"] == with_bars["mae"]
        assert row["mae_spread"] == with_bars["mae_spread"]
        assert all(row[key] is None for key in KEYS[5:-1])
    assert plain.curves == plain.histogram == []
    assert {row["coverage90"] for row in plain.cases} == {None}


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e120])
def test_explosions_end_in_nothing_rather_than_in_nan(data, split, space, value):
    oracle = Oracle(data)
    case = int(np.flatnonzero(split.test["high_mach"])[0])
    oracle.mean[case, 1, 5] = value
    oracle.parts["epistemic"][case, 0, 3] = value
    rows = evaluate(oracle, data, split.test, space).rows
    json.dumps(rows, allow_nan=False)
    assert row_of(rows, domain="high_mach", region="all", variable="T")["mae"] is not None
    if value != 1e120:
        assert row_of(rows, domain="high_mach", region="all", variable="u2")["mae"] is None


def test_bars_of_zero_have_no_likelihood_but_a_crps(data, split, space):
    oracle = Oracle(data)
    oracle.parts = {"epistemic": np.zeros_like(oracle.std)}
    row = row_of(evaluate(oracle, data, split.test, space).rows, domain="in_domain", region="all", variable="u1")
    assert row["crps"] == row["mae"] > 0
    assert row["nll"] is row["z_rms"] is row["spearman"] is None
    assert row["coverage95"] == row["largest_std"] == 0


def test_runs_of_ones_own_have_one_region(oracle, data, split, space):
    for own in (flow_runs(free_stream=None, gas=None), flow_runs(free_stream=None), flow_runs(shape=None)):
        assert {row["region"] for row in evaluate(oracle, own, split.test, space).rows} == {"all"}


def test_regions_follow_the_names_of_the_fields_and_not_their_order(data):
    other = flow_runs(order=("T", "rho", "u2", "u1"))
    for case in (0, 7, 24):
        expected = run_masks(data, case, data.fields[case])
        for name, mask in run_masks(other, case, other.fields[case]).items():
            np.testing.assert_array_equal(mask, expected[name])


def test_an_empty_domain_has_no_rows_and_none_at_all_is_refused(oracle, data, split, space):
    nothing = np.zeros(len(data), bool)
    rows = evaluate(oracle, data, {"in_domain": split.test["in_domain"], "out_of_domain": nothing}, space).rows
    assert {row["domain"] for row in rows} == {"in_domain"}
    with pytest.raises(SureflowError, match="no run is left to evaluate on"):
        evaluate(oracle, data, {"in_domain": nothing}, space)


def test_a_prediction_on_another_mesh_is_refused(data, split, space):
    def other(conditions):
        return Predictive(np.zeros((len(conditions), 4, 24)), {})

    with pytest.raises(SureflowError, match="another mesh or other variables"):
        evaluate(other, data, split.test, space)
    with pytest.raises(SureflowError, match="region 'wake' is not one of all, disturbed"):
        evaluate(other, data, split.test, space, regions=["wake"])


def test_labels_come_first(found):
    row = labelled(found.rows, label="ensemble", runs=205)[0]
    assert list(row)[:3] == ["label", "runs", "domain"]


def test_histograms_hold_every_point(found, data, split):
    edges, counts = std_histogram(np.array([0.0, 1e-9, 0.02, 0.02, 1e9, np.inf, np.nan]))
    assert counts[0] == 2
    assert counts[-1] == 2
    assert counts[np.searchsorted(edges, np.log10(0.02)) - 1] == 2
    row = row_of(found.histogram, domain="high_mach", variable="rho")
    assert len(row["edges"]) == len(row["counts"]) + 1
    assert sum(row["counts"]) == split.test["high_mach"].sum() * data.n_points


def test_the_table_has_the_main_numbers_of_every_domain_and_variable(found, data, split):
    table = found.table()
    assert list(table.columns[:4]) == ["domain", "variable", "n_runs", "mae"]
    assert len(table) == len(split.test) * (len(data.names) + 1)
    row = row_of(found.rows, domain="high_mach", region="shock", variable="T")
    shown = found.table("shock").set_index(["domain", "variable"]).loc["high_mach", "T"]
    assert shown["mae"] == row["mae"]
    with pytest.raises(SureflowError, match="region='wake' is not one of all, disturbed"):
        found.table("wake")


def test_an_evaluation_reads_as_text(found):
    text = repr(found)
    assert text.startswith("all points\ndomain")
    assert "disturbed points" in text
    assert text.endswith("mean over u1, u2, rho, T.")
