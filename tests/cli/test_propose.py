"""`sureflow propose`: the next runs in a table, a file and a picture."""

import numpy as np
import pytest

import campaigns
import sureflow as sf
import synthetic
from sureflow.campaign.campaign import load_campaign


@pytest.fixture
def model(tmp_path):
    campaigns.run(tmp_path / "runs.zarr", campaigns.square(3))
    sf.fit(sf.open_runs(tmp_path / "runs.zarr"), "interpolation", calibrate=False).save(tmp_path / "model")
    return "model"


def test_proposals_come_as_table_campaign_and_picture(run, model, tmp_path):
    ended = run("propose", model, "runs.zarr", "--count", "3", "-o", "next.toml", "--picture", "next.png")
    assert ended.out.startswith(" mach  altitude_km")
    assert "steps: what the run is expected to take" in ended.out
    assert "mean_std: the standard deviation that the model expects" in ended.out
    assert "criterion: integrated-bar, as the model knows covariances between conditions" in " ".join(ended.out.split())
    campaign = load_campaign(str(tmp_path / "next.toml"))
    assert len(campaign.rows()) == 3
    assert (tmp_path / "next.png").stat().st_size > 10_000
    store = campaigns.run(tmp_path / "runs.zarr", campaign)
    assert len(store) == 12


def test_a_table_has_the_parameters_first(run, model, tmp_path):
    run("propose", model, "--count", "2", "--criterion", "largest-bar:maximum", "-o", "next.csv")
    header, *rows = (tmp_path / "next.csv").read_text().splitlines()
    assert header == "mach,altitude_km,gain,distance,mean_std"
    assert len(rows) == 2


def test_bad_input_ends_in_a_sentence(refused, model, tmp_path):
    assert "is not one of .csv, .toml" in refused("propose", model, "-o", "next.txt")
    assert "needs the store of runs" in refused("propose", model, "-o", "next.toml")
    assert "is not a picture: end it in .png, .pdf, .svg" in refused("propose", model, "--picture", "next.xyz")
    assert "number called steps" in refused("propose", model, "--per-cost")
    (tmp_path / "next.csv").write_text("mine")
    assert "(--overwrite)" in refused("propose", model, "-o", "next.csv")
    assert "--levels needs the store of runs" in refused("propose", model, "--levels")
    assert "there are runs on one mesh only" in refused("propose", model, "runs.zarr", "--levels")
    assert "its folder does not exist" in refused("propose", model, "-o", "nowhere/next.csv")
    assert "seed=-1 must be 0 or more" in refused("propose", model, "--seed", "-1")
    others = np.linspace(0, 1, 5)
    sf.Runs.from_arrays({"angle": others}, others[:, None], {"p": np.outer(others, others)}).save(tmp_path / "o.zarr")
    assert "have the parameters angle, and the model mach, altitude_km" in refused("propose", model, "o.zarr")


def test_what_is_cut_off_and_what_counts_is_told(run, model, tmp_path):
    campaigns.run(tmp_path / "runs.zarr", campaigns.square(4))
    (tmp_path / "use.toml").write_text("[ranges]\nmach = [10, 1e9]\n")
    ended = run("propose", model, "runs.zarr", "--count", "2", "--region", "use.toml")
    assert "mach is taken from 10..40: nothing can be computed beyond" in " ".join(ended.remarks.split())
    assert "of runs.zarr count as computed, though the model has not learned from them" in " ".join(ended.out.split())


def test_the_mesh_of_each_run_is_chosen_too(run, refused, tmp_path):
    fine, coarse = synthetic.runs(synthetic.grid()[::3], (12, 16)), synthetic.runs()
    for name, runs in (("fine", fine), ("coarse", coarse)):
        runs.save(tmp_path / f"{name}.zarr")
    assert "give that of a coarser mesh too" in refused("runs", "levels", "fine.zarr", "-o", "both.zarr")
    assert "exchange the two stores" in refused("runs", "levels", "coarse.zarr", "fine.zarr", "-o", "both.zarr")
    ended = run("runs", "levels", "fine.zarr", "coarse.zarr", "-o", "both.zarr")
    assert "coarser: 25 runs" in ended.out
    assert "25 converged on 6 x 8 cells" in run("info", "both.zarr").out
    run("train", "both.zarr", "-o", "model", "--model", "levels")
    ended = run("propose", "model", "both.zarr", "--levels", "--count", "3", "--picture", "next.png", "-o", "next.csv")
    assert ended.out.startswith(" mach  altitude_km  level")
    assert (tmp_path / "next.csv").read_text().startswith("mach,altitude_km,level,gain")
    assert "does not tell meshes apart" in refused(
        "propose", "model", "both.zarr", "--levels", "--criterion", "loo-distance"
    )
