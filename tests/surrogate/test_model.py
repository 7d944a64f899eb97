"""A surrogate as its user meets it: fields, points, quantities, samples, words."""

from dataclasses import replace

import numpy as np
import pytest

import sureflow
import synthetic
from small_networks import SINGLE
from sureflow.data.runs import Runs
from sureflow.errors import Refused, SureflowError
from sureflow.heads import MVE
from sureflow.models import MODELS, DeepONetSettings, InterpolationSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model import answer_samples
from sureflow.surrogate.promised import promised
from sureflow.surrogate.specification import Specification
from sureflow.train.networks import Networks

SMALL = DeepONetSettings(encoder_width=8, decoder_width=16, decoder_layers=2, fourier_octaves=2)
TRAIN = TrainSettings(epochs=150, batch=128, points_per_run="all", learning_rate=1e-2)


@pytest.fixture(scope="module")
def surrogate():
    return learn(synthetic.runs(), Specification(Networks(SMALL, MVE(), Ensemble(2), TRAIN), "none", "body-fitted"))


@pytest.fixture(scope="module")
def interpolation():
    return learn(synthetic.runs(), Specification(InterpolationSettings()))


def test_fields_are_learned_in_physical_units(surrogate):
    runs = synthetic.runs()
    predicted = surrogate.predictive(runs.parameters)
    error = np.abs(predicted.mean - runs.array()).mean(axis=(0, 2)) / runs.array().std(axis=(0, 2))
    assert (error < 0.1).all()


def test_a_prediction_is_labelled(surrogate):
    field = surrogate.predict(mach=25, altitude_km=46)
    assert field.u1.dims == ("j", "i")
    assert field.u1.shape == synthetic.SHAPE
    assert field.T_std.attrs == {"units": "K", "long_name": "standard deviation of the temperature"}
    assert field.x.attrs["units"] == "m"
    assert field.attrs["verdict"] == "inside"
    assert field.attrs["bars"] == "uncalibrated: the model's own"
    np.testing.assert_allclose(field.rho_std**2, field.rho_std_epistemic**2 + field.rho_std_discrepancy**2)
    assert (field.mach.item(), field.altitude_km.item()) == (25, 46)
    np.testing.assert_array_equal(field.node_r, synthetic.nodes()[1])


def test_several_conditions_give_the_fields_of_each(surrogate):
    both = surrogate.predict(mach=[12.0, 35.0], altitude_km=30.0)
    assert both.u1.dims == ("case", "j", "i")
    np.testing.assert_allclose(both.u1[1], surrogate.predict(mach=35.0, altitude_km=30.0).u1, rtol=1e-5)
    np.testing.assert_allclose(both.extrapolation, [0, 0.25])
    assert both.attrs["verdict"].startswith("1 of 2 conditions are extrapolated")
    assert surrogate.predict(mach=[12.0], altitude_km=30.0).u1.dims == ("case", "j", "i")


def test_points_on_the_mesh_agree_with_the_mesh(surrogate):
    field = surrogate.predict(mach=25, altitude_km=46)
    points = np.column_stack([field.x.values.ravel(), field.r.values.ravel()])
    at_points = surrogate.predict(mach=25, altitude_km=46, points=points)
    assert at_points.u1.dims == ("point",)
    assert "node_x" not in at_points
    np.testing.assert_array_equal(at_points.r, points[:, 1])
    difference = np.abs(at_points.u1.values - field.u1.values.ravel())
    assert difference.max() < 0.05 * np.ptp(field.u1.values)
    assert (at_points.u1_std >= 0).all()
    both = surrogate.predict(mach=[25, 26], altitude_km=46, points=points.tolist())
    np.testing.assert_allclose(both.u1[0], at_points.u1, rtol=1e-5)


