"""Criteria for the paper's claims: what the rows of a study must show for a claim to hold.

A criterion whose rows are missing raises `Missing` with what they are.
"""

import enum
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sureflow.metrics.scoring import EXPLODED
from sureflow.report.findings import INSIDE, OUTSIDE, Findings, region_name
from sureflow.report.study_tables import PHYSICAL_NAMES
from sureflow.report.tabular import number
from sureflow.reproduction.leon2023.printed import VARIABLES

BOTH = (INSIDE, OUTSIDE)
UQ_KINDS = ("mve", "evidential", "ensemble")
OTHER_WAYS = ("dropout", "mixture")
NONLOCAL, POINTWISE = ("nbf", "pod-deeponet", "fno"), "deeponet-body-fitted"
KEY_NAMES = {"mae": "MAE", "relative_error": "relative error", "miscalibration": "miscalibration area"}

GOOD_CALIBRATION = 0.10  # miscalibration area; the paper calls its ensemble's 0.09 well calibrated
CLEARLY_HIGHER = 1.1  # ratio of errors
BY_FAR = 0.5  # ratio of miscalibration areas
CORRELATED = 0.3  # Spearman's rank correlation
FEW_POINTS = 0.01  # share of points
INDIFFERENT = 1.25  # largest over smallest error, and difference of 0.05 in miscalibration area
SETTLED = 1.25  # largest over smallest mean std in the last half of the epochs


class Outcome(enum.Enum):
    HOLDS = "holds"
    FAILS = "does not hold"
    UNTESTED = "not tested in this study"


class Finding(NamedTuple):
    """Whether a criterion is met, and the numbers: a sentence, and a line for every place where it was tested."""

    verdict: Outcome
    evidence: str
    lines: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """All of it in one line."""
        return " ".join(filter(None, (self.evidence, "; ".join(self.lines))))


class Missing(Exception):
    """Raised by a test whose rows are not there."""


def need(findings: Findings, key: str, label: str, domain: str, variable: str = "mean", region: str = "all") -> float:
    """A number of the rows, which must be there."""
    value = findings.value(key, label, domain, variable, region)
    if value is None:
        place = "" if region == "all" else f" in the {region_name(region)}"
        raise Missing(f"{key.replace('_', ' ')} of {findings.name(label)} {findings.domain_name(domain)}{place}")
    return value


def finding(holds: bool, evidence: str, lines: Sequence[str] = ()) -> Finding:
    return Finding(Outcome.HOLDS if holds else Outcome.FAILS, evidence, tuple(lines))


def listed(findings: Findings, numbers: Mapping[str, float]) -> str:
    """'MVE 0.42, Ensemble 0.09', the smallest first."""
    return ", ".join(f"{findings.name(k)} {number(v)}" for k, v in sorted(numbers.items(), key=lambda item: item[1]))


def lowest_everywhere(
    findings: Findings, key: str, kinds: Sequence[str], places: Sequence[tuple[str, str]], winner: str = "ensemble"
) -> Finding:
    """Whether one kind has the least of something in every (domain, variable)."""
    won, lines = 0, []
    for domain, variable in places:
        numbers = {kind: need(findings, key, kind, domain, variable) for kind in kinds}
        won += min(numbers, key=lambda kind: numbers[kind]) == winner
        place = findings.domain_name(domain) + ("" if variable == "mean" else f", {variable}")
        lines.append(f"{place}: {listed(findings, numbers)}")
    if len(places) == 1:
        return finding(won == 1, f"In order of {KEY_NAMES[key]}, {lines[0]}.")
    words = f"{findings.name(winner)} has the lowest {KEY_NAMES[key]} in {won} of {len(places)}."
    return finding(won == len(places), words, lines)


def by_domain(findings: Findings) -> list[tuple[str, str]]:
    if not findings.outer:
        raise Missing("test runs outside of the training region")
    return [(domain, "mean") for domain in findings.domains]


def by_variable(domain: str) -> list[tuple[str, str]]:
    return [(domain, variable) for variable in VARIABLES]


def ensemble_has_least_error(findings: Findings) -> Finding:
    return lowest_everywhere(findings, "mae", UQ_KINDS, by_domain(findings))


def ensemble_has_least_error_of_four(findings: Findings) -> Finding:
    return lowest_everywhere(findings, "mae", ("deterministic", *UQ_KINDS), by_domain(findings))


