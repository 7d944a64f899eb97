"""The paper's split of the runs: a box to train in, and four domains outside of it."""

from typing import ClassVar

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from sureflow.data.runs import Runs
from sureflow.data.splits import SPLITS, Division, Mask, Split, draw
from sureflow.errors import SureflowError
from sureflow.validation import settings


@SPLITS.add
@settings
class PaperDomains(Split):
    """The split of the paper (section 3) over Mach number and altitude.

    In-domain is the box `mach` x `altitude_km`, of which `test_runs` are drawn for testing, always with the condition
    `shown` (whose test prediction the paper draws); the others train. The four outer domains span the whole other axis.
    The printed low-Mach domain is {10, 11, 12} and so shares Mach 12 with the box: by default the training runs among
    them are left out of the test and counted; `printed` keeps them, as the paper did.
    """

    mach: tuple[float, float] = (12.0, 28.0)
    altitude_km: tuple[float, float] = (26.0, 54.0)
    test_runs: PositiveInt = 50
    shown: tuple[float, float] = (25.0, 46.0)
    printed: bool = False
    seed: NonNegativeInt = 0
    kind: ClassVar[str] = "paper"

    def __call__(self, runs: Runs) -> Division:
        mach, altitude = (_parameter(runs, name) for name in ("mach", "altitude_km"))
        outer = {
            "high_mach": mach > self.mach[1],
            "high_altitude": altitude > self.altitude_km[1],
            "low_mach": mach <= self.mach[0],
            "low_altitude": altitude < self.altitude_km[0],
        }
        box = (mach >= self.mach[0]) & ~outer["high_mach"] & ~outer["high_altitude"] & ~outer["low_altitude"]
        test = draw(box, self.test_runs, self.seed, always=(mach == self.shown[0]) & (altitude == self.shown[1]))
        train = box & ~test
        domains = {"in_domain": test, **outer, "out_of_domain": np.logical_or.reduce(list(outer.values()))}
        kept = {name: mask if self.printed else mask & ~train for name, mask in domains.items()}
        _require_runs({"the training set": train, **kept})
        return Division(train, kept, {name: int((domains[name] & ~kept[name]).sum()) for name in domains})


def _parameter(runs: Runs, name: str) -> np.ndarray:
    if name not in runs.parameter_names:
        raise SureflowError(
            f"the paper's split needs the parameter {name}, and these runs have {', '.join(runs.parameter_names)}: choose "
            'split.kind = "random"'
        )
    return runs.parameters[:, runs.parameter_names.index(name)]


def _require_runs(masks: dict[str, Mask]) -> None:
    for name, mask in masks.items():
        if not mask.any():
            raise SureflowError(
                f"the split leaves {name} without a run: compute runs there, choose split.mach and split.altitude_km "
                'to suit these runs, or split.kind = "random"'
            )
