"""Signals: one sentence, the exit code of a shell, and never swallowed."""

import gc
import os
import signal
import time

import pytest

import synthetic
from sureflow.cli.stopping import Stopped, heard


def send(number):
    with heard():
        os.kill(os.getpid(), number)
        time.sleep(5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_once_with_its_exit_code(number):
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as stop:
        send(number)
    assert stop.value.code == 128 + number
    assert signal.getsignal(number) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def collect_and_wait(callback):
    with heard():
        gc.callbacks.append(callback)  # not before: Python collects when it likes, and only here stops are heard
        gc.collect()
        time.sleep(10)


def test_a_stop_that_a_callback_swallows_comes_again(capsys):
    """Python reports and drops whatever is raised in a callback of the garbage collector, such as JAX's."""

    def callback(phase, info):
        if phase == "start" and not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    sent = []
    try:
        with pytest.raises(Stopped):
            collect_and_wait(callback)
    finally:
        gc.callbacks.remove(callback)
    assert sent
    assert capsys.readouterr().err == ""


def test_cleaning_up_is_not_disturbed():
    cleaned = []

    def work():
        with heard():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                time.sleep(1.2)  # longer than it takes to look again
                cleaned.append(True)

    with pytest.raises(Stopped):
        work()
    assert cleaned


@pytest.mark.parametrize(
    ("command", "inside", "kept"),
    [
        (
            "train runs.zarr -o model --model interpolation",
            "sureflow.surrogate.workshop.make_surrogate",
            "nothing was changed; run the same command again to start over",
        ),
        ("calibrate model runs.zarr", "sureflow.surrogate.workshop.calibrate", "the model is unchanged"),
        (
            "solve --mach 25 --altitude 46",
            "sureflow.flow.solve.solve_flow",
            "nothing was changed; run the same command again to start over",
        ),
    ],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_commands_say_how_to_go_on(call, run, tmp_path, monkeypatch, command, inside, kept, number, code):
    synthetic.write_store(tmp_path / "runs.zarr")
    if command.startswith("calibrate"):
        run("train", "runs.zarr", "-o", "model", "--model", "interpolation")
    before = sorted(path.name for path in tmp_path.iterdir())

    def stopped(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(5)

    monkeypatch.setattr(inside, stopped)
    ended = call(*command.split())
    assert ended.code == code
    assert ended.sentence == f"sureflow: stopped; {kept}"
    assert sorted(path.name for path in tmp_path.iterdir()) == before
