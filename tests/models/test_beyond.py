"""Tests for sureflow.models.beyond"""

from dataclasses import replace

import numpy as np
import pytest

import layers
from sureflow.errors import SureflowError
from sureflow.models import AlignedSettings, BodyAlignedSettings, InterpolationSettings, View
from sureflow.models.aligned import Aligned
from sureflow.models.alignment import Systems, combined
from sureflow.models.beyond import DOUBTED, EARLIER, edge, is_beyond, learned_sides, nowhere
from sureflow.models.kernels import KERNELS, System, inverse_system

NOWHERE = np.empty((0, 0))
X = np.linspace(0.0, 1.0, 9)
NODES = np.random.default_rng(0).uniform(-1.0, 1.0, size=(30, 2))
EVERYWHERE = np.ones((2, 2), bool)
# On a way out of the runs, below those of the first input and beside those of the second.
OUT, AWAY = np.array([NODES[:, 0].min(), 0.1]), np.array([-1.0, 0.0])


def model(function, kernel="cubic", straight=None):
    """An interpolation of fields that change with the inputs as this function does."""
    fields = np.stack([function(a, b) * (1.0 + X) for a, b in NODES])[:, None]
    fitted = InterpolationSettings(kernel, "equal").fit(View(NODES, fields, X[:, None], ("p",)))
    return fitted if straight is None else replace(fitted, straight=straight.astype(float))


def wave(a, b):
    return np.sin(2.0 * a + b)


def on_the_way(fitted, distances):
    return fitted.predict(OUT + np.outer(distances, AWAY), NOWHERE)


@pytest.mark.parametrize("kernel", KERNELS)
def test_beyond_a_straight_side_fields_go_on_along_their_slopes(kernel):
    fitted = model(wave, kernel, EVERYWHERE)
    at_edge, *onward = on_the_way(fitted, [0.0, 0.2, 0.4, 0.8]).mean
    for distance, field in zip((0.2, 0.4, 0.8), onward, strict=True):
        np.testing.assert_allclose((field - at_edge) / distance, (onward[0] - at_edge) / 0.2, rtol=1e-8, atol=1e-10)
    step = 1e-4
    inside = on_the_way(fitted, [-step]).mean[0]
    np.testing.assert_allclose((at_edge - inside) / step, (onward[0] - at_edge) / 0.2, rtol=5e-3, atol=5e-3)


def test_within_the_runs_nothing_changes():
    asked = 0.9 * np.clip(np.random.default_rng(1).normal(size=(20, 2)), NODES.min(axis=0), NODES.max(axis=0))
    straight, bent = (model(wave, straight=sides).predict(asked, NOWHERE) for sides in (EVERYWHERE, ~EVERYWHERE))
    np.testing.assert_array_equal(straight.mean, bent.mean)
    np.testing.assert_array_equal(straight.std, bent.std)


def test_other_sides_stay_bent():
    below = nowhere(2)
    below[0, 0] = True
    asked = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, -2.0], [0.0, 2.0]])
    found = [model(wave, straight=sides).predict(asked, NOWHERE).mean for sides in (below, EVERYWHERE, nowhere(2))]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1:], found[2][1:])


def test_weights_of_straight_lines_reproduce_lines_and_have_the_error_of_their_kernel():
    """p^2 = phi(0) - 2 w k + w K w, for any weights w that reproduce the polynomial (Fasshauer 2007, ch. 14)."""
    kernel, asked = KERNELS["cubic"], np.array([[-1.7, 0.3], [0.2, 1.9], [1.5, -1.4]])
    near = edge(asked, NODES, EVERYWHERE)
    weights, powers = System.of(kernel, NODES, inverse_system(kernel, NODES)).weights_and_powers(asked, near)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(weights @ NODES, asked, rtol=1e-10)
    away = kernel.function(np.linalg.norm(asked[:, None] - NODES, axis=2))
    between = kernel.function(np.linalg.norm(NODES[:, None] - NODES, axis=2))
    squares = -2.0 * np.einsum("cr,cr->c", weights, away) + np.einsum("cr,rs,cs->c", weights, between, weights)
    np.testing.assert_allclose(powers, np.sqrt(squares), rtol=1e-8)


