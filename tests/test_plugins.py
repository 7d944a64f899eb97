"""A user's own model, network, head, sampler, scaling, split, gas, flux, importer and exporter (`extensions.py`), in use."""

import importlib
import json
import sys

import numpy as np
import pytest

import kinds_of_runs
import sureflow
import synthetic
from sureflow.data.runs import Runs
from sureflow.data.scaling import SCALINGS
from sureflow.data.splits import SPLITS
from sureflow.data.streams import Flight
from sureflow.errors import SureflowError
from sureflow.export.exporters import EXPORTERS, write_dataset
from sureflow.flow.mesh import MeshSettings, body_mesh
from sureflow.flow.riemann import FLUXES
from sureflow.flow.solve import scheme, solve_flow
from sureflow.flow.steer import SolverSettings
from sureflow.heads import HEADS
from sureflow.importers import IMPORTERS
from sureflow.models import MODELS, NETWORKS
from sureflow.physics.correlations import pitot_ratio
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import GASES, describe_gas, gas_from
from sureflow.samplers import SAMPLERS
from sureflow.study.agenda import load_study
from sureflow.study.conduct import run_study
from sureflow.study.work import Audience
from sureflow.surrogate.experiment import read_experiment
from sureflow.surrogate.fit import Listener
from sureflow.surrogate.workshop import calibrate_in, train_into

REGISTRIES = (
    MODELS,
    NETWORKS,
    HEADS,
    SAMPLERS,
    SCALINGS,
    SPLITS,
    GASES,
    FLUXES,
    IMPORTERS,
    EXPORTERS,
)
TRAIN = {"epochs": 30, "batch": 128, "points_per_run": "all", "learning_rate": 1e-2}
# Everything of one's own at once: a network that draws, its head, how often it is asked, and the scaling.
NETWORK = {
    "model": {"name": "dropped", "width": 24},
    "head": "laplace",
    "sampler": {"name": "thinned", "passes": 4},
    "scaling": "root",
}

# On so few cells a shock is thick, in helium it stands far off as well: room for both.
ROOMY = MeshSettings(cells=(16, 24), wall_spacing=2e-4, nose_margin=3.0, base_margin=2.0)


@pytest.fixture(scope="module", autouse=True)
def extensions():
    """The user's module, whose entries leave the registries with the last test."""
    before = [dict(registry.entries) for registry in REGISTRIES]
    yield importlib.import_module("extensions")
    sys.modules.pop("extensions")
    for registry, entries in zip(REGISTRIES, before, strict=True):
        registry.entries.clear()
        registry.entries.update(entries)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return kinds_of_runs.runs("block")


@pytest.fixture(scope="module")
def networks(runs):
    training, _ = runs.split(test=10, seed=0)
    return sureflow.fit(training, **NETWORK, train=TRAIN)


def test_everything_is_chosen_by_name(extensions):
    assert MODELS.build("shepard") == extensions.ShepardSettings()
    assert HEADS.build({"name": "laplace"}) == extensions.Laplace()
    assert SCALINGS["root"] is extensions.RootScaling
    assert gas_from({"model": "helium"}) == extensions.Helium()


def test_a_model_of_ones_own_goes_all_the_way(runs, tmp_path):
    training, test = runs.split(test=8, seed=0)
    model = sureflow.fit(training, {"name": "shepard", "power": 5}, scaling="root")
    assert (model.model_name, model.uq) == ("shepard", "distance")
    assert model.calibration is not None
    field = model.predict(angle=0.7, thickness=0.4)
    np.testing.assert_allclose(field.p.values.ravel(), kinds_of_runs.fields(np.array([[0.7, 0.4]]))["p"][0], rtol=0.2)
    model.save(tmp_path / "model")
    loaded = sureflow.load(tmp_path / "model")
    assert loaded.spec == model.spec
    assert loaded.predict(angle=0.7, thickness=0.4).identical(field)
    table = sureflow.evaluate(loaded, test).table()
    assert table.mae.notna().all()


def test_a_model_of_ones_own_competes_with_the_others(runs):
    model = sureflow.fit(runs, {"name": "auto", "candidates": ["shepard", "interpolation"], "folds": 3})
    assert {row["model"] for row in model.comparison} == {"shepard", "interpolation"}
    assert model.model_name == "interpolation"


