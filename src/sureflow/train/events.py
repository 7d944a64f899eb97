"""Where metrics go while training runs: `events.jsonl`, and TensorBoard for those who ask for it."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.models.contract import EpochReport

ALL = "all"
Sink = Callable[[EpochReport], None]


def jsonl_sink(path: Path, names: Sequence[str]) -> Sink:
    """One JSON object a line and epoch: every loss part by variable, averaged over members.

    A resumed training does an epoch again whose line is there already: that line, and what follows it, is replaced.
    """
    began = time.perf_counter()

    def write(report: EpochReport) -> None:
        event = {"epoch": report.epoch + 1, "seconds": round(time.perf_counter() - began, 3)}
        lines = path.read_text().splitlines() if path.exists() else []
        lines[report.epoch :] = [json.dumps(event | _by_variable(report, names))]
        write_atomically(path, ("\n".join(lines) + "\n").encode())

    return write


def tensorboard_sink(folder: Path, names: Sequence[str]) -> Sink:
    """The same numbers as TensorBoard scalars; needs the extra `tensorboard`."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise SureflowError('TensorBoard output needs tensorboardX: pip install "sureflow[tensorboard]"') from None
    writer = SummaryWriter(str(folder))

    def write(report: EpochReport) -> None:
        for part, values in _by_variable(report, names).items():
            for variable, value in values.items():
                writer.add_scalar(f"{part}/{variable}", value, report.epoch + 1)
        writer.flush()

    return write


def explosion_warning(report: EpochReport, names: Sequence[str]) -> str | None:
    """A sentence if a head counts exploded standard deviations and found any in this epoch."""
    if not report.parts.get("exploded", np.zeros(1)).any():
        return None
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in _by_variable(report, names)["exploded"].items())
    return f"the predicted standard deviation exceeds head.explosion at a share of the points: {shares}"


def _by_variable(report: EpochReport, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Means over members. Networks of a basis have no variables: what they report is for all of them."""
    found = {}
    for part, values in report.parts.items():
        means = [float(value) for value in values.mean(axis=0)]
        found[part] = dict(zip(names if len(means) == len(names) else [ALL], means, strict=True))
    return found
