"""Peers on the same runs: EZyRB, SMT, scikit-learn and SciPy beside sureflow's default, on the same split.

    make peers                                     # their environment, then all of this
    python benchmarks/peers.py --paper paper.zarr --family family.zarr --python peers-venv/bin/python -o docs/peers.md
    python benchmarks/peers.py ... --rows rows.json        # keeps every row; the same command goes on where it stopped

The tables compare sureflow's default with EZyRB, SMT, scikit-learn and SciPy, trained and tested on the same runs. There is one
table for each number of training runs; the sentence below it names the peers with the smallest errors.

Every peer learns from the same runs in up to three ways, given in the column "scaling":

- as they are: parameters normalized by their ranges and fields by their standard deviations;
- our scaling: the inputs and fields of sureflow's scaling `freestream`, normalized in the same way, and scaled back before
  anything is measured;
- our similarity, for the tuned methods: the same fields over the inputs of the scaling `similarity`.

sureflow chooses, fits and calibrates its model by itself. Errors are mean absolute errors in standard deviations of the training
runs, over all points of a domain. Miscalibration and the share of points in 90 % intervals are in-domain. Times are processor
seconds on one thread, without imports; a prediction is one whole field.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.scaling import Scaling, scaling_for
from sureflow.data.splits import SPLITS, space_filling
from sureflow.files import write_atomically
from sureflow.metrics.accuracy import mean_absolute_error
from sureflow.metrics.intervals import coverage, miscalibration_area
from sureflow.surrogate.calibrate import CannotCalibrate, calibrate
from sureflow.surrogate.fit import make_surrogate
from sureflow.surrogate.specification import Specification

PEERS = (
    "scipy-rbf", "scipy-rbf-tuned", "ezyrb-pod-rbf", "ezyrb-pod-rbf-tuned", "ezyrb-pod-gpr", "ezyrb-pod-gpr-tuned",
    "sklearn-pca-gpr", "sklearn-pca-gpr-tuned", "smt-podi", "smt-podi-tuned",
)  # fmt: skip
OURS = "sureflow"
SCALINGS = {"none": "as they are", "freestream": "our scaling", "similarity": "our similarity"}
SIZES = {"paper": (6, 9, 16, 205), "family": (50, 100, 200)}
SPLIT = {"paper": "paper", "family": "parts"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
LONGEST = 20  # processor seconds that one fit and its predictions may take


@dataclass
class Found:
    """One line of the table."""

    method: str
    seen: str
    inside: float = float("nan")
    outside: float = float("nan")
    miscalibration: float = float("nan")
    covers: float = float("nan")
    fit: float = float("nan")
    predict: float = float("nan")
    remarks: list[str] = field(default_factory=list)

    def row(self) -> str:
        numbers = (_text(self.inside), _text(self.outside), _text(self.miscalibration), _share(self.covers))
        times = (_text(self.fit, 2), _text(self.predict, 2))
        return f"| {' | '.join((self.method, self.seen, *numbers, *times))} |"


def _text(value: float, digits: int = 3) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}g}"


def _share(value: float) -> str:
    return "" if np.isnan(value) else f"{100 * value:.0f} %"


@dataclass(frozen=True)
class Task:
    """Training runs, test conditions and the truth there, in one study."""

    training: Runs
    conditions: np.ndarray
    truth: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    unit: np.ndarray  # standard deviations of the fields over all training runs

    @classmethod
    def of(cls, runs: Runs, split: str, size: int) -> "Task":
        division = SPLITS[split]()(runs)
        whole = runs.select(division.train)
        tested = np.logical_or.reduce(list(division.test.values()))
        test = runs.select(tested)
        masks = [division.test[domain][tested] for domain in ("in_domain", "out_of_domain")]
        some = whole.select(space_filling(whole.parameters, size)) if size < len(whole) else whole
        return cls(some, test.parameters, test.array(), *masks, Standard.of_fields(whole).std)

    def judge(self, found: Found, mean: np.ndarray, std: np.ndarray | None) -> Found:
        for name in ("inside", "outside"):
            mask = getattr(self, name)
            errors = mean_absolute_error(mean[mask], self.truth[mask], self.unit)
            setattr(found, name, float(np.mean(errors)))
        if std is not None:
            values = [array[self.inside].ravel() for array in (mean, np.maximum(std, 1e-300), self.truth)]
            found.miscalibration = miscalibration_area(*values)
            found.covers = float(np.mean(coverage(*values, 0.9)))
        return found


def ours(task: Task) -> Found:
    """What `sureflow train` and `sureflow calibrate` give without further settings."""
    began = time.process_time()
    surrogate = make_surrogate(task.training, Specification())
    remarks = []
    try:
        surrogate = calibrate(surrogate, task.training, folds=True)
    except CannotCalibrate as error:
        remarks.append(str(error))
    fitted = time.process_time()
    found = surrogate.predictive(task.conditions)
    predicted = 1e3 * (time.process_time() - fitted) / len(task.conditions)
    line = Found("**sureflow**", f"its choice: {surrogate.model_name}, {surrogate.spec.scaling}", remarks=remarks)
    line.fit, line.predict = fitted - began, predicted
    return task.judge(line, np.asarray(found.mean), None if found.std is None else np.asarray(found.std))


def peers(task: Task, methods: Sequence[str], scaling: str, python: str) -> dict[str, Found]:
    """Peers in their own environment, on inputs and fields of order one; by method."""
    scale = scaling_for(scaling, task.training)
    inputs, fields = (
        scale.inputs(task.training.parameters),
        scale.forward(task.training.array(), task.training.parameters),
    )
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    mean, std = fields.mean(axis=(0, 2), keepdims=True), fields.std(axis=(0, 2), keepdims=True)
    width = np.where(high > low, high - low, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "given.npz")
        np.savez(
            given,
            inputs=(inputs - low) / width,
            fields=((fields - mean) / std).reshape(len(fields), -1),
            queries=(scale.inputs(task.conditions) - low) / width,
        )
        script = Path(__file__).with_name("peers_models.py")
        command = [python, str(script), ",".join(methods), str(given), folder, str(LONGEST)]
        ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False)
        found = {}
        for method in methods:
            line = found[method] = Found(method, SCALINGS[scaling])
            said = Path(folder, f"{method}.json")
            told = json.loads(said.read_text()) if said.exists() else "failed: " + ended.stderr.strip()[-200:]
            line.remarks += [told] if isinstance(told, str) else told
            if Path(folder, f"{method}.npz").exists():
                _judge_peer(task, line, Path(folder, f"{method}.npz"), scale, (mean, std))
    return found


def _judge_peer(task: Task, line: Found, path: Path, scale: Scaling, standard: tuple[np.ndarray, np.ndarray]) -> None:
    mean, std = standard
    with np.load(path) as arrays:
        shape = task.truth.shape
        predicted = arrays["mean"].astype(float).reshape(shape) * std + mean
        values = scale.inverse(predicted, task.conditions)
        bars = None
        if "std" in arrays:
            slope = np.abs(scale.slope(predicted, task.conditions))
            bars = arrays["std"].astype(float).reshape(shape) * std * slope
        line.fit, line.predict = float(arrays["seconds"][0]), 1e3 * float(arrays["seconds"][1]) / len(values)
    task.judge(line, values, bars)


class Rows:
    """Lines that were measured, by study, number of runs, method and scaling; in a file, if one is given."""

    def __init__(self, path: Path | None, *, closed: bool = False):
        self.path, self.closed = path, closed
        self.known = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def measured(self, keys: Sequence[str], measure: Callable[[list[str]], Iterable[Found]]) -> list[Found]:
        """The rows of all keys; `measure` is asked for those that are not known, unless the file is closed."""
        missing = [key for key in keys if key not in self.known]
        if missing and not self.closed:
            for key, line in zip(missing, measure(missing), strict=True):
                self.known[key] = asdict(line)
                print(line.row(), flush=True)
            if self.path is not None:
                write_atomically(self.path, json.dumps(self.known, indent=1).encode())
        return [Found(**self.known[key]) for key in keys if key in self.known]


def table(runs: Runs, study: str, size: int, args: argparse.Namespace, rows: Rows) -> list[str]:
    """The rows of one number of runs, and what they say; nothing without ours."""
    task, methods = Task.of(runs, SPLIT[study], size), args.methods.split(",")
    others, lines = [method for method in methods if method != OURS], []
    for scaling in SCALINGS:
        asked = [method for method in others if scaling != "similarity" or method.endswith("-tuned")]
        keys = {f"{study}/{size}/{method}/{scaling}": method for method in asked}

        def measure(missing: list[str], keys: dict[str, str] = keys, scaling: str = scaling) -> Iterable[Found]:
            return peers(task, [keys[key] for key in missing], scaling, args.python).values()

        lines += rows.measured(list(keys), measure)
    lines.sort(key=lambda line: others.index(line.method))
    if OURS not in methods:
        return []
    (mine,) = rows.measured([f"{study}/{size}/{OURS}"], lambda missing: [ours(task)]) or [Found(OURS, "not measured")]
    text = [
        f"## {study.capitalize()} study, {len(task.training)} runs",
        "",
        "| method | scaling | MAE in | MAE out | miscalibration | in 90 % | fit (s) | predict (ms) |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
        *(line.row() for line in (mine, *lines)),
        "",
    ]
    if lines:
        best, beyond = (_best(lines, name) for name in ("inside", "outside"))
        text += [
            f"The best peer in-domain is {best.method} ({best.seen}), with {best.inside / mine.inside:.2f} times sureflow's "
            f"error; out-of-domain, it is {beyond.method} ({beyond.seen}), with {beyond.outside / mine.outside:.2f} times.",
            "",
        ]
    unknown = [method for method in others if method not in {line.method for line in lines}]
    text += [f"Not measured with this many runs, for lack of time: {', '.join(unknown)}.", ""] if unknown else []
    remarks = dict.fromkeys(
        f"- {line.method} ({line.seen}): {'; '.join(line.remarks)}" for line in (mine, *lines) if line.remarks
    )
    return text + (["Messages from the programs:", "", *remarks, ""] if remarks else [])


def _best(lines: list[Found], name: str) -> Found:
    return min(lines, key=lambda line: (np.isnan(getattr(line, name)), getattr(line, name)))


def versions(python: str) -> str:
    names = ["ezyrb", "smt", "scikit-learn", "scipy", "numpy", "torch"]
    code = f"import importlib.metadata as m; print(', '.join(n + ' ' + m.version(n) for n in {names}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paper", type=Path, help="store of the campaign `paper`")
    parser.add_argument("--family", type=Path, help="store of the campaign `family`")
    parser.add_argument("--sizes", help="numbers of training runs, for all studies alike")
    parser.add_argument(
        "--methods", default=",".join((*PEERS, OURS)), help="a page is made only with sureflow among them"
    )
    parser.add_argument("--rows", type=Path, help="file that keeps the rows: those in it are not measured again")
    parser.add_argument("--closed", action="store_true", help="measure nothing: make the page of the rows in the file")
    parser.add_argument("--python", default=sys.executable, help="Python of the peers' environment")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    text = ["# Peers on the same runs", "", "\n\n".join((__doc__ or "").split("\n\n")[2:]).strip(), ""]
    text += [f"{versions(args.python)}; Python {platform.python_version()}, {platform.machine()}.", "", NOTES, ""]
    rows = Rows(args.rows, closed=args.closed)
    for study in SIZES:
        store = getattr(args, study)
        for size in () if store is None else map(int, args.sizes.split(",")) if args.sizes else SIZES[study]:
            text += table(sf.open_runs(str(store)), study, size, args, rows)
            if args.output and OURS in args.methods.split(","):
                write_atomically(args.output, ("\n".join(text).rstrip() + "\n").encode())


NOTES = """`benchmarks/peers.py` writes this page. The settings of the peers:

