"""A model as a component of OpenMDAO: its derivatives, and an optimum that they find."""

import warnings

import numpy as np
import pytest

import sureflow as sf
from sureflow.data.header import Header
from sureflow.data.meshes import Cells, Geometry, Topology
from sureflow.data.sources import ArrayFields

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sureflow.openmdao import SurrogateComponent, om

pytestmark = pytest.mark.filterwarnings("ignore")  # OpenMDAO's own

N = 12
QUANTITIES = [
    {"name": "load", "kind": "integral", "field": "p"},
    {"name": "push", "kind": "force", "field": "p", "direction": [0.0, 1.0]},
]


def runs(*, moving: bool) -> sf.Runs:
    """p = (a - 0.6)^2 + (b - 0.3)^2 + 1 + x, over a line in the plane that may stretch with a."""
    a, b = (values.ravel() for values in np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5)))
    x = np.linspace(0.0, 1.0, N + 1)
    nodes = np.stack([x, 0.1 * x**2], axis=1)
    corners = np.column_stack([np.arange(N), np.arange(1, N + 1)]).ravel()
    topology = Topology(cells=Cells(corners, np.arange(0, 2 * N + 1, 2), np.full(N, 3)))
    stretch = 1.0 + 0.2 * a if moving else np.ones_like(a)
    geometries = [Geometry(0.5 * s * (nodes[1:] + nodes[:-1]), s * nodes) for s in stretch]
    bowl = (a - 0.6) ** 2 + (b - 0.3) ** 2 + 1.0
    fields = ArrayFields((bowl[:, None] + geometries[0].points[:, 0])[:, None])
    header = Header(
        parameters=({"name": "a"}, {"name": "b"}), fields=({"name": "p"},), axes=("x", "y"), quantities=QUANTITIES
    )
    conditions = np.column_stack([a, b])
    if moving:
        return sf.Runs(header, conditions, fields, topology, None, geometries.__getitem__)
    return sf.Runs(header, conditions, fields, topology, geometries[0])


@pytest.mark.parametrize(
    ("model", "moving"),
    [("interpolation", False), ("interpolation", True), ("pod-gp", False), ("pod-deeponet", False), ("deeponet", True)],
)
def test_derivatives_are_those_of_the_quantities(model, moving):
    settings = {"uq": "deterministic", "train": {"epochs": 2}} if model == "deeponet" else {}
    surrogate = sf.fit(runs(moving=moving), model, calibrate=False, **settings)
    at, step = {"a": 0.42, "b": 0.61}, 1e-3 if "deeponet" in model else 1e-4
    slopes = surrogate.quantity_slopes(**at)

    def values(**moved):
        found = surrogate.quantities(**(at | moved))
        return np.array([found["load"].item(), found["push"].item()])

    expected = [(values(**{n: at[n] + step}) - values(**{n: at[n] - step})) / (2 * step) for n in ("a", "b")]
    loose = "deeponet" in model  # which computes in single precision
    np.testing.assert_allclose(slopes.T, expected, rtol=1e-2 if loose else 1e-5, atol=2e-3 if loose else 1e-7)


def test_an_optimizer_finds_the_lowest_load(tmp_path):
    model = sf.fit(runs(moving=False), "interpolation")
    model.save(tmp_path / "model")
    problem = om.Problem(reports=False)
    problem.model.add_subsystem("flow", SurrogateComponent(model=str(tmp_path / "model")), promotes=["*"])
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-9, disp=False)
    for name in ("a", "b"):
        problem.model.add_design_var(name, lower=0.05, upper=0.95)
    problem.model.add_objective("load")
    problem.setup()
    problem.set_val("a", 0.15)
    problem.set_val("b", 0.9)
    problem.run_driver()
    # The optimum of the model itself, which is near that of the formula.
    assert (problem.get_val("a")[0], problem.get_val("b")[0]) == pytest.approx((0.6, 0.3), abs=0.02)
    assert problem.get_val("load_std")[0] >= 0.0
    checked = problem.check_partials(out_stream=None, step=1e-6)["flow"]
    for (name, _), pair in checked.items():
        assert name.endswith("_std") or pair["abs error"].forward < 1e-4


def test_a_refused_condition_turns_the_driver_back():
    problem = om.Problem(reports=False)
    model = sf.fit(runs(moving=False), "interpolation")
    problem.model.add_subsystem("flow", SurrogateComponent(model=model), promotes=["*"])
    problem.setup()
    problem.set_val("a", 40.0)
    with pytest.raises(om.AnalysisError, match="refused"):
        problem.run_model()
