import numpy as np
import pytest

import synthetic
from sureflow.data.normalize import Normalizer
from sureflow.predictive import Predictive


@pytest.fixture(scope="module")
def normalizer():
    return Normalizer.fit(synthetic.dataset(), "xr")


def test_training_data_have_zero_mean_and_unit_deviation(normalizer):
    view = normalizer.training_view(synthetic.dataset(), "xr")
    for values, axes in ((view.fields, (1, 2)), (view.parameters, 0), (view.coordinates, 0)):
        np.testing.assert_allclose(np.mean(values, axis=axes), 0, atol=1e-5)
        np.testing.assert_allclose(np.std(values, axis=axes), 1, atol=1e-5)


def test_physical_inverts_the_training_view(normalizer):
    data = synthetic.dataset()
    view = normalizer.training_view(data, "xr")
    mean = np.swapaxes(view.fields, 0, 1)
    back = normalizer.physical(Predictive(mean, {"epistemic": np.ones_like(mean)}))
    np.testing.assert_allclose(back.mean, data.fields, rtol=1e-5, atol=1e-4)
    deviation = data.fields.std(axis=(0, 2))
    np.testing.assert_allclose(back.parts["epistemic"], np.broadcast_to(deviation[:, None], mean.shape))


def test_a_constant_column_is_only_shifted():
    data = synthetic.dataset()
    data.parameters[:, 1] = 30.0
    normalizer = Normalizer.fit(data, "xr")
    np.testing.assert_array_equal(normalizer.network_parameters(np.array([[20.0, 31.0]]))[:, 1], [1.0])


def test_plain_numbers_give_the_same_normalizer(normalizer):
    again = Normalizer.from_dict(normalizer.to_dict())
    for name, standard in vars(normalizer).items():
        np.testing.assert_array_equal(getattr(again, name).mean, standard.mean)
        np.testing.assert_array_equal(getattr(again, name).std, standard.std)
