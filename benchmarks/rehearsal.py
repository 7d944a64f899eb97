"""How well calibrated bars hold beyond the runs, rehearsed within the training runs of a split.

    python benchmarks/rehearsal.py paper.zarr                        # the split of the paper, all of its training runs
    python benchmarks/rehearsal.py paper.zarr 50 interpolation       # so many of them, another model
    python benchmarks/rehearsal.py family.zarr 200 body-aligned      # the parts of a campaign

Outer bands of the training runs are taken away, on every side and in two depths; a model is fitted to the rest and calibrated by
folds over it, and the band is predicted: what calibration does with the runs outside of the whole domain, tried where no test
run is seen. Figures are averaged over the fields; those of the model's own bars stand before the slash.
"""

import sys

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS, space_filling
from sureflow.evaluate.evaluation import evaluate
from sureflow.runtime import keep_compiled_programs
from sureflow.surrogate.calibrate import calibrate
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import specification
from sureflow.uq.folds import side_folds

DEPTHS = (0.12, 0.2)
FIGURES = {"miscalibration": ".3f", "coverage90": ".0%", "z_rms": ".2f"}


def rehearse(training: sf.Runs, band: np.ndarray, space: Standard, model: str) -> list[dict[str, float]]:
    """Error and calibration on the band, with own and with calibrated bars, by a model of the other runs."""
    rest = training.select(~band)
    surrogate = calibrate(learn(rest, specification({"model": model, "scaling": "similarity"})), rest, folds=True)
    found = (
        evaluate(predict, training, {"band": band}, space, regions=["all"])
        for predict in (surrogate.raw_predictive, surrogate.predictive)
    )
    return [next(row for row in one.rows if row["variable"] == "mean") for one in found]


def line(name: str, depth: str, count: str, rows: list[dict[str, float]]) -> str:
    figures = (" / ".join(f"{row[key]:{form}}" for row in rows) for key, form in FIGURES.items())
    return f"| {name} | {depth} | {count} | {rows[0]['mae']:.2g} | {' | '.join(figures)} |"


def main() -> None:
    keep_compiled_programs()
    runs = sf.open_runs(sys.argv[1])
    model = sys.argv[3] if len(sys.argv) > 3 else "layer-aligned"
    training = runs.select(SPLITS["parts" if runs.header.made_by.get("parts") else "paper"]()(runs).train)
    space = Standard.of_fields(training)
    if len(sys.argv) > 2:
        training = training.select(space_filling(training.parameters, int(sys.argv[2])))
    domain = learn(training, specification({"model": "interpolation", "scaling": "similarity"})).seen_domain
    print(f"{len(training)} training runs, {model}\n")
    print("| taken away | depth | runs | MAE | miscalibration area | 90 % intervals hold | rms of error / std |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    found = []
    for side, folds in side_folds(domain, DEPTHS).items():
        name = f"{('low', 'high')[side % 2]} {training.parameter_names[side // 2]}"
        for depth, fold in zip(DEPTHS, folds, strict=False):
            found.append(rehearse(training, fold.left_out, space, model))
            print(line(name, f"{depth:.0%}", str(fold.left_out.sum()), found[-1]), flush=True)
    mean = [{key: float(np.mean([rows[k][key] for rows in found])) for key in ("mae", *FIGURES)} for k in (0, 1)]
    print(line("mean", "", "", mean))


if __name__ == "__main__":
    main()
