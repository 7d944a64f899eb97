"""Whether runs belong to a model, and which of them it has seen."""

from dataclasses import replace

import numpy as np
import pytest

import kinds_of_runs
import synthetic
from sureflow.data.header import Variable
from sureflow.data.meshes import Geometry
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.surrogate.learning import learn
from sureflow.surrogate.matching import matched, runs_at, trained_runs
from sureflow.surrogate.specification import specification

SPEC = specification({"model": "interpolation"})


@pytest.fixture(scope="module")
def models():
    return {kind: learn(kinds_of_runs.runs(kind), SPEC) for kind in kinds_of_runs.KINDS}


def turned() -> Runs:
    """The runs on the block with parameters and fields the other way round."""
    runs = kinds_of_runs.runs("block")
    assert runs.geometry is not None
    return Runs.from_arrays(
        dict(zip(runs.parameter_names[::-1], runs.parameters.T[::-1], strict=True)),
        runs.geometry.points,
        dict(zip(runs.names[::-1], runs.array().swapaxes(0, 1)[::-1], strict=True)),
        kinds_of_runs.UNITS,
        shape=kinds_of_runs.SHAPE,
        nodes=runs.geometry.nodes,
    )


def test_parameters_and_fields_are_put_in_the_order_of_the_model(models):
    found = matched(turned(), models["block"])
    assert found.parameter_names == models["block"].parameter_names
    assert found.names == models["block"].names
    np.testing.assert_array_equal(found.array(), kinds_of_runs.runs("block").array())
    np.testing.assert_array_equal(found.parameters, kinds_of_runs.conditions())


@pytest.mark.parametrize("model", kinds_of_runs.KINDS)
@pytest.mark.parametrize("runs", kinds_of_runs.KINDS)
def test_runs_on_another_kind_of_mesh_are_refused(models, model, runs):
    if runs == model:
        assert len(matched(kinds_of_runs.runs(runs), models[model])) == 30
        return
    with pytest.raises(SureflowError, match="the mesh of these runs differs in kind"):
        matched(kinds_of_runs.runs(runs), models[model])


def test_runs_on_another_mesh_are_refused(models):
    runs = kinds_of_runs.runs("block")
    assert runs.geometry is not None
    away = replace(runs, geometry=Geometry(runs.geometry.points + 0.01, runs.geometry.nodes))
    with pytest.raises(SureflowError, match=r"lie up to 0\.01 from those of the model's mesh"):
        matched(away, models["block"])
    points, fields = np.zeros((9, 2)), np.zeros((30, 9))
    points[:, 0] = np.arange(9.0)
    at = dict(zip(runs.parameter_names, runs.parameters.T, strict=True))
    fewer = Runs.from_arrays(at, points, {"p": fields, "T": fields})
    with pytest.raises(SureflowError, match="trained on a mesh of 20 points and these runs have 9"):
        matched(fewer, models["block"])


def test_other_fields_and_parameters_are_refused(models):
    with pytest.raises(
        SureflowError, match="the model predicts p, T and these runs have u1, u2, rho, T: give runs with"
    ):
        matched(synthetic.runs(), models["block"])
    flights = learn(synthetic.runs(), SPEC)
    header = synthetic.runs().header
    named = replace(header, stream=None, parameters=(replace(header.parameters[0], name="speed"), header.parameters[1]))
    with pytest.raises(SureflowError, match="the model takes mach, altitude_km and these runs have speed, altitude_km"):
        matched(replace(synthetic.runs(), header=named), flights)


def test_other_units_are_refused_and_unknown_ones_are_taken_for_the_same(models):
    runs = kinds_of_runs.runs("block")
    in_celsius = replace(runs.header, fields=(runs.header.fields[0], Variable("T", "degC")))
    with pytest.raises(SureflowError, match="the model predicts T in K and these runs have it in degC: convert it"):
        matched(replace(runs, header=in_celsius), models["block"])
    unknown = replace(runs.header, fields=(runs.header.fields[0], Variable("T")))
    assert matched(replace(runs, header=unknown), models["block"]).units == ("Pa", "K")


def test_training_runs_are_known_by_their_conditions(models):
    conditions = np.concatenate([kinds_of_runs.conditions()[:20], [[0.33, 0.44]]])
    domain = models["block"].domain
    trained, complete = trained_runs(kinds_of_runs.runs("block", conditions), domain)
    assert trained.tolist() == [True] * 20 + [False]
    assert not complete
    rounded = kinds_of_runs.runs("block", kinds_of_runs.conditions() * (1 + 1e-13))
    assert trained_runs(rounded, domain) == (pytest.approx(np.ones(30)), True)
    found, complete = runs_at(kinds_of_runs.runs("block"), np.array([[0.4, 0.3], [9.0, 9.0]]), domain)
    assert found.sum() == 1
    assert not complete