def test_wrong_questions_are_refused(surrogate):
    with pytest.raises(SureflowError, match="takes mach, altitude_km; given: mach"):
        surrogate.predict(mach=25)
    with pytest.raises(SureflowError, match="takes mach, altitude_km; given: nothing"):
        surrogate.predict()
    with pytest.raises(SureflowError, match="takes mach, altitude_km; given: mach, altitude"):
        surrogate.predict(mach=25, altitude=46)
    with pytest.raises(SureflowError, match="must be finite"):
        surrogate.predict(mach=np.nan, altitude_km=46)
    with pytest.raises(SureflowError, match="mach='fast' is not a number"):
        surrogate.predict(mach="fast", altitude_km=46)
    with pytest.raises(SureflowError, match="outside the mesh"):
        surrogate.predict(mach=25, altitude_km=46, points=[[5.0, 5.0]])
    with pytest.raises(SureflowError, match=r"points must be \(point, 2\); their shape is \(2,\)"):
        surrogate.predict(mach=25, altitude_km=46, points=[0.1, 0.3])
    with pytest.raises(SureflowError, match=r"points must be numbers \(point, 2\); given: 'here'"):
        surrogate.predict(mach=25, altitude_km=46, points="here")
    with pytest.raises(SureflowError, match="1 of 2 points are not finite numbers"):
        surrogate.predict(mach=25, altitude_km=46, points=[[0.1, 0.3], [np.nan, 0.3]])
    with pytest.raises(SureflowError, match="given: 2 of mach, 3 of altitude_km"):
        surrogate.predict(mach=[20, 25], altitude_km=[30, 40, 50])


@pytest.mark.parametrize("extrapolate", [False, True])
def test_what_has_no_logarithm_is_a_mistake(extrapolate):
    reynolds = np.geomspace(1e3, 1e6, 6)
    fields = {"cp": np.log(reynolds)[:, None] * np.ones(3)}
    runs = Runs.from_arrays({"Re": reynolds}, np.arange(3.0)[:, None], fields, logarithmic=["Re"])
    model = learn(runs, Specification(InterpolationSettings()))
    for values in (-5.0, [1e4, 0.0, -5.0]):
        with pytest.raises(SureflowError, match=r"^Re=-5 has no logarithm: give a positive value$") as mistake:
            model.predict(Re=values, extrapolate=extrapolate)
        assert not isinstance(mistake.value, Refused)


def test_too_far_is_refused_unless_an_extrapolation_is_asked_for(interpolation):
    for ask in (interpolation.predict, interpolation.quantities):
        with pytest.raises(Refused, match=r"refused: mach=39 .*\. Compute runs there, or ask for an extrapolation$"):
            ask(mach=39, altitude_km=80)
        assert ask(mach=39, altitude_km=80, extrapolate=True).attrs["verdict"].startswith("refused: mach=39")


def test_distributions_along_the_body_have_bars_and_places(interpolation):
    one, two = (interpolation.surface(mach=mach, altitude_km=46) for mach in (25, [25, 20]))
    assert one.wall_pressure.dims == ("face",)
    assert two.wall_pressure.dims == ("case", "face")
    np.testing.assert_allclose(one.wall_pressure, two.wall_pressure[0])
    assert (one.wall_pressure_std > 0).all()
    assert (np.diff(one.arc) > 0).all()
    assert one.wall_pressure.attrs == {"units": "Pa", "long_name": "pressure on the wall"}
    assert "wall_heat_flux" not in one  # these runs do not say what their wall does


def test_a_single_deterministic_network_claims_no_error_bar():
    single = learn(synthetic.runs(), Specification(SINGLE))
    field = single.predict(mach=25, altitude_km=46)
    assert "u1" in field
    assert not [name for name in field if "_std" in str(name)]
    assert not single.has_samples
    assert not [name for name in single.quantities(mach=25, altitude_km=46) if "_std" in str(name)]
    with pytest.raises(SureflowError, match="a single network has no members to sample: train an ensemble"):
        single.samples(np.array([[25.0, 46.0]]), 3)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            ("mach", 3),
            "conditions must be finite numbers .case, parameter. of mach, altitude_km; given: 'mach'",
        ),
        (([25.0, 46.0], 3), "conditions must be finite numbers"),
        (([[25.0]], 3), "conditions must be finite numbers"),
        (([[25.0, np.nan]], 3), "conditions must be finite numbers"),
        (([[25.0, 46.0]], 0), "count=0 must be a whole number, at least 1"),
        (([[25.0, 46.0]], 3, -1), "seed=-1 must be a whole number, at least 0"),
    ],
)
def test_what_samples_are_asked_at_is_checked(interpolation, asked, sentence):
    with pytest.raises(SureflowError, match=sentence):
        interpolation.samples(*asked)


