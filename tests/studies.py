"""A study that takes seconds: fields from a formula in the store of a real campaign, and tiny networks."""

from pathlib import Path

import numpy as np

import synthetic
from campaigns import Inline, crew
from sureflow.campaign.campaign import load_campaign
from sureflow.campaign.continuation import Computed
from sureflow.campaign.run import Case, run_campaign
from sureflow.data.schema import Status
from sureflow.flow.solution import RECORD_NAMES

CAMPAIGN = """
[[conditions]]
mach = [10, 14, 20, 25, 30]
altitude_km = [20, 30, 40, 46, 60]

[mesh]
cells = [8, 8]
wall_spacing = 1e-3
"""
STUDY = """
campaign = "{campaign}"
reproduction = "leon2023"

[network]
model = {{ name = "deeponet", encoder_width = 4, decoder_width = 8, decoder_layers = 1, fourier_octaves = 0 }}
scaling = "none"
coordinates = "physical"

[selection]
learning_rate = [1e-3, 1e-2]
batch = [64]
schedule = ["cosine"]
epochs = 2
held_out = 2

[train]
epochs = {epochs}
points_per_run = 32

[split]
kind = "paper"
test_runs = 2

[[models]]
label = "deterministic"
uq = "deterministic"

[[models]]
label = "evidential"
uq = "evidential"

[[models]]
label = "ensemble"
uq = "ensemble"
members = 2
"""


def write_study(folder: Path, epochs: int = 4) -> Path:
    """`study.toml` beside a folder `study` that holds the runs already; returns the TOML file."""
    campaign_toml, study_toml = folder / "campaign.toml", folder / "small.toml"
    campaign_toml.write_text(CAMPAIGN)
    study_toml.write_text(STUDY.format(campaign=campaign_toml, epochs=epochs))
    make_runs(campaign_toml, folder / "study" / "runs.zarr")
    return study_toml


def make_runs(campaign_toml: Path, store: Path) -> None:
    campaign = load_campaign(str(campaign_toml))

    def solve(case: Case) -> Computed:
        condition = np.array([[case.condition.mach, case.condition.altitude_km]])
        fields = synthetic.fields(condition, case.mesh.shape)[0]
        return Computed(fields, dict.fromkeys(RECORD_NAMES, 1.0), Status.CONVERGED, seconds=0.0)

    run_campaign(store, campaign, crew(Inline()), solve=solve)
