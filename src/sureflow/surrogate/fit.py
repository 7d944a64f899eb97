"""From runs to a surrogate: choose, scale, normalize, fit with checkpoints, calibrate."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sureflow.data.runs import Runs
from sureflow.data.scaling import offered_scalings
from sureflow.models.contract import EpochReport, unheard
from sureflow.runtime import keep_compiled_programs, one_blas_thread
from sureflow.surrogate import calibrate as calibration
from sureflow.surrogate.choose import compare
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.numbers import RunNumbers
from sureflow.surrogate.specification import AUTO, ComparisonSettings, Specification, specification

Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Listener:
    """Who follows the making of a surrogate."""

    comparing: Callable[[int, int, str], None] = lambda done, total, model: None  # fits done, in all, the next model
    compared: Callable[[Rows], None] = lambda rows: None  # what cross-validation found of the candidates
    epoch: Callable[[EpochReport], None] = unheard
    refitting: Callable[[int, int], None] = lambda done, total: None  # refits done, in all


SILENT = Listener()


def fit(
    runs: Runs,
    model: Any = None,
    *,
    scaling: str = "auto",
    coordinates: str = "auto",
    calibrate: bool = True,
    folder: str | Path | None = None,
    listener: Listener = SILENT,
    **network: Any,
) -> Surrogate:
    """Learn from runs: choose scaling and model by cross-validation, fit it, and calibrate its error bars.

    `model` is a name, such as "interpolation" or "fno", or settings. For networks, `uq`, `head`, `sampler`, `members` and
    `train` can be given, as in `fit(runs, "fno", uq="mve", train={"epochs": 20})`; without a model, these choose a DeepONet.
    With a `folder`, models that take long keep a checkpoint there after every epoch, and go on from the one they find. Bars
    are calibrated by folds over the runs, where the model is quick to fit again and there are enough runs; `str(model)` says
    whether they are.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 50)[:, None], np.linspace(0, 4, 15)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
    >>> model = sf.fit(runs, "interpolation")
    >>> field = model.predict(angle=1.2)
    >>> bool(abs(field.p - np.sin(1.2 + field.x)).max() < 0.01)
    True
    """
    keep_compiled_programs()
    given = {"scaling": scaling, "coordinates": coordinates, **network}
    spec = specification(given if model is None else given | {"model": model})
    surrogate = make_surrogate(runs, spec, folder=None if folder is None else Path(folder), listener=listener)
    if not calibrate:
        return surrogate
    try:
        return calibration.calibrate(surrogate, runs, folds=True, on_refit=listener.refitting)
    except calibration.CannotCalibrate:
        return surrogate


@one_blas_thread()
def make_surrogate(
    runs: Runs, spec: Specification, *, folder: Path | None = None, listener: Listener = SILENT
) -> Surrogate:
    """Choose the model where that is asked for, and learn it from all of the runs; not calibrated."""
    runs.require_apart()
    rows: Rows = ()
    predictor = None
    if isinstance(spec.model, ComparisonSettings):
        scalings = offered_scalings(runs) if spec.scaling == AUTO else spec.scaling
        comparison = compare(runs, spec.model, scalings, listener.comparing)
        rows = comparison.rows()
        listener.compared(rows)
        predictor = comparison.predictor if spec.coordinates == AUTO else None
        spec = replace(spec, model=comparison.settings, scaling=comparison.scaling)
    # A model is the same bits whenever it is made: times are for who listens.
    timeless = tuple({key: value for key, value in row.items() if key != "seconds"} for row in rows)
    surrogate = learn(runs, spec, folder=folder, progress=listener.epoch, fitted=predictor)
    numbers = RunNumbers.fit(runs, surrogate.number_space, surrogate.observer)
    return replace(surrogate, comparison=timeless, numbers=numbers)