def test_fields_that_bend_as_the_kernel_does_go_on_bent():
    assert not model(lambda a, b: np.abs(a) ** 3 + np.abs(b) ** 3).straight.any()


def test_sides_are_learned_by_leaving_them_out():
    """The side below the second input, where straight lines err twice as much, and its own outer runs are left out."""
    seen = []

    def errors(group, straight):
        if straight[0, 1]:
            seen.append(sorted(group.tolist()))
        return (2.0 if straight[0, 1] else 1.0), 1.0

    np.testing.assert_array_equal(learned_sides(NODES, errors), [[True, False], [True, True]])
    outermost = np.argsort(NODES[:, 1])
    assert seen == [sorted(outermost[:count].tolist()) for count in (3, 6)]


def test_what_is_better_by_a_little_is_no_reason_to_bend():
    assert learned_sides(NODES, lambda group, straight: (1.02, 1.0)).all()


@pytest.mark.parametrize("nodes", [NODES[:4], np.repeat([[0.0, 0.0], [1.0, 0.5], [0.4, 1.0]], 9, axis=0)])
def test_few_runs_do_not_tell(nodes):
    """Nor do sides on which most of the runs lie."""
    asked = []
    learned_sides(nodes, lambda group, straight: (asked.append(len(group)) or 1.0, 1.0))
    assert all(size <= len(nodes) / 2 for size in asked)
    assert len(nodes) > 4 or not asked


def test_half_of_the_distance_between_the_ways_is_a_part_of_the_bars():
    straight, bent = (model(wave, straight=sides) for sides in (EVERYWHERE, ~EVERYWHERE))
    for one, other in ((straight, bent), (bent, straight)):
        found, otherwise = on_the_way(one, [0.6]), on_the_way(other, [0.6])
        doubt = DOUBTED * np.abs(found.mean - otherwise.mean)
        alone = replace(one, straight=np.full((2, 2), EARLIER)).predict(OUT[None] + 0.6 * AWAY, NOWHERE).std
        assert (found.std >= doubt).all()
        if one is bent:  # models of earlier versions bend, without a doubt
            np.testing.assert_allclose(found.std, np.hypot(alone, doubt), rtol=1e-6)


def test_samples_scatter_as_the_bars_say():
    fitted = model(wave, straight=EVERYWHERE)
    asked = OUT[None] + 0.6 * AWAY
    drawn = fitted.samples(asked, X[:, None], 4000, np.random.default_rng(0))
    # The scatter of a root mean square of 4000 samples is 1.1 %; this is four times as much.
    np.testing.assert_allclose(drawn.std(axis=0), fitted.predict(asked, NOWHERE).std, rtol=0.045)


def test_derivatives_along_straight_sides():
    fitted, step = model(wave, straight=EVERYWHERE), 1e-4
    for asked in ([-1.6, 0.2], [1.4, 1.8], [0.3, -1.5], [0.1, 0.2]):
        at, along = np.array([asked]), np.array([[1.0, 0.5]])
        slope = fitted.slope(at, NOWHERE, along, NOWHERE)
        ahead, behind = (fitted.predict(at + s * along, NOWHERE).mean[0] for s in (step, -step))
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", [AlignedSettings(), BodyAlignedSettings()])
def test_aligned_runs_have_both_ways_and_their_distance_in_the_bars(settings):
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(20, 2)))
    fitted = settings.fit(given)
    asked = given.inputs[:2].copy()
    asked[0, :2] = [1.8, 0.2]
    assert is_beyond(asked[:, :2], given.inputs[:, :2]).tolist() == [True, False]
    straight, bent, earlier = (
        replace(fitted, straight=np.full((2, 2), value)).predict(asked, given.coordinates)
        for value in (1.0, 0.0, EARLIER)
    )
    assert np.abs(straight.mean[0] - bent.mean[0]).max() > 0.0
    np.testing.assert_array_equal(straight.mean[1], bent.mean[1])
    np.testing.assert_array_equal(bent.mean, earlier.mean)
    doubt = DOUBTED * np.abs(straight.mean[0] - bent.mean[0])
    np.testing.assert_allclose(bent.std[0], np.hypot(earlier.std[0], doubt), atol=2e-7)  # in single precision