def ensemble_is_best_calibrated(findings: Findings) -> Finding:
    return lowest_everywhere(findings, "miscalibration", UQ_KINDS, [(domain, "mean") for domain in BOTH])


def ensemble_is_best_for_every_variable(findings: Findings) -> Finding:
    return lowest_everywhere(findings, "relative_error", ("deterministic", *UQ_KINDS), by_variable("in_domain"))


def deterministic_is_close_second(findings: Findings) -> Finding:
    numbers = {k: need(findings, "relative_error", k, "in_domain") for k in ("deterministic", *UQ_KINDS)}
    first, second, third, _ = sorted(numbers, key=lambda kind: numbers[kind])
    close = numbers[second] - numbers[first] < numbers[third] - numbers[second]
    holds = (first, second) == ("ensemble", "deterministic") and close
    return finding(holds, f"Relative error in-domain: {listed(findings, numbers)}.")


def single_uq_models_err_more(findings: Findings) -> Finding:
    higher, lines = 0, []
    for _, variable in by_variable("in_domain"):
        numbers = {k: need(findings, "relative_error", k, "in_domain", variable) for k in ("deterministic", *UQ_KINDS)}
        reference = max(numbers["deterministic"], numbers["ensemble"])
        higher += min(numbers["mve"], numbers["evidential"]) > CLEARLY_HIGHER * reference
        lines.append(f"{variable}: {listed(findings, numbers)}")
    return finding(higher == len(lines), f"Both are clearly higher for {higher} of {len(lines)} variables.", lines)


def models_are_more_alike_outside(findings: Findings) -> Finding:
    ratios = {}
    for domain in BOTH:
        errors = [need(findings, "relative_error", k, domain) for k in ("deterministic", *UQ_KINDS)]
        ratios[domain] = max(errors) / min(errors)
    inside, outside = (ratios[domain] for domain in BOTH)
    words = f"Largest over smallest relative error: {number(inside)} in-domain, {number(outside)} out-of-domain."
    return finding(outside < inside, words)


def ensemble_has_least_relative_error_outside(findings: Findings) -> Finding:
    return lowest_everywhere(findings, "relative_error", ("deterministic", *UQ_KINDS), [("out_of_domain", "mean")])


def spread_of(findings: Findings, kind: str, domain: str, variable: str) -> float:
    """Inter-quartile range of the relative error."""
    high, low = (need(findings, f"relative_error_{q}", kind, domain, variable) for q in ("q75", "q25"))
    return high - low


def weak_variables(findings: Findings) -> Finding:
    """MVE in T, evidential in u2: larger error and inter-quartile range than deterministic and ensemble."""
    met, lines = 0, []
    for kind, variable in (("mve", "T"), ("evidential", "u2")):
        for domain in BOTH:
            error = {
                k: need(findings, "relative_error", k, domain, variable) for k in (kind, "deterministic", "ensemble")
            }
            spread = {k: spread_of(findings, k, domain, variable) for k in error}
            met += error[kind] == max(error.values()) and spread[kind] == max(spread.values())
            place = f"{variable} {findings.domain_name(domain)}"
            lines.append(f"{place}: error {listed(findings, error)}; range {listed(findings, spread)}")
    return finding(met == len(lines), f"In {met} of {len(lines)} cases.", lines)


def ensemble_is_best_by_far(findings: Findings) -> Finding:
    numbers = {kind: need(findings, "miscalibration", kind, "in_domain") for kind in UQ_KINDS}
    next_best = min(numbers["mve"], numbers["evidential"])
    return finding(
        numbers["ensemble"] <= min(BY_FAR * next_best, GOOD_CALIBRATION),
        f"Miscalibration in-domain: {listed(findings, numbers)}.",
    )


def evidential_beats_mve(findings: Findings) -> Finding:
    found = lowest_everywhere(findings, "miscalibration", ("mve", "evidential"), by_variable("in_domain"), "evidential")
    return with_epistemic_std(findings, found, "miscalibration", "in_domain", VARIABLES)


def evidential_is_best_for_u1_outside(findings: Findings) -> Finding:
    found = lowest_everywhere(findings, "miscalibration", UQ_KINDS, [("out_of_domain", "u1")], "evidential")
    return with_epistemic_std(findings, found, "miscalibration", "out_of_domain", ["u1"])