def test_a_network_head_sampler_and_scaling_of_ones_own_learn(runs, networks, extensions):
    assert networks.settings.network == extensions.DroppedSettings(width=24)
    assert networks.settings.head == extensions.Laplace()
    assert networks.settings.sampler == extensions.Thinned(passes=4)
    assert networks.uq == "laplace"
    predicted = networks.predictive(runs.parameters)
    truth = runs.array()
    error = np.abs(predicted.mean - truth).mean(axis=(0, 2)) / truth.std(axis=(0, 2))
    assert (error < 0.6).all()
    assert {*predicted.parts} == {"discrepancy", "epistemic"}
    assert (predicted.parts["epistemic"] > 0).any()


def test_a_sampler_that_draws_gives_the_same_answers_twice_and_different_ones_by_pass(networks):
    asked = np.array([[0.7, 0.4]])
    first, again = networks.predictive(asked), networks.predictive(asked)
    np.testing.assert_array_equal(first.mean, again.mean)
    samples = networks.samples(asked, 10)
    assert samples.shape == (4, 1, 2, 20)
    assert len(np.unique(samples[:, 0, 0, 0])) == 4


def test_networks_of_ones_own_are_calibrated_saved_loaded_and_evaluated(runs, networks, tmp_path):
    fresh = kinds_of_runs.runs("block", np.random.default_rng(0).uniform([0.0, 0.3], [2.0, 0.6], size=(12, 2)))
    calibrated = networks.calibrate(fresh)
    assert calibrated.calibration.fields.exact
    calibrated.save(tmp_path)
    loaded = sureflow.load(tmp_path)
    assert loaded.predict(angle=0.7, thickness=0.4).identical(calibrated.predict(angle=0.7, thickness=0.4))
    _, test = runs.split(test=10, seed=0)
    assert sureflow.evaluate(loaded, test).table().mae.notna().all()


def test_an_interrupted_training_with_a_sampler_that_draws_goes_on_to_the_same_bits(runs, tmp_path):
    class Killed(BaseException):
        pass

    def kill(report):
        if report.epoch == 2:
            raise Killed

    options = {**NETWORK, "train": TRAIN | {"epochs": 4}}
    whole = sureflow.fit(runs, **options)
    with pytest.raises(Killed):
        sureflow.fit(runs, **options, folder=tmp_path, listener=Listener(epoch=kill))
    resumed = sureflow.fit(runs, **options, folder=tmp_path)
    asked = np.array([[0.7, 0.4]])
    np.testing.assert_array_equal(resumed.predictive(asked).mean, whole.predictive(asked).mean)


def test_experiments_name_them_and_train_into_folders(runs, tmp_path):
    runs.save(tmp_path / "runs.zarr")
    path = tmp_path / "experiment.toml"
    path.write_text(
        f'runs = "{tmp_path / "runs.zarr"}"\noutput = "{tmp_path / "model"}"\nscaling = "root"\n'
        '[model]\nname = "shepard"\n[split]\nkind = "every-other"\nstep = 3\n'
    )
    trained = train_into(read_experiment(path))
    assert len(trained.surrogate.domain.parameters) == 20
    assert read_experiment(tmp_path / "model" / "experiment.toml") == read_experiment(path)
    calibrated = calibrate_in(tmp_path / "model", runs.select(np.arange(30) % 3 != 1), folds=True)
    assert calibrated.calibration is not None


def test_they_take_part_in_studies(runs, tmp_path):
    runs.save(tmp_path / "runs.zarr")
    (tmp_path / "own.toml").write_text(
        f'runs = "{tmp_path / "runs.zarr"}"\n[split]\nkind = "every-other"\nstep = 3\n[train]\nepochs = 2\nbatch = 64\n'
        '[[models]]\nlabel = "own"\nmodel = "shepard"\nscaling = "root"\ncalibrate = true\n'
        '[[models]]\nlabel = "own-network"\nmodel = "dropped"\nhead = "laplace"\nscaling = "root"\n'
        'sampler = { name = "thinned", passes = 3 }\n'
    )
    said = []
    audience = Audience(say=said.append, advance=lambda done, note: None, begin=lambda total: None)
    report = run_study(tmp_path / "study", load_study(str(tmp_path / "own.toml")), audience)
    assert report.stat().st_size > 1000
    rows = json.loads((tmp_path / "study" / "results.json").read_bytes())["rows"]
    assert {row["label"] for row in rows} == {"own", "own-network"}
    assert {row["domain"] for row in rows} == {"between"}
    assert all(np.isfinite(row["mae"]) for row in rows)


