import numpy as np
import pytest

import synthetic
from data.own_runs import moving, structured
from sureflow import scratch
from sureflow.data.normalize import Normalizer, Standard, normalized_fields
from sureflow.data.runs import Runs
from sureflow.data.scaling import scaling_for
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.surrogate.fit import fit

each_scaling = pytest.mark.parametrize("name", ["none", "freestream", "log-density"])


def fitted(name="none", runs=None):
    runs = runs or synthetic.runs()
    scaling = scaling_for(name, runs)
    return scaling, Normalizer.fit(runs, scaling, "physical")


@each_scaling
def test_the_statistics_are_numpys_to_the_bit(name):
    """Networks are compared bit for bit with those of earlier versions, which computed them so."""
    runs = synthetic.runs()
    scaling, normalizer = fitted(name)
    fields = scaling.forward(runs.array(), runs.parameters)
    mean, std = fields.mean(axis=(0, 2)), fields.std(axis=(0, 2))
    np.testing.assert_array_equal(normalizer.fields.mean, mean)
    np.testing.assert_array_equal(normalizer.fields.std, std)
    normalized = normalized_fields(runs, scaling, normalizer)
    np.testing.assert_array_equal(normalized, (fields - mean[:, None]) / std[:, None])
    assert normalized.dtype == float


@each_scaling
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_runs_than_fit_into_memory(name, dtype, monkeypatch):
    small = synthetic.runs()
    runs = type(small).from_arrays(
        dict(zip(small.parameter_names, small.parameters.T, strict=True)),
        small.coordinates("physical"),
        dict(zip(small.names, small.array().swapaxes(0, 1).astype(dtype), strict=True)),
        dict(zip(small.names, small.units, strict=True)),
        small.header.stream,
    )
    scaling, held = fitted(name, runs)
    expected = normalized_fields(runs, scaling, held)
    monkeypatch.setattr(scratch, "IN_MEMORY", 100)
    _, in_passes = fitted(name, runs)
    np.testing.assert_allclose(in_passes.fields.mean, held.fields.mean, rtol=1e-13)
    np.testing.assert_allclose(in_passes.fields.std, held.fields.std, rtol=1e-13)
    found = normalized_fields(runs, scaling, held)
    assert isinstance(found, np.memmap)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected.astype(dtype))


def test_training_runs_have_zero_mean_and_unit_deviation():
    runs = synthetic.runs()
    scaling, normalizer = fitted("freestream")
    for values, axes in (
        (normalized_fields(runs, scaling, normalizer), (0, 2)),
        (normalizer.inputs.forward(scaling.inputs(runs.parameters)), 0),
        (normalizer.coordinates.forward(runs.coordinates("physical")), 0),
    ):
        np.testing.assert_allclose(values.mean(axis=axes), 0, atol=1e-12)
        np.testing.assert_allclose(values.std(axis=axes), 1, atol=1e-12)


def test_physical_inverts_the_normalization():
    runs = synthetic.runs()
    scaling, normalizer = fitted()
    mean = normalized_fields(runs, scaling, normalizer)
    back = normalizer.physical(Predictive(mean, {"epistemic": np.ones_like(mean)}))
    np.testing.assert_allclose(back.mean, runs.array(), rtol=1e-12, atol=1e-9)
    deviation = runs.array().std(axis=(0, 2))
    np.testing.assert_allclose(back.parts["epistemic"], np.broadcast_to(deviation[:, None], mean.shape))


def test_a_constant_column_is_only_shifted():
    standard = Standard.fit(np.array([[30.0], [30.0]]), axis=0)
    np.testing.assert_array_equal(standard.forward(np.array([[31.0]])), [[1.0]])


def test_rounding_is_not_a_variation():
    column = np.array([300.0, np.nextafter(300.0, 301.0), 300.0])[:, None]
    assert Standard.fit(column, axis=0).std == 1.0


def test_points_that_move_count_in_all_runs():
    runs = moving()
    points = np.concatenate([runs.coordinates("physical", case) for case in range(len(runs))])
    standard = Standard.of_points(runs, "physical")
    np.testing.assert_allclose(standard.mean, points.mean(axis=0))
    np.testing.assert_allclose(standard.std, points.std(axis=0))
    shared = Standard.of_points(runs, "body-fitted")
    np.testing.assert_array_equal(shared.mean, Standard.of_points(structured(), "body-fitted").mean)


def test_plain_numbers_give_the_same_normalizer():
    _, normalizer = fitted("freestream")
    values = normalizer.to_dict()
    version_1 = {"parameters": values["inputs"], **{name: values[name] for name in ("coordinates", "fields")}}
    for again in (Normalizer.from_dict(values), Normalizer.from_dict(version_1)):
        for name, standard in vars(normalizer).items():
            np.testing.assert_array_equal(getattr(again, name).mean, standard.mean)
            np.testing.assert_array_equal(getattr(again, name).std, standard.std)


@pytest.mark.parametrize(
    ("a", "p", "sentence"), [(1e200, 1.0, r"^a reaches 2e\+200"), (1.0, 1e305, r"^p reaches 4.2e\+305")]
)
def test_numbers_that_cannot_be_squared_are_refused(a, p, sentence):
    values, x = np.linspace(0.0, 2.0, 9), np.linspace(0.0, 1.0, 6)[:, None]
    runs = Runs.from_arrays({"a": a * values}, x, {"T": np.ones((9, 6)), "p": p * (values[:, None] + 2.2 * np.ones(6))})
    with pytest.raises(SureflowError, match=f"{sentence} in the runs, .* give it in a larger unit$"):
        fit(runs, "interpolation")


def test_logarithms_of_large_parameters_are_no_trouble():
    values, x = np.geomspace(1e160, 1e200, 9), np.linspace(0.0, 1.0, 6)[:, None]
    runs = Runs.from_arrays({"a": values}, x, {"p": np.log(values)[:, None] * np.ones(6)}, logarithmic=["a"])
    assert fit(runs, "interpolation").predict(a=1e180).attrs["verdict"] == "inside"
