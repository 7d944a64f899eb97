"""The closed forms behind criteria: exact updates of variances, which only fall."""

import numpy as np
import pytest

import layers
import sureflow as sf
import synthetic
from sureflow.acquire.criteria import CRITERIA, IntegratedBar, IntegratedVariance, Task
from sureflow.acquire.proposals import greedy, read_criterion
from sureflow.data.normalize import normalized_fields
from sureflow.models import AlignedSettings, InterpolationSettings, ShockAlignedSettings
from sureflow.models.contract import View
from sureflow.models.pod_gp import PodGP
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import Specification


@pytest.fixture(scope="module", params=["interpolation", "pod-gp"])
def task(request):
    model = sf.fit(synthetic.runs(synthetic.grid()[::2]), request.param, calibrate=False)
    rng = np.random.default_rng(3)
    box = np.array([[10.0, 20.0], [20.0, 40.0]])
    return Task(model, box[0] + rng.random((60, 2)) * box[1], box[0] + rng.random((80, 2)) * box[1])


def with_runs_at(task, inputs):
    """The processes of the same model with runs at further inputs; variances do not ask for their results."""
    fitted = task.model.predictor.fitted
    if isinstance(fitted, PodGP):
        longer = np.concatenate([fitted.inputs, inputs])
        padding = np.zeros((len(fitted.scale), len(inputs)))
        coefficients = np.column_stack([fitted.coefficients, padding])
        arrays = fitted.arrays() | {"inputs": longer, "coefficients": coefficients}
        return PodGP.from_arrays(arrays).belief().processes
    nodes = np.concatenate([fitted.nodes, inputs])
    fields = np.zeros((len(nodes), 1, 3))
    return InterpolationSettings().fit(View(nodes, fields, np.zeros((3, 1)), ("p",))).belief().processes


def test_variances_after_taking_candidates_are_those_of_a_model_with_these_runs(task):
    gains = IntegratedVariance().begin(task)
    taken = [7, 31, 12]
    for candidate in taken:
        gains.take(candidate)
    refitted = with_runs_at(task, task.inputs[taken])
    own = task.belief.processes
    for part in gains.parts:
        again = refitted[own.index(part.process)]
        expected = again.variance(task.inputs)
        assert part.variance == pytest.approx(expected, abs=1e-6 * part.process.variance(task.inputs).max())
        covariance = again.covariance(task.inputs, gains.uses)
        removed = np.square(covariance) @ part.weight
        left = [candidate for candidate in range(len(removed)) if candidate not in taken]
        assert part.removed[left] == pytest.approx(removed[left], rel=1e-3, abs=1e-5 * removed.max())


@pytest.mark.parametrize("criterion", [IntegratedVariance(), IntegratedBar()], ids=lambda one: one.name)
def test_a_greedy_batch_is_the_sequence_of_single_choices(task, criterion):
    batch, gains, _ = greedy(criterion, task, 5)
    state, single = criterion.begin(task), []
    for _ in range(5):
        values = state.values()
        single.append(int(values.argmax()))
        state = criterion.begin(task)
        for candidate in single:
            state.take(candidate)
    assert batch == single
    assert (np.diff(gains) <= 0).all()


def test_the_gain_is_the_fall_of_the_integrated_variance(task):
    state = IntegratedVariance().begin(task)
    totals = [integrated(state, [])]
    taken = []
    for _ in range(4):
        best = int(state.values().argmax())
        expected = state.values()[best]
        state.take(best)
        taken.append(best)
        totals.append(integrated(state, taken))
        assert totals[-2] - totals[-1] == pytest.approx(expected, rel=1e-6, abs=1e-12 * totals[0])
    assert (np.diff(totals) < 0).all()


