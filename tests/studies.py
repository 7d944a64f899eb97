"""A study that takes seconds: fields from a formula in the store of a real campaign, and tiny networks."""

from pathlib import Path

import numpy as np

import synthetic
from campaigns import Inline, crew
from sureflow.campaign.continuation import Outcome
from sureflow.campaign.run import Case, campaign_contents, run_campaign
from sureflow.campaign.settings import load_campaign
from sureflow.data.schema import Status

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
model = {{ decoder_width = 8 }}

[[models]]
label = "evidential"
uq = "evidential"
model = {{ decoder_width = 8 }}

[[models]]
label = "ensemble"
uq = "ensemble"
members = 2
model = {{ decoder_width = 8 }}
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
    record = campaign_contents(campaign, campaign.build_mesh()).record

    def solve(case: Case) -> Outcome:
        condition = np.array([[case.condition.mach, case.condition.altitude_km]])
        fields = synthetic.fields(condition, case.mesh.shape)[0]
        return Outcome(fields, dict.fromkeys(record, 1.0), Status.CONVERGED, seconds=0.0)

    run_campaign(store, campaign, crew(Inline()), solve=solve)
