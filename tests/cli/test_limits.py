"""Row 12: memory that ends under `ulimit -v`, in one sentence and within seconds."""

import os
import resource
import signal
import subprocess
import sys

import pytest

import sureflow
import synthetic
from sureflow.cli.limits import NEEDS, MemoryGuard
from sureflow.errors import SureflowError


def under(limit_mb, arguments, folder):
    """A command whose address space is limited; it must end by itself in half a minute."""
    limited = ["sh", "-c", f'ulimit -v {limit_mb << 10}; exec "$@"', "sh", sys.executable, *arguments]
    return subprocess.run(limited, cwd=folder, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    runs = synthetic.runs()
    runs.save(folder / "runs.zarr")
    sureflow.fit(runs, "interpolation", calibrate=False).save(folder / "model")
    return folder


def test_predict_under_limits(model):
    command = ["-m", "sureflow", "predict", "model", "mach=22", "altitude_km=45"]
    ended = under(300, command, model)
    assert ended.returncode == 2
    assert "sureflow: there is not enough memory: the limit is 0.31 GB" in ended.stderr
    assert "Traceback" not in ended.stderr
    enough = under(600, command, model)
    assert enough.returncode == 0, enough.stderr
    assert "inside the training domain" in enough.stdout


def test_what_needs_jax_is_refused_before_it_is_imported(model):
    ended = under(1000, ["-m", "sureflow", "train", "runs.zarr", "--model", "deeponet", "-o", "other"], model)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("sureflow: there is not enough memory: the limit is 1 GB")
    assert not (model / "other").exists()


WATCHED = "import os, sys, time; from sureflow.cli.limits import watched; watched(); "


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        ("os.abort()", 2, "sureflow: there is not enough memory"),
        ("os.kill(os.getpid(), 9)", 2, "sureflow: there is not enough memory"),
        ("import ctypes; ctypes.CDLL(None).exit(1)", 2, "sureflow: there is not enough memory"),  # as OpenBLAS does
        ("sys.exit(1)", 1, ""),
        ("sys.exit(7)", 7, ""),
        ("pass", 0, ""),
    ],
)
def test_a_child_that_ends_without_a_word(tmp_path, ends, code, said):
    ended = under(400, ["-c", WATCHED + ends], tmp_path)
    assert ended.returncode == code
    assert ended.stderr.startswith(said)
    assert bool(ended.stderr) == bool(said)


def test_signals_reach_the_child(tmp_path):
    ends = "import signal; signal.signal(15, lambda *_: sys.exit(33)); os.kill(os.getppid(), 15); time.sleep(20)"
    assert under(400, ["-c", WATCHED + ends], tmp_path).returncode == 33


def test_without_a_limit_nothing_is_forked(monkeypatch):
    from sureflow.cli.limits import watched

    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a child was made"))
    before = signal.getsignal(signal.SIGTERM)
    watched()
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_guard_knows_what_is_needed():
    guard = MemoryGuard(1 << 50)
    for name in (*NEEDS, "json"):
        assert guard.find_spec(name, None) is None
    with pytest.raises(SureflowError, match=r"are needed; raise it \(ulimit -v\)"):
        MemoryGuard(1 << 20).find_spec("numpy", None)