- **scipy-rbf**: `RBFInterpolator` with its default kernel, a thin plate spline. Tuned: the best of linear, thin plate, cubic and
  quintic by five folds over the training runs.
- **ezyrb-pod-rbf**: `POD()` of full rank and `RBF()`, which is SciPy's; tuned in the same way.
- **ezyrb-pod-gpr**: `POD()` and `GPR()` with their defaults (a kernel of fixed scale, since none is given). Tuned: a Matérn 5/2
  kernel with a scale for every parameter and noise, two restarts, and modes for 0.99999 of the variance. The coefficients are not
  normalized, since otherwise the last modes make the scales collapse. EZyRB's `return_variance` gives a standard deviation, and
  is used as one.
- **sklearn-pca-gpr**: `PCA` and one `GaussianProcessRegressor` for all components, with its defaults. Tuned: components for
  0.9999 of the variance, and for each of them a process with the same kernel and separate scales.
- **smt-podi**: `PODI` with kriging (`KRG`), modes for 0.9999 of the variance; tuned: `matern52`. PODI refuses RBF.

Not tried: EZyRB's neural networks and autoencoders, SMT's local POD, more restarts, other variables or alignments than
those of our scalings. Within a fit, nothing is chosen on test runs. But the settings of the tuned Gaussian processes were
corrected, in the peers' favor, after their errors on test runs had been seen. A method that exceeds its limit of processor
seconds is stopped, and its row stays empty. Times are a rough guide: they depend on what else the machine does. Rows are kept
(`--rows`), so those of one table may come from several runs of the script."""


if __name__ == "__main__":
    main()
