"""A model judged by its own training runs: parts of them are left out, and predicted by the same kind of model of the others."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.evaluate.evaluation import Evaluation, evaluate
from sureflow.evaluate.summary import IN_DOMAIN, OUT_OF_DOMAIN
from sureflow.predictive import Predictive
from sureflow.surrogate.calibrate import CannotCalibrate, calibrate, require_same_runs
from sureflow.surrogate.learning import learn
from sureflow.surrogate.matching import in_training_order, matched
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.promised import promised
from sureflow.uq.folds import Fold, fewest_to_fit, random_folds

FOLDS = 5  # fewer than calibration takes: each of them is calibrated in turn
Progress = Callable[[int, int], None]  # folds done, folds in all


def evaluate_folds(
    surrogate: Surrogate,
    runs: Runs,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    on_fold: Progress = lambda done, total: None,
) -> Evaluation:
    """Errors and error bars on the model's training runs, each predicted by a model of the runs outside its fold.

    Scaling, normalizer and weights are fitted again in every fold and, if the model is calibrated, so are the bars, by folds
    over the runs that are left. The kind of model and its settings stay: if they were chosen, all runs had a say in that.
    In_domain is inside the ranges of the runs that the fold left, as verdicts go by them: declared ones, else those that the
    runs were drawn from, else their own. Out_of_domain is outside of them.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 20)[:, None], np.linspace(0, 4, 15)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]})
    >>> found = sf.evaluate_folds(sf.fit(runs, "interpolation", calibrate=False), runs)
    >>> bool(found.table().mae.max() < 0.1)
    True
    """
    training = _training_runs(surrogate, runs)
    chosen = random_folds(len(training), fewest_to_fit(len(surrogate.parameter_names)), folds, seed)
    if folds < 2 or not chosen:
        raise SureflowError(
            f"folds={folds} over {len(training)} training runs leave too few to learn from: at least "
            f"{fewest_to_fit(len(surrogate.parameter_names)) + 1} runs and 2 folds are needed"
        )
    # Runs of one fold lie together, so that each model is made once and only one of them is kept.
    fold_of = np.argmax([fold.left_out for fold in chosen], axis=0)
    order = np.argsort(fold_of, kind="stable")
    models = _FoldModels(surrogate, training, chosen, fold_of, on_fold)
    outside = np.concatenate([models.outside(number) for number in range(len(chosen))])
    domains = {name: mask for name, mask in ((IN_DOMAIN, ~outside), (OUT_OF_DOMAIN, outside)) if mask.any()}
    found = evaluate(models.predict, training.select(order), domains, Standard.of_fields(training))
    return replace(found, explanation=_explanation(surrogate, len(chosen)))


def _explanation(surrogate: Surrogate, folds: int) -> str:
    calibrated = ", with bars that were calibrated by folds over these others" if surrogate.calibration else ""
    return (
        f"Each of the {len(surrogate.domain.parameters)} training runs predicted by the model {surrogate.model_name}, fitted to "
        f"the runs outside its fold, one of {folds}{calibrated}. {IN_DOMAIN} and {OUT_OF_DOMAIN} are inside and outside the "
        "ranges of these others."
    )


def _training_runs(surrogate: Surrogate, runs: Runs) -> Runs:
    """All training runs of a model that can be fitted again to some of them."""
    if not surrogate.settings.capabilities.refits_quickly:
        raise SureflowError(
            f"the model {surrogate.model_name} takes too long to train again for every fold: hold runs out when it is trained, "
            "or give other runs to test on"
        )
    training = in_training_order(matched(runs, surrogate), surrogate.domain)
    needed = len(surrogate.domain.parameters)
    if len(training) < needed:
        raise SureflowError(
            f"folds need all {needed} training runs of the model, of which {len(training)} are here: give the store that it "
            "was trained on"
        )
    require_same_runs(surrogate, training)
    return training


class _FoldModels:
    """The models of the folds; the last one that was asked is kept."""

    def __init__(
        self,
        surrogate: Surrogate,
        training: Runs,
        folds: list[Fold],
        fold_of: Int[np.ndarray, " case"],
        on_fold: Progress,
    ):
        self.surrogate, self.training, self.folds, self.fold_of = surrogate, training, folds, fold_of
        self.on_fold = on_fold
        self.number, self.model = -1, surrogate

    def outside(self, number: int) -> np.ndarray:
        """Which runs of a fold lie outside the ranges of the others."""
        left_out = self.folds[number].left_out
        domain = replace(self.surrogate.domain, parameters=self.training.parameters[~left_out])
        return np.any(domain.excess(self.training.parameters[left_out]) > 0, axis=1)

    def predict(self, conditions: Float[np.ndarray, "case parameter"]) -> Predictive:
        """Every condition, which is that of a training run, by the model of its fold."""
        cases = [int(np.flatnonzero((self.training.parameters == row).all(axis=1))[0]) for row in conditions]
        numbers = self.fold_of[cases]
        found = [promised(self._model(int(number)), conditions[numbers == number]) for number in np.unique(numbers)]
        # Their parts may differ: only some conditions lie beyond the runs of their fold.
        stds = [np.asarray(one.std) for one in found if one.std is not None]
        levels = set.intersection(*(set(one.quantiles) for one in found))
        return Predictive(
            np.concatenate([np.asarray(one.mean) for one in found]),
            {"all": np.concatenate(stds)} if stds else {},
            {level: np.concatenate([np.asarray(one.quantiles[level]) for one in found]) for level in levels},
        )

    def _model(self, number: int) -> Surrogate:
        if number != self.number:
            self.model, self.number = self._fitted(number), number
            self.on_fold(number + 1, len(self.folds))
        return self.model

    def _fitted(self, number: int) -> Surrogate:
        kept = self.training.select(~self.folds[number].left_out)
        model = learn(kept, self.surrogate.spec)
        if self.surrogate.calibration is None:
            return model
        try:
            return calibrate(model, kept, folds=True, quantities=False)
        except CannotCalibrate:
            raise SureflowError(
                f"{len(kept)} runs, which one of {len(self.folds)} folds leaves, are too few to calibrate with: take more folds, "
                "or a model that is not calibrated"
            ) from None
