"""What the errors of runs left out in closed form leave out: the same folds with every model fitted again.

    python benchmarks/optimism.py paper.zarr 16 50             # the split of the paper, from so many training runs
    python benchmarks/optimism.py family.zarr 50 100           # the parts of a campaign

A model of aligned runs learns how its inputs are mixed from all runs, and then leaves runs out in closed form, with the same
mixtures. Comparisons therefore count its errors sqrt(n / (n - unknowns)) times (`FittedModel.optimism`). Here the folds of the
comparison and its sides are predicted in both ways, by training runs alone. MAE is in standard deviations of all training runs.
"""

import sys

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS, space_filling
from sureflow.models import MODELS
from sureflow.runtime import keep_compiled_programs, one_blas_thread
from sureflow.surrogate.choose import comparison_folds, comparison_sides, errors_at_once, errors_by_refit
from sureflow.surrogate.learning import fit_predictor
from sureflow.surrogate.specification import ComparisonSettings, Specification


@one_blas_thread()
def main() -> None:
    keep_compiled_programs()
    runs = sf.open_runs(sys.argv[1])
    training = runs.select(SPLITS["parts" if runs.header.made_by.get("parts") else "paper"]()(runs).train)
    space, name = Standard.of_fields(training), "body-aligned" if runs.is_moving else "layer-aligned"
    print(
        "| model | runs | left out | closed form | optimism | counted as | fitted again | fitted again / closed form |"
    )
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for size in map(int, sys.argv[2:]):
        some = training.select(space_filling(training.parameters, size)) if size < len(training) else training
        spec = Specification(MODELS.build({"name": name}), "similarity")
        fitted = fit_predictor(some, spec)
        for what, folds in (
            ("folds", comparison_folds(some, ComparisonSettings())),
            ("sides", comparison_sides(some)),
        ):
            if not folds:
                continue
            counted = float(np.concatenate(errors_at_once(some, fitted, folds, space)).mean())
            again = float(np.concatenate([errors_by_refit(some, spec, fold, space) for fold in folds]).mean())
            optimism = fitted.fitted.optimism
            closed = counted / optimism
            cells = (f"{closed:.2g}", f"{optimism:.2f}", f"{counted:.2g}", f"{again:.2g}", f"{again / closed:.2f}")
            print(f"| {name} | {len(some)} | {what} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