def test_samples_are_whole_fields_in_physical_units(interpolation):
    asked = np.array([[12.0, 25.0], [21.0, 47.0]])
    samples = interpolation.samples(asked, 5, seed=1)
    np.testing.assert_array_equal(samples, interpolation.samples(asked.tolist(), 5, seed=1))
    assert samples.shape == (5, 2, 4, 48)
    mean = interpolation.predictive(asked).mean
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.05 * np.abs(mean).max())
    np.testing.assert_array_equal(samples, interpolation.samples(asked, 5, seed=1))
    assert not np.array_equal(samples, interpolation.samples(asked, 5, seed=2))


def test_a_prediction_evaluates_the_model_once(interpolation, monkeypatch):
    calls, kind = [], MODELS["interpolation"].fitted
    predict = kind.predict
    monkeypatch.setattr(kind, "predict", lambda self, *given: calls.append(1) or predict(self, *given))
    runs = synthetic.runs()
    calibrated = interpolation.calibrate(runs, folds=True)
    calls.clear()
    for model in (interpolation, calibrated):
        model.predict(mach=21, altitude_km=47)
        model.predict(mach=[21, 22], altitude_km=47)
        model.quantities(mach=21, altitude_km=47)
    assert len(calls) == 6


def test_a_model_describes_itself(surrogate, interpolation):
    words = repr(interpolation).splitlines()
    assert words[0].split() == ["model", "interpolation,", "error", "bars:", "leave-one-out"]
    assert "25 runs, scaling freestream" in words[1]
    assert "mach 10..30, altitude_km 20..60 km" in words[2]
    assert "deeponet, error bars: MVE" in repr(surrogate)
    html = interpolation._repr_html_()
    assert html.startswith("<table>")
    assert "uncalibrated: the model&#x27;s own" in html


def test_names_in_html_are_escaped():
    x = np.linspace(0, 1, 5)[:, None]
    runs = Runs.from_arrays({"<b>": np.arange(6.0)}, x, {"<p>": np.random.default_rng(0).normal(size=(6, 5))})
    html = learn(runs, Specification(InterpolationSettings()))._repr_html_()
    assert "<b>" not in html
    assert "&lt;p&gt;" in html


def test_logarithmic_parameters_are_seen_by_their_logarithm():
    """A power law of the parameter is a straight line in what the model sees."""
    reynolds, x = np.geomspace(1e3, 1e6, 7), np.linspace(0, 1, 6)[:, None]
    fields = {"q": np.log(reynolds)[:, None] * (1 + x[:, 0])}
    for logarithmic, error in (["reynolds"], 1e-6), ([], 0.05):
        runs = Runs.from_arrays({"reynolds": reynolds}, x, fields, logarithmic=logarithmic)
        model = learn(runs, Specification(InterpolationSettings()))
        found = model.predict(reynolds=2e4).q
        wrong = float(np.abs(found - np.log(2e4) * (1 + x[:, 0])).max())
        assert wrong < error if logarithmic else wrong > error
    with pytest.raises(SureflowError, match="reynolds=-1"):
        learn(
            Runs.from_arrays({"reynolds": reynolds}, x, fields, logarithmic=["reynolds"]),
            Specification(InterpolationSettings()),
        ).predict(reynolds=-1.0, extrapolate=True)


@pytest.mark.parametrize("calibrate", [False, True])
def test_bars_that_are_not_finite_are_refused(calibrate):
    reynolds, x = np.tile(np.geomspace(1e2, 1e5, 5), 4), np.linspace(0, 1, 12)[:, None]
    angle = np.repeat(np.arange(4.0), 5)
    fields = {"p": 300.0 + np.log(reynolds)[:, None] * (1 + x[:, 0]) + np.sin(angle)[:, None]}
    runs = Runs.from_arrays({"reynolds": reynolds, "angle": angle}, x, fields, logarithmic=["reynolds"])
    model = sureflow.fit(runs, "interpolation", calibrate=calibrate)
    for angle in (1e120, 1e150, 1e300):
        with pytest.raises(SureflowError, match=r"gives values that are not finite at reynolds=1000, angle=1e\+"):
            model.predict(reynolds=[1e3, 1e3], angle=[1.0, angle], extrapolate=True)