@pytest.mark.parametrize("settings", [AlignedSettings(), InterpolationSettings()])
def test_models_of_earlier_versions_go_on_as_their_kernel_does(settings):
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(15, 2)))
    fitted = settings.fit(given)
    arrays = fitted.arrays()
    former = type(fitted).from_arrays({name: array for name, array in arrays.items() if name != "straight"})
    assert (former.straight == EARLIER).all()
    for damaged in (np.zeros((3, 1)), np.full_like(fitted.straight, 1e30)):
        with pytest.raises(SureflowError, match="its straight sides do not fit its inputs"):
            type(fitted).from_arrays(arrays | {"straight": damaged})


def both_ways_beyond(fitted, given, group):
    """Runs on the edge as a model of the others predicts them, with the scales and sides of all."""
    others = np.setdiff1d(np.arange(len(given.inputs)), group)
    systems = Systems.of(fitted.nodes[others], fitted.mixture, fitted.regional, fitted.straight > 0)
    for way in (False, True):
        some, _ = systems.weights_and_powers(fitted.nodes[group], otherwise=way)
        weights = np.zeros((len(some), len(group), len(given.inputs)))
        weights[:, :, others] = some
        yield np.stack([*combined(fitted.warp, weights, fitted.warp.layers[group])])


@pytest.mark.parametrize("settings", [AlignedSettings(), BodyAlignedSettings()])
def test_bars_at_runs_left_out_on_the_edge_hold_the_doubt(settings):
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(20, 2)))
    bent, earlier = (replace(settings.fit(given), straight=np.full((2, 2), value)) for value in (0.0, EARLIER))
    outer, inner = np.sort(given.inputs[:, 0].argsort()[-4:]), np.abs(given.inputs[:, :2]).max(axis=1).argsort()[:1]
    found, before = (model.leave_out([outer, inner]).predictive for model in (bent, earlier))
    np.testing.assert_array_equal(found.mean, before.mean)
    np.testing.assert_array_equal(found.std[4], before.std[4])
    mean, otherwise = both_ways_beyond(bent, given, outer)
    np.testing.assert_allclose(found.mean[:4], mean, atol=5e-6)  # in single precision
    doubt = DOUBTED * np.abs(otherwise - mean)
    assert doubt.max() > 1e-4
    np.testing.assert_allclose(found.std[:4], np.hypot(before.std[:4], doubt), atol=2e-6)


@pytest.mark.parametrize("settings", [AlignedSettings(), BodyAlignedSettings()])
def test_samples_of_aligned_runs_scatter_as_the_bars_say(settings):
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(15, 2)))
    fitted, asked = settings.fit(given), given.inputs[:1].copy()
    asked[0, :2] = [1.6, 0.2]
    drawn = fitted.samples(asked, given.coordinates, 3000, np.random.default_rng(0))
    std = fitted.predict(asked, given.coordinates).std
    # Four times the scatter of a root mean square of 3000 samples, and values in single precision.
    np.testing.assert_allclose(drawn.std(axis=0), std, rtol=0.052, atol=2e-6)


def test_a_mixture_without_an_inverse_is_refused():
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(15, 2)))
    arrays = BodyAlignedSettings().fit(given).arrays()
    for damaged in (np.zeros((2, 2)), np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]]), np.full((2, 2), np.nan)):
        with pytest.raises(SureflowError, match="the mixture of its inputs has no inverse"):
            Aligned.from_arrays(arrays | {"mixture": damaged})
