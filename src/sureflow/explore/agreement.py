"""How finely a page keeps the fields of its model, so that its predictions agree with those of the model, and how far they do."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.explore.answers import has_closed_form
from sureflow.explore.packing import Coded
from sureflow.explore.program import Program
from sureflow.explore.restriction import Values
from sureflow.explore.tabulated import Ranges
from sureflow.surrogate.model import Surrogate

# The shares of the range of a field, and of bars, that may be lost. Bits of rows to begin with, how often others are tried, how
# many more of them than needed, and the share of a loss that more of them must leave at most.
ENOUGH, ENOUGH_OF_BARS = 5e-5, 0.004
MORE_BITS, TRIES, MARGIN, WORTH = -3.0, 5, 0.1, 0.95
MORE_BITS_AT_MOST = (-8.0, 12.0)
# Shares of the size of a field: a range that is rounding alone, and what is shown for it.
LEAST_RANGE, WIDENED = 1e-5, 0.02
LEAST_BAR = 0.01  # of the largest one of a field: smaller bars may be off by shares of this
CHECKED, CHECKED_AT_ONCE = 20, 5  # conditions at which the page is compared with the model
LARGEST = 1e36  # of single precision, with room for bands of several bars
WEIGHED = 8  # conditions for every run, which tell how large weights are
DRAWN_AT_MOST = 20  # times as many conditions as are needed, where a model has no prediction at many of them

Progress = Callable[[float, str], None]  # the share of the work that is done, and what comes next


def unfollowed(share: float, note: str) -> None:
    """Progress that nobody follows."""


def kept_rows(
    surrogate: Surrogate, program: Program, used: Values | None, ranges: Ranges, progress: Progress
) -> tuple[dict[str, Coded], Program, str]:
    """The rows of a program as a page keeps them, the program that reads them, and what is lost, in words.

    `used` are the values that the program is for, where it is not for all of them.
    """
    closed = has_closed_form(surrogate)
    weights = program.weights(checked_conditions(surrogate, ranges, WEIGHED * len(surrogate.domain.parameters)))
    conditions, rows = checked_conditions(surrogate, ranges, CHECKED), {}
    progress(0.1, "comparing with the model")
    wanted = [ModelAnswer.of(surrogate, some, used) for some in np.split(conditions, CHECKED // CHECKED_AT_ONCE)]
    _require_single_precision(surrogate.names, wanted)
    read, off = program, Loss(np.inf, np.inf)
    more_bits, bits_before = MORE_BITS if closed else 0.0, np.inf
    for tried in range(TRIES if closed else 1):
        progress(0.2 + 0.5 * tried / TRIES, "packing the fields")
        finer = program.coded(more_bits, weights if closed else None)
        reading = program.reading(finer)
        left = loss(reading, conditions, wanted)
        if more_bits > bits_before and left.excess > WORTH * off.excess:  # what is left is not the rounding of rows
            break
        rows, read, off = finer, reading, left
        if tried and off.excess <= 1.0:
            break
        more_bits, bits_before = bits_after(more_bits, off), more_bits
    return rows, read, _told(off)


def _told(off: "Loss") -> str:
    """What is lost, for the foot of the page."""
    means = (
        f"At {CHECKED} conditions, predictions of this page differ from those of the model by at most {100 * off.mean:.2g} % of "
        "the range of a field"
    )
    if not off.bars:
        return f"{means}."
    return (
        f"{means}, and bars by at most {100 * off.bars:.2g} % of themselves (of {100 * LEAST_BAR:g} % of the field's largest bar "
        "where they are smaller)."
    )


class Loss(NamedTuple):
    """The largest differences between page and model: of means over the range of a field, of bars over themselves (LEAST_BAR)."""

    mean: float
    bars: float

    @property
    def excess(self) -> float:
        """How many times as much as may be lost."""
        return max(self.mean / ENOUGH, self.bars / ENOUGH_OF_BARS)


def bits_after(more_bits: float, off: Loss) -> float:
    """A bit halves what rounding loses; the first try tells how many are needed, more or less."""
    needed = np.log2(max(off.excess, np.finfo(float).tiny)) + MARGIN
    return float(np.clip(more_bits + needed, *MORE_BITS_AT_MOST))


class ModelAnswer(NamedTuple):
    """What the model predicts at conditions."""

    mean: Float[np.ndarray, "case variable point"]
    std: Float[np.ndarray, "case variable point"] | None

    @classmethod
    def of(cls, surrogate: Surrogate, conditions: Float[np.ndarray, "case parameter"], used: Values | None) -> Self:
        found = surrogate.answer(conditions).predictive
        some = slice(None) if used is None else used
        mean, std = (None if one is None else np.asarray(one)[:, :, some] for one in (found.mean, found.std))
        assert mean is not None
        return cls(mean, std)


def _require_single_precision(names: Sequence[str], answers: Sequence[ModelAnswer]) -> None:
    """A page has fields in single precision."""
    sizes = [np.abs(array).max(axis=(0, 2)) for one in answers for array in one if array is not None]
    for name, size in zip(names, np.max(sizes, axis=0), strict=True):
        if size > LARGEST:
            raise SureflowError(
                f"{name} reaches {size:.3g}, and a page shows numbers up to {LARGEST:g}: train a model of it in a larger unit"
            )


def loss(program: Program, conditions: Float[np.ndarray, "case parameter"], wanted: Sequence[ModelAnswer]) -> Loss:
    """Measured at conditions, a few at a time."""
    mean_off = bars_off = 0.0
    size = np.max([np.abs(one.mean).max(axis=(0, 2)) for one in wanted], axis=0)
    for some, (mean, std) in zip(np.split(conditions, len(wanted)), wanted, strict=True):
        found, extent = program.run(some), shown_range(mean, size)
        mean_off = max(mean_off, _most(found["mean"], mean, extent[:, :, None]))
        if std is not None and "std" in found:
            # Of a field without bars to speak of, their rounding is no loss.
            least = np.maximum(LEAST_BAR * std.max(axis=2), LEAST_RANGE * extent)
            bars_off = max(bars_off, _most(found["std"], std, np.maximum(std, least[:, :, None])))
    return Loss(mean_off, bars_off)


def shown_range(
    mean: Float[np.ndarray, "case variable point"], size: Float[np.ndarray, " variable"]
) -> Float[np.ndarray, "case variable"]:
    """The ranges of fields as a page shows them (`visible` in assets/shown.js): one that is as narrow as rounding is widened."""
    extent, known = np.ptp(mean, axis=2), np.where(size > 0, size, 1.0)
    return np.where(extent > LEAST_RANGE * known, extent, WIDENED * known)


def checked_conditions(surrogate: Surrogate, ranges: Ranges, count: int) -> Float[np.ndarray, "case parameter"]:
    """Drawn at random, as sliders move: half of them between the runs, the others as far out as the sliders go."""
    domain = surrogate.domain
    low, high = domain.seen(np.array(ranges).T)
    inner = np.maximum(low, domain.seen(domain.lower)), np.minimum(high, domain.seen(domain.upper))
    rng = np.random.default_rng(0)
    return np.concatenate([_possible(surrogate, rng, ends, count // 2) for ends in (inner, (low, high))])


def _possible(
    surrogate: Surrogate, rng: np.random.Generator, ends: tuple[np.ndarray, np.ndarray], count: int
) -> Float[np.ndarray, "case parameter"]:
    """Conditions at which the model has a prediction, so many of them; runs again and again where hardly any others are found."""
    domain, found = surrogate.trusted_domain, []
    logarithmic = [name in domain.logarithmic for name in domain.names]
    for _ in range(DRAWN_AT_MOST):
        drawn = rng.uniform(*ends, (count, len(domain.names)))
        drawn[:, logarithmic] = np.exp(drawn[:, logarithmic])
        found += [one for one in drawn if not domain.impossible(one)]
        if len(found) >= count:
            return np.array(found[:count])
    return np.resize([*found, *domain.parameters], (count, len(domain.names)))


def _most(
    found: Float[np.ndarray, "case variable point"],
    wanted: Float[np.ndarray, "case variable point"],
    size: Float[np.ndarray, "case variable #point"],
) -> float:
    """The largest difference; one that is not a number is endless."""
    off = np.nan_to_num(np.abs(found - wanted), nan=np.inf)
    return float((off / size).max())