def with_epistemic_std(findings: Findings, found: Finding, key: str, domain: str, names: Sequence[str]) -> Finding:
    """Adds what the epistemic std alone gives: the paper does not say which of the two it evaluates."""
    numbers = {name: findings.value(key, "evidential-epistemic", domain, name) for name in names}
    if None in numbers.values():
        return found
    words = ", ".join(f"{name} {number(value)}" for name, value in numbers.items())
    return found._replace(
        lines=(*found.lines, f"with the epistemic std alone, {findings.domain_name(domain)}: {words}")
    )


def no_good_calibration_for_u1(findings: Findings) -> Finding:
    numbers = {kind: need(findings, "miscalibration", kind, "out_of_domain", "u1") for kind in UQ_KINDS}
    return finding(
        min(numbers.values()) > GOOD_CALIBRATION, f"Miscalibration of u1 out-of-domain: {listed(findings, numbers)}."
    )


def calibration_outside_is_hard(findings: Findings) -> Finding:
    numbers = {kind: need(findings, "miscalibration", kind, "out_of_domain") for kind in UQ_KINDS}
    words = f"Miscalibration out-of-domain: {listed(findings, numbers)}."
    return finding(min(numbers.values()) > GOOD_CALIBRATION, words)


def evidential_explodes(findings: Findings) -> Finding:
    """The order of magnitude is that of the nearest power of ten."""
    largest = {
        variable: max(need(findings, "largest_std", "evidential", domain, variable) for domain in BOTH)
        for variable in VARIABLES
    }
    least = {"u1": 10**3.5, "u2": 10**3.5, "rho": 10**0.5, "T": 10**0.5}
    words = ", ".join(f"{name} {number(value)}" for name, value in largest.items())
    over = ", ".join(name for name, value in largest.items() if value > EXPLODED) or "no variable"
    evidence = f"Largest evidential std: {words}; over {EXPLODED:g} for {over}."
    found = finding(all(largest[name] >= least[name] for name in largest), evidence)
    return with_epistemic_std(findings, found, "largest_std", "out_of_domain", VARIABLES)


def area_ignores_outliers(findings: Findings) -> Finding:
    """A share s of points changes every observed proportion by at most s, and so the area."""
    over = need(findings, "share_std_over_10", "evidential", "in_domain")
    if over == 0:
        raise Missing("evidential standard deviation over 10 in-domain, and so no outlier")
    area = need(findings, "miscalibration", "evidential", "in_domain")
    largest = need(findings, "largest_std", "evidential", "in_domain")
    evidence = f"{100 * over:.3g} % of the points have a std over {EXPLODED:g} (the largest: {number(largest)})"
    if over >= FEW_POINTS:
        return finding(False, f"{evidence}: they are not few. The area is {number(area)}.")
    return finding(True, f"{evidence}; they can change the area of {number(area)} by at most {number(over)}.")


def evidential_does_not_settle(findings: Findings) -> Finding:
    rows = findings.history("evidential")
    epochs = sorted({row["epoch"] for row in rows})
    if len(epochs) < 4:
        raise Missing("evidential std over four epochs or more")
    unsettled, lines = 0, []
    for name in VARIABLES:
        late = {row["epoch"]: row["mean_std"] for row in rows if row["variable"] == name}
        late = {epoch: std for epoch, std in late.items() if epoch >= 0.5 * epochs[-1]}
        drift, last = max(late.values()) / min(late.values()), late[epochs[-1]]
        unsettled += drift > SETTLED or last > EXPLODED
        lines.append(f"{name}: varies by a factor {number(drift)}, ends at {number(last)}")
    evidence = (
        f"Not settled, or at a std over {EXPLODED:g}, for {unsettled} of {len(lines)} variables. Mean std on the "
    )
    return finding(unsettled > 0, f"{evidence}training points, last half of the epochs:", lines)


def correlation(findings: Findings, places: Sequence[tuple[str, str]]) -> Finding:
    numbers = {place: need(findings, "spearman", "ensemble", *place) for place in places}
    (low, high) = min(numbers, key=lambda place: numbers[place]), max(numbers, key=lambda place: numbers[place])
    ends = [
        f"{numbers[place]:.2f} ({place[1]} {findings.domain_name(place[0])})" for place in dict.fromkeys((low, high))
    ]
    words = " to ".join(ends)
    return finding(numbers[low] > CORRELATED, f"Rank correlation of |error| and std, ensemble: {words}.")


