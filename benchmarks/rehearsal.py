"""How well calibrated bars hold beyond the training domain, rehearsed within the training runs of the paper's split.

    python benchmarks/rehearsal.py runs.zarr [interpolation | pod-gp]

An outer band of the training runs is taken away, a model is fitted to the rest and calibrated by folds over them, and the band
is predicted: what calibration does with the runs outside of the whole domain, tried where no test run is seen. Figures are
those of the points behind the shock, averaged over the four fields.
"""

import sys
from collections.abc import Callable

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS
from sureflow.evaluate.evaluation import evaluate
from sureflow.surrogate.calibrate import calibrate
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import specification

Band = Callable[[np.ndarray, np.ndarray], np.ndarray]

BANDS: dict[str, Band] = {
    "Mach 12, 13": lambda mach, altitude: mach <= 13,
    "Mach 27, 28": lambda mach, altitude: mach >= 27,
    "26, 28, 30 km": lambda mach, altitude: altitude <= 30,
    "50, 52, 54 km": lambda mach, altitude: altitude >= 50,
}


def rehearse(training: sf.Runs, band: np.ndarray, space: Standard, model: str) -> dict[str, float]:
    """Error and calibration on the band, by a model of the other runs."""
    rest = training.select(~band)
    surrogate = calibrate(learn(rest, specification({"model": model, "scaling": "freestream"})), rest, folds=True)
    found = evaluate(surrogate.predictive, training, {"band": band}, space, regions=["disturbed"])
    (row,) = (row for row in found.rows if row["variable"] == "mean")
    return row


def main() -> None:
    runs = sf.open_runs(sys.argv[1])
    model = sys.argv[2] if len(sys.argv) > 2 else "interpolation"
    training = runs.select(SPLITS["paper"]()(runs).train)
    space = Standard.of_fields(training)
    print(f"{len(training)} training runs, {model}\n")
    print(
        "| band taken away | MAE | miscalibration area | 90 % intervals hold | mean std / MAE |\n|---|---:|---:|---:|---:|"
    )
    for name, band in BANDS.items():
        row = rehearse(training, band(*training.parameters.T), space, model)
        print(
            f"| {name} | {row['mae']:.2g} | {row['miscalibration']:.3f} | {row['coverage90']:.0%} "
            f"| {row['mean_std'] / row['mae']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