def test_a_gas_of_ones_own_flows_and_is_learned_from(extensions, tmp_path):
    helium = extensions.Helium()
    mesh = body_mesh(settings=ROOMY)
    solution = solve_flow(FlightCondition(10, 40), mesh, gas=helium)
    assert solution.convergence.status == "converged"
    assert solution.record()["pitot_ratio"] == pytest.approx(pitot_ratio(10, gamma=5 / 3), rel=0.05)
    assert describe_gas(helium) == {"model": "helium", "gas_constant": 2077.1}
    flights = synthetic.runs()
    runs = Runs.from_arrays(
        dict(zip(flights.parameter_names, flights.parameters.T, strict=True)),
        flights.geometry.points,
        dict(zip(flights.names, flights.array().swapaxes(0, 1), strict=True)),
        dict(zip(flights.names, flights.units, strict=True)),
        Flight(helium),
        axes=("x", "r"),
        shape=synthetic.SHAPE,
        nodes=flights.geometry.nodes,
        gas=helium,
    )
    model = sureflow.fit(runs, "interpolation")
    assert model.spec.scaling == "freestream"
    model.save(tmp_path)
    loaded = sureflow.load(tmp_path)
    assert loaded.header.gas == helium
    ask = {"mach": 21, "altitude_km": 47}
    assert loaded.quantities(**ask).identical(model.quantities(**ask))
    assert float(loaded.quantities(**ask).stagnation_pressure) != float(
        sureflow.fit(flights, "interpolation").quantities(**ask).stagnation_pressure
    )


def test_a_flux_of_ones_own_carries_the_flow():
    mesh = body_mesh(settings=ROOMY)
    chosen = SolverSettings(flux="lax-friedrichs")
    assert scheme(chosen)["flux"] == "lax-friedrichs"
    solution = solve_flow(FlightCondition(20, 40), mesh, settings=chosen)
    assert solution.convergence.status == "converged"
    # On so coarse a mesh the most diffusive of all fluxes loses a tenth of the stagnation pressure.
    assert solution.record()["pitot_ratio"] == pytest.approx(pitot_ratio(20), rel=0.2)


def test_an_importer_and_an_exporter_of_ones_own(tmp_path):
    angle, x = np.linspace(0, 4, 12), np.linspace(0, 1, 20)
    np.savetxt(tmp_path / "runs.table", np.column_stack([angle, np.sin(angle[:, None] + x)]))
    runs = sureflow.open_runs(tmp_path / "runs.table", units={"p": "Pa"})
    assert repr(runs) == "12 runs over angle (0..4): p (Pa) at 20 points in x"
    field = sureflow.fit(runs, "interpolation").predict(angle=1.3)
    write_dataset(field, tmp_path / "field.table")
    np.testing.assert_allclose(np.loadtxt(tmp_path / "field.table")[:, 0], np.sin(1.3 + x), atol=0.01)
    with pytest.raises(SureflowError, match="cannot be read with size"):
        sureflow.open_runs(tmp_path / "runs.table", size=3)


def test_a_model_whose_kind_is_not_there_says_what_is(runs, tmp_path, extensions):
    sureflow.fit(runs, "shepard", calibrate=False).save(tmp_path)
    entry = MODELS.entries.pop("shepard")
    try:
        with pytest.raises(SureflowError, match=r"specification.model.name='shepard' is not one of auto"):
            sureflow.load(tmp_path)
    finally:
        MODELS.entries["shepard"] = entry
    assert sureflow.load(tmp_path).model_name == "shepard"
    assert entry is extensions.ShepardSettings
