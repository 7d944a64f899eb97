"""`sureflow generate`: a campaign that is stopped and goes on."""

import contextlib

import pytest

from campaigns import TINY_TOML, Inline, crew, fake_solver, tiny
from sureflow.campaign import run as campaign_run
from sureflow.data.schema import Status


@pytest.fixture
def generate(call, monkeypatch, tmp_path):
    """Runs the tiny campaign with the fake solver, which may be stopped after some runs."""
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    solver = fake_solver(tiny(), {(22.0, 46.0): Status.FAILED})
    original = campaign_run.run_campaign

    def generate(*more: str, stop_after: int | None = None):
        def quick(path, campaign, workers, options, watch, solve, predicted):
            return original(path, campaign, crew(Inline(stop_after)), options, watch, solver, predicted)

        with contextlib.ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(campaign_run, "run_campaign", quick)
            return call("generate", "runs.zarr", "--preset", "tiny.toml", *more)

    return generate


def test_stopped_it_says_what_is_kept_and_goes_on(generate):
    stopped = generate(stop_after=2)
    assert stopped.code == 130
    assert (
        stopped.sentence
        == "sureflow: stopped; 1 of 6 runs are kept in runs.zarr; run the same command again to continue"
    )
    ended = generate()
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "runs.zarr: 6 of 6 runs (1 were there already): 5 converged, 0 stalled, 1 failed",
        "Runs that did not converge are kept and marked; `sureflow info runs.zarr` names them",
    ]


def test_a_shard_does_its_part(generate):
    assert "runs.zarr: 3 of 3 runs" in generate("--shard", "1/2").out
    again = generate("--shard", "1/2", "--overwrite")
    assert again.code == 2
    assert "would delete what other jobs have stored" in again.sentence
