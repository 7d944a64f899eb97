import numpy as np
import pytest

import synthetic
from sureflow.errors import SureflowError
from sureflow.heads import MVE, Deterministic
from sureflow.learn import learn
from sureflow.models import DeepONetSettings
from sureflow.train.loop import Recipe, TrainSettings

SMALL = DeepONetSettings(encoder_width=8, decoder_width=16, decoder_layers=2, fourier_octaves=2)


@pytest.fixture(scope="module")
def surrogate():
    recipe = Recipe(SMALL, MVE(), 2, TrainSettings(epochs=150, batch=128, points_per_run="all", learning_rate=1e-2))
    return learn(synthetic.dataset(), recipe, "body-fitted")


def test_fields_are_learned_in_physical_units(surrogate):
    data = synthetic.dataset()
    predicted = surrogate.predictive(data.parameters)
    error = np.abs(predicted.mean - data.fields).mean(axis=(0, 2)) / data.fields.std(axis=(0, 2))
    assert (error < 0.1).all()


def test_a_prediction_is_labelled(surrogate):
    field = surrogate.predict(mach=25, altitude_km=46)
    assert field.u1.dims == ("j", "i")
    assert field.u1.shape == synthetic.SHAPE
    assert field.T_std.attrs == {"units": "K", "long_name": "standard deviation of the temperature"}
    assert field.attrs["verdict"] == "inside"
    np.testing.assert_allclose(field.rho_std**2, field.rho_std_epistemic**2 + field.rho_std_discrepancy**2)


def test_several_conditions_give_the_fields_of_each(surrogate):
    both = surrogate.predict(mach=[12.0, 35.0], altitude_km=30.0)
    assert both.u1.dims == ("case", "j", "i")
    np.testing.assert_allclose(both.u1[1], surrogate.predict(mach=35.0, altitude_km=30.0).u1, rtol=1e-5)
    np.testing.assert_allclose(both.extrapolation, [0, 0.25])
    assert both.attrs["verdict"].startswith("1 of 2 conditions are extrapolated")


def test_points_on_the_mesh_agree_with_the_mesh(surrogate):
    field = surrogate.predict(mach=25, altitude_km=46)
    points = np.column_stack([field.x.values.ravel(), field.r.values.ravel()])
    at_points = surrogate.predict(mach=25, altitude_km=46, points=points)
    assert at_points.u1.dims == ("point",)
    difference = np.abs(at_points.u1.values - field.u1.values.ravel())
    assert difference.max() < 0.05 * np.ptp(field.u1.values)


def test_wrong_questions_are_refused(surrogate):
    with pytest.raises(SureflowError, match="takes mach, altitude_km; given: mach"):
        surrogate.predict(mach=25)
    with pytest.raises(SureflowError, match="must be finite"):
        surrogate.predict(mach=np.nan, altitude_km=46)
    with pytest.raises(SureflowError, match="outside the mesh"):
        surrogate.predict(mach=25, altitude_km=46, points=[[5.0, 5.0]])
    with pytest.raises(SureflowError, match=r"points must be \(point, 2\); their shape is \(2,\)"):
        surrogate.predict(mach=25, altitude_km=46, points=[0.1, 0.3])
    with pytest.raises(SureflowError, match="given: 2 of mach, 3 of altitude_km"):
        surrogate.predict(mach=[20, 25], altitude_km=[30, 40, 50])


def test_a_single_deterministic_network_claims_no_error_bar():
    recipe = Recipe(SMALL, Deterministic(), 1, TrainSettings(epochs=1, batch=128, points_per_run=8))
    field = learn(synthetic.dataset(), recipe, "xr").predict(mach=25, altitude_km=46)
    assert "u1" in field
    assert not [name for name in field if "_std" in str(name)]