@pytest.mark.parametrize("power", [0.25, 0.5, 0.8])
def test_the_gain_of_a_bar_is_the_fall_of_the_mean_bar(task, power):
    state = IntegratedBar(power).begin(task)
    every = sum(process.size(state.uses) * process.variance(state.uses) for process in task.belief.processes)
    totals, taken = [mean_bar(state)], []
    assert totals[0] == pytest.approx(float((every**power).mean() ** (0.5 / power)))
    for _ in range(4):
        best = int(state.values().argmax())
        expected = state.values()[best]
        state.take(best)
        taken.append(best)
        totals.append(mean_bar(state))
        assert totals[-2] - totals[-1] == pytest.approx(expected, rel=1e-6, abs=1e-12 * totals[0])
    assert (np.diff(totals) < 0).all()
    refitted, own = with_runs_at(task, task.inputs[taken]), task.belief.processes
    for part in state.parts:
        expected = refitted[own.index(part.process)].variance(state.uses)
        assert part.use_variance == pytest.approx(expected, abs=1e-6 * part.process.variance(state.uses).max())


def mean_bar(state):
    """The power mean over the uses, from the variances themselves."""
    variance = state.rest + sum(part.process.size(state.uses) * part.use_variance for part in state.parts)
    return float((variance**state.power).mean() ** (0.5 / state.power))


def integrated(state, taken):
    """Mean variance over the uses, from the covariances themselves."""
    total = 0.0
    for part in state.parts:
        left = part.process.variance(state.uses) - np.square(part.use_rows).sum(axis=1)
        assert (left >= -1e-9 * left.max()).all()
        total += float(part.weight @ left)
    assert all(part.use_rows.shape[1] == len(taken) for part in state.parts)
    return total


def test_closed_forms_agree_with_the_predictions(task):
    """The belief is that of the model's own bars: rms of its epistemic standard deviation in normalized space."""
    predictor = task.model.predictor
    coordinates = np.zeros((task.model.space.n_points, 2))
    parts = predictor.fitted.predict(task.inputs[:9], coordinates).parts
    expected = np.square(np.asarray(parts["epistemic"])).mean(axis=(1, 2))
    assert task.belief.variance(task.inputs[:9]) == pytest.approx(expected, rel=1e-4, abs=1e-9 * expected.max())


def test_errors_are_those_of_a_model_without_the_run(task):
    belief, fitted = task.belief, task.model.predictor.fitted
    left_out = fitted.leave_out([np.array([run]) for run in range(len(belief.errors))])
    predictor, runs = task.model.predictor, synthetic.runs(synthetic.grid()[::2])
    fields = normalized_fields(runs, predictor.scaling, predictor.normalizer)
    missed = np.sqrt(np.square(np.asarray(left_out.predictive.mean) - fields).mean(axis=(1, 2)))
    assert belief.errors == pytest.approx(missed, rel=0.05, abs=0.02 * missed.max())


def test_registered_names():
    assert sorted(CRITERIA) == [
        "integrated-bar",
        "integrated-variance",
        "largest-bar",
        "loo-distance",
        "loo-simplex",
        "space-filling",
    ]


@pytest.mark.parametrize("model", [AlignedSettings(), ShockAlignedSettings()], ids=lambda model: model.name)
def test_models_of_warped_runs_serve_every_criterion(model):
    """They are what users get by default; their closed forms are those of their own bars."""
    surrogate = learn(layers.runs().select(np.arange(0, 25, 2)), Specification(model, "similarity"))
    rng = np.random.default_rng(4)
    conditions = np.array([11.0, 21.0]) + rng.random((30, 2)) * [18.0, 38.0]
    task = Task(surrogate, conditions, conditions[:20])
    assert task.metric.shape == (task.inputs.shape[1], 2)
    found = surrogate.raw_predictive(conditions[:5])
    unit = surrogate.predictor.unit(np.asarray(found.mean), conditions[:5])
    expected = np.square(np.asarray(found.std) / unit).mean(axis=(1, 2))
    assert task.belief.variance(task.inputs[:5]) == pytest.approx(expected, rel=1e-3)
    for criterion in CRITERIA:
        chosen, _, _ = greedy(read_criterion(criterion), task, 4)
        assert len(set(chosen)) == 4