def test_declared_ranges_are_never_left():
    angle, x = np.linspace(1, 4, 7), np.linspace(0, 1, 6)[:, None]
    fields = {"p": np.sin(angle)[:, None] * (1 + x[:, 0])}
    model = learn(
        Runs.from_arrays({"angle": angle}, x, fields, ranges={"angle": (0.9, 4.2)}),
        Specification(InterpolationSettings()),
    )
    assert model.predict(angle=4.1).attrs["verdict"] == "inside"
    with pytest.raises(Refused, match=r"angle=4.3 is outside 0.9..4.2"):
        model.predict(angle=4.3)


def test_quantities_need_a_flow_around_a_body():
    x = np.linspace(0, 1, 5)[:, None]
    runs = Runs.from_arrays({"a": np.arange(6.0)}, x, {"p": np.random.default_rng(0).normal(size=(6, 5))})
    model = learn(runs, Specification(InterpolationSettings()))
    assert model.observer is None
    with pytest.raises(
        SureflowError, match=r"there are no quantities: they are read off velocity, density .* have p, and no numbers$"
    ):
        model.quantities(a=2.5)


def test_density_and_temperature_are_positive_wherever_a_prediction_goes(tmp_path):
    """Interpolation alone gives negative temperatures and densities far outside of these runs."""
    few = synthetic.runs().select(np.array([6, 7, 8, 11, 12, 13, 16, 17, 18]))
    model = learn(few, Specification(InterpolationSettings(), "none"))
    asked = np.array([[2.5, 85.0], [39.0, 1.0], [3.0, 2.0], [38.0, 84.0]])
    unbound = replace(model, predictor=replace(model.predictor, floors=()))
    assert (np.asarray(unbound.raw_predictive(asked).mean)[:, 2:] <= 0).any()
    assert (np.asarray(model.raw_predictive(asked).mean)[:, 2:] > 0).all()
    assert (model.samples(asked, 50)[:, :, 2:] > 0).all()
    # Inside, nothing is lifted.
    inside = np.array([[20.0, 40.0], [18.0, 36.0]])
    np.testing.assert_array_equal(model.raw_predictive(inside).mean, unbound.raw_predictive(inside).mean)
    model.save(tmp_path)
    np.testing.assert_array_equal(sureflow.load(tmp_path).raw_predictive(asked).mean, model.raw_predictive(asked).mean)


def test_temperatures_and_speeds_keep_to_what_the_enthalpy_allows_wherever_a_prediction_goes(tmp_path):
    few = synthetic.runs().select(np.array([6, 7, 8, 11, 12, 13, 16, 17, 18]))
    model = learn(few, Specification(InterpolationSettings(), "none")).calibrate(few, folds=True)
    asked = np.array([[2.5, 85.0], [39.0, 1.0], [3.0, 2.0], [38.0, 84.0]])
    limits = model.predictor.limits
    assert limits is not None
    hottest, fastest = (limit[:, None] * (1 + 1e-12) for limit in limits.at(asked))

    def is_within(fields: np.ndarray) -> bool:
        speed = np.hypot(fields[..., 0, :], fields[..., 1, :])
        return bool((speed <= fastest).all() and (fields[..., 3, :] <= hottest).all())

    unbound = replace(model, predictor=replace(model.predictor, limits=None))
    assert not is_within(np.asarray(unbound.raw_predictive(asked).mean))
    assert is_within(np.asarray(model.raw_predictive(asked).mean))
    assert is_within(model.samples(asked, 20))
    assert is_within(answer_samples(model, model.answer(asked), asked, 20))
    for end in promised(model, asked).quantiles.values():
        assert (np.abs(end[:, :2]) <= fastest[:, None]).all()
        assert (end[:, 3] <= hottest).all()
    inside = np.array([[20.0, 40.0], [18.0, 36.0]])
    np.testing.assert_array_equal(model.raw_predictive(inside).mean, unbound.raw_predictive(inside).mean)
    model.save(tmp_path)
    np.testing.assert_array_equal(sureflow.load(tmp_path).raw_predictive(asked).mean, model.raw_predictive(asked).mean)


def test_the_lower_ends_of_intervals_are_positive():
    model = learn(synthetic.runs(), Specification(InterpolationSettings(), "none")).calibrate(
        synthetic.runs(), folds=True
    )
    field = model.predict(mach=[11.0, 38.0], altitude_km=[59.0, 2.0], extrapolate=True)
    for name in ("rho", "T"):
        for width in ("interval90", "band90"):
            if f"{name}_{width}" in field:
                assert (field[name] - field[f"{name}_{width}"] > 0).all()
