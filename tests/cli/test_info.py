import json

import pytest
from typer.testing import CliRunner

from campaigns import Inline, fake_solver, run, tiny
from sureflow.cli import app
from sureflow.data.schema import Status
from sureflow.data.store import RunStore
from sureflow.errors import SureflowError


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Six cases: one failed, one stalled."""
    path = tmp_path_factory.mktemp("info") / "runs.zarr"
    campaign = tiny()
    run(path, campaign, fake_solver(campaign, {(22.0, 46.0): Status.FAILED, (18.0, 46.0): Status.STALLED}))
    return path


def test_everything_as_json(store):
    facts = json.loads(CliRunner().invoke(app, ["info", str(store), "--json"]).stdout)
    assert facts["grid"]["cells"] == [16, 16]
    assert facts["conditions"]["count"] == 6
    assert facts["conditions"]["mach"] == {"lowest": 18, "highest": 22, "values": 3}
    assert facts["status"] == {"to_do": 0, "converged": 4, "stalled": 1, "failed": 1}
    assert facts["not_converged"] == [
        {"mach": 18, "altitude_km": 46, "status": "stalled"},
        {"mach": 22, "altitude_km": 46, "status": "failed"},
    ]
    assert facts["gas"]["model"] == "perfect"
    assert facts["wall"] == {"kind": "isothermal", "temperature": 1500.0}
    assert facts["checksum"] == f"sha256:{RunStore.open(store).checksum()}"
    assert facts["validity"]["knudsen"]["outside"] == 6
    assert facts["validity"]["undisturbed_cells"]["lowest"] == 18
    assert "jax" in facts["versions"]


def test_a_page_of_text(store):
    text = CliRunner().invoke(app, ["info", str(store)]).stdout
    assert "6: Mach 18..22 (3 values), altitude 40..46 (2 values) km" in text
    assert "4 converged, 1 stalled, 1 failed" in text
    assert "failed: Mach 22 at 46 km" in text
    assert f"sha256:{RunStore.open(store).checksum()}" in text
    assert "outside the model: 6 runs with knudsen over 0.01" in text


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_figure_is_written_the_same_each_time(store, tmp_path, suffix):
    pictures = []
    for name in ("one", "two"):
        path = tmp_path / "new" / f"{name}.{suffix}"
        assert CliRunner().invoke(app, ["info", str(store), "--figure", str(path)]).exit_code == 0
        pictures.append(path.read_bytes())
    assert pictures[0]
    assert pictures[0] == pictures[1]


def test_a_figure_is_replaced_only_when_asked(store, tmp_path):
    picture = tmp_path / "mine.PDF"
    picture.write_text("mine")
    command = ["info", str(store), "--figure", str(picture)]
    with pytest.raises(SureflowError, match=r"mine.PDF exists; .* replace it with --overwrite"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert picture.read_text() == "mine"
    assert CliRunner().invoke(app, [*command, "--overwrite"]).exit_code == 0
    assert b"CreationDate" not in picture.read_bytes()


def test_an_empty_store_has_something_to_say(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "runs.zarr", tiny(), executor=Inline(stop_after=0))
    result = CliRunner().invoke(app, ["info", str(tmp_path / "runs.zarr"), "--figure", str(tmp_path / "runs.png")])
    assert result.exit_code == 0, result.exception
    assert "6 to do" in result.stdout