def error_and_std_go_together(findings: Findings) -> Finding:
    return correlation(findings, [("in_domain", "u1")])


def they_go_together_everywhere(findings: Findings) -> Finding:
    by_domain(findings)
    return correlation(findings, [(domain, name) for domain in findings.domains for name in VARIABLES])


def error_sits_at_shock_and_wall(findings: Findings) -> Finding:
    lines, holds = [], True
    for key, name in (("mae", "MAE"), ("mean_std", "mean std")):
        numbers = {
            region: need(findings, key, "ensemble", "in_domain", "u1", region)
            for region in ("shock", "wall_layer", "shock_layer", "freestream")
        }
        steep, smooth = (numbers["shock"], numbers["wall_layer"]), (numbers["shock_layer"], numbers["freestream"])
        holds &= min(steep) > max(smooth)
        lines.append(f"{name}: " + ", ".join(f"{region_name(r)} {number(v)}" for r, v in numbers.items()))
    return finding(holds, "Ensemble, u1, in-domain:", lines)


def regularization_of(findings: Findings, label: str) -> float | None:
    """The evidential lambda of a model that differs from the paper's in nothing else, from its settings."""
    settings = findings.settings(label)
    head: Any = settings.get("head") or settings.get("model", {}).get("head") or {}
    elsewhere = settings.get("coordinates", "physical") not in PHYSICAL_NAMES
    remedied = head.get("regularizer", "error") != "error" or head.get("recovery") or head.get("fewest_degrees", 2) > 2
    otherwise = elsewhere or remedied or "split_seed" in settings or "runs" in settings
    return head.get("regularization") if head.get("name") == "evidential" and not otherwise else None


def lambda_matters_little(findings: Findings) -> Finding:
    strengths = {label: regularization_of(findings, label) for label in findings.labels}
    # Those that were trained alike.
    alike_trained: dict[str, dict[str, float]] = {}
    for label, value in strengths.items():
        if value is not None:
            alike_trained.setdefault(repr(findings.settings(label).get("train")), {})[label] = value
    found = max(alike_trained.values(), key=lambda group: len(set(group.values())), default={})
    if len(set(found.values())) < 2 or min(found.values()) > 1e-3 or max(found.values()) < 1:
        raise Missing("evidential models with lambda from 1e-3 to 1")
    errors = {label: need(findings, "mae", label, "in_domain") for label in found}
    areas = {label: need(findings, "miscalibration", label, "in_domain") for label in found}
    alike = (
        max(errors.values()) / min(errors.values()) < INDIFFERENT and max(areas.values()) - min(areas.values()) < 0.05
    )
    lines = [
        f"λ = {found[label]:g}: MAE {number(errors[label])}, miscalibration {number(areas[label])}"
        for label in sorted(found, key=lambda label: found[label])
    ]
    return finding(alike, "In-domain:", lines)


def nonlocal_models_err_less(findings: Findings) -> Finding:
    kinds, places = (*NONLOCAL, POINTWISE), [(domain, region) for domain in BOTH for region in ("shock", "wall_layer")]
    lines, holds = [], True
    for domain, region in places:
        numbers = {kind: need(findings, "mae", kind, domain, region=region) for kind in kinds}
        holds &= max(numbers[kind] for kind in NONLOCAL) < numbers[POINTWISE]
        lines.append(f"{findings.domain_name(domain)}, {region_name(region)}: {listed(findings, numbers)}")
    return finding(holds, "MAE:", lines)


def other_ways_are_no_better(findings: Findings) -> Finding:
    lines, holds = [], True
    for domain in BOTH:
        errors, areas = (
            {kind: need(findings, key, kind, domain) for kind in (*OTHER_WAYS, "ensemble")}
            for key in ("mae", "miscalibration")
        )
        better = [k for k in OTHER_WAYS if errors[k] < errors["ensemble"] and areas[k] < areas["ensemble"]]
        holds &= not better
        lines.append(
            f"{findings.domain_name(domain)}: MAE {listed(findings, errors)}; miscalibration {listed(findings, areas)}"
        )
    return finding(holds, "", lines)
