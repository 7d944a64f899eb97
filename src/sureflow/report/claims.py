"""The paper's claims, each in our words, with a criterion that the rows of a study meet or do not.

Where the paper uses a word like "significantly" or "close", the criterion says what we take it to mean; on the paper's own
table, those that the table can answer come out as the paper says. A claim whose rows are missing is not tested, and says
what it needs.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sureflow.evaluate.scoring import EXPLODED
from sureflow.report.export import number, share
from sureflow.report.findings import BOTH, DOMAIN_NAMES, REGION_NAMES, Findings, variables

UQ_KINDS = ("mve", "evidential", "ensemble")
KEY_NAMES = {"mae": "MAE", "relative_error": "relative error", "miscalibration": "miscalibration area"}

GOOD_CALIBRATION = 0.10  # miscalibration area; the paper calls its ensemble's 0.09 well calibrated
CLEARLY_HIGHER = 1.1  # ratio of errors
BY_FAR = 0.5  # ratio of miscalibration areas
CORRELATED = 0.3  # Spearman's rank correlation
FEW_POINTS = 0.01  # share of points
INDIFFERENT = 1.25  # largest over smallest error, and difference of 0.05 in miscalibration area
SETTLED = 1.25  # largest over smallest mean std in the last half of the epochs


class Verdict(enum.Enum):
    HOLDS = "holds"
    FAILS = "does not hold"
    UNTESTED = "not tested in this study"


class Finding(NamedTuple):
    """Whether a criterion is met, and the numbers: a sentence, and a line for every place where it was tested."""

    verdict: Verdict
    evidence: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, where it stands, and what we take it to mean; `needs` says what a test of it takes."""

    statement: str
    source: str
    criterion: str
    test: Callable[[Findings], Finding]
    needs: str = "the kinds of model that it speaks of; the paper preset has them"


class Missing(Exception):
    """Raised by a test whose rows are not there."""


def judge(claim: Claim, findings: Findings) -> Finding:
    """The finding of a claim; untested if a number that it needs is missing."""
    try:
        return claim.test(findings)
    except Missing as missing:
        return Finding(Verdict.UNTESTED, f"No {missing}. It needs {claim.needs}.")


def judge_all(findings: Findings) -> list[tuple[Claim, Finding]]:
    return [(claim, judge(claim, findings)) for claim in CLAIMS]


def need(findings: Findings, key: str, label: str, domain: str, variable: str = "mean", region: str = "all") -> float:
    """A number of the rows, which must be there."""
    value = findings.value(key, label, domain, variable, region)
    if value is None:
        place = "" if region == "all" else f" in the {REGION_NAMES[region]}"
        raise Missing(f"{key.replace('_', ' ')} of {findings.name(label)} {DOMAIN_NAMES[domain]}{place}")
    return value


def finding(holds: bool, evidence: str, lines: Sequence[str] = ()) -> Finding:
    return Finding(Verdict.HOLDS if holds else Verdict.FAILS, evidence, tuple(lines))


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
        place = DOMAIN_NAMES[domain] + ("" if variable == "mean" else f", {variable}")
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
    return [(domain, variable) for variable in variables()]


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
            place = f"{variable} {DOMAIN_NAMES[domain]}"
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
    return with_epistemic_std(findings, found, "miscalibration", "in_domain", variables())


def evidential_is_best_for_u1_outside(findings: Findings) -> Finding:
    found = lowest_everywhere(findings, "miscalibration", UQ_KINDS, [("out_of_domain", "u1")], "evidential")
    return with_epistemic_std(findings, found, "miscalibration", "out_of_domain", ["u1"])


def with_epistemic_std(findings: Findings, found: Finding, key: str, domain: str, names: Sequence[str]) -> Finding:
    """Adds what the epistemic std alone gives: the paper does not say which of the two it evaluates."""
    numbers = {name: findings.value(key, "evidential-epistemic", domain, name) for name in names}
    if None in numbers.values():
        return found
    words = ", ".join(f"{name} {number(value)}" for name, value in numbers.items())
    return found._replace(lines=(*found.lines, f"with the epistemic std alone, {DOMAIN_NAMES[domain]}: {words}"))


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
        for variable in variables()
    }
    least = {"u1": 10**3.5, "u2": 10**3.5, "rho": 10**0.5, "T": 10**0.5}
    words = ", ".join(f"{name} {number(value)}" for name, value in largest.items())
    over = ", ".join(name for name, value in largest.items() if value > EXPLODED) or "no variable"
    evidence = f"Largest evidential std: {words}; over {EXPLODED:g} for {over}."
    found = finding(all(largest[name] >= least[name] for name in largest), evidence)
    return with_epistemic_std(findings, found, "largest_std", "out_of_domain", variables())


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
    for name in variables():
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
    ends = [f"{numbers[place]:.2f} ({place[1]} {DOMAIN_NAMES[place[0]]})" for place in dict.fromkeys((low, high))]
    words = " to ".join(ends)
    return finding(numbers[low] > CORRELATED, f"Rank correlation of |error| and std, ensemble: {words}.")


def error_and_std_go_together(findings: Findings) -> Finding:
    return correlation(findings, [("in_domain", "u1")])


def they_go_together_everywhere(findings: Findings) -> Finding:
    by_domain(findings)
    return correlation(findings, [(domain, name) for domain in findings.domains for name in variables()])


def error_sits_at_shock_and_wall(findings: Findings) -> Finding:
    lines, holds = [], True
    for key, name in (("mae", "MAE"), ("mean_std", "mean std")):
        numbers = {
            region: need(findings, key, "ensemble", "in_domain", "u1", region)
            for region in ("shock", "wall_layer", "shock_layer", "freestream")
        }
        steep, smooth = (numbers["shock"], numbers["wall_layer"]), (numbers["shock_layer"], numbers["freestream"])
        holds &= min(steep) > max(smooth)
        lines.append(f"{name}: " + ", ".join(f"{REGION_NAMES[r]} {number(v)}" for r, v in numbers.items()))
    return finding(holds, "Ensemble, u1, in-domain:", lines)


def regularization_of(findings: Findings, label: str) -> float | None:
    """The evidential lambda of a model that differs from the paper's in nothing else, from its settings."""
    settings = findings.settings(label)
    head: Any = settings.get("head") or {}
    otherwise = settings.get("coordinates", "xr") != "xr" or "split_seed" in settings or "runs" in settings
    return head.get("regularization") if head.get("name") == "evidential" and not otherwise else None


def lambda_matters_little(findings: Findings) -> Finding:
    strengths = {label: regularization_of(findings, label) for label in findings.labels}
    found = {label: value for label, value in strengths.items() if value is not None}
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


CLAIMS = (
    Claim(
        "Of the three ways to get uncertainties, ensembling gives the smallest errors, inside the training region and "
        "outside of it.",
        "abstract, conclusion",
        "lowest mean absolute error of MVE, evidential and ensemble in every domain",
        ensemble_has_least_error,
    ),
    Claim(
        "Of the three, ensembling gives the best-calibrated uncertainties, inside and outside.",
        "abstract, section 3, conclusion, Table 1",
        "lowest miscalibration area, averaged over the variables, in-domain and out-of-domain",
        ensemble_is_best_calibrated,
    ),
    Claim(
        "The ensemble also errs less than a single deterministic network in all five domains.",
        "Fig. 2, Table 1",
        "lowest mean absolute error of all four kinds in every domain",
        ensemble_has_least_error_of_four,
    ),
    Claim(
        "In-domain, the ensemble has the lowest error for every state variable.",
        "section 3, Fig. 2",
        "lowest relative error of the four kinds for each of the four variables",
        ensemble_is_best_for_every_variable,
    ),
    Claim(
        "In-domain, the deterministic model is a close second.",
        "section 3, Fig. 2",
        "second-lowest relative error, nearer to the ensemble's than to the third",
        deterministic_is_close_second,
    ),
    Claim(
        "In-domain, MVE and evidential models have significantly higher errors for all variables.",
        "section 3",
        f"both over {CLEARLY_HIGHER} times the relative error of deterministic and ensemble, for each variable",
        single_uq_models_err_more,
    ),
    Claim(
        "Outside of the training region the four kinds perform more alike.",
        "section 3, Fig. 2",
        "the ratio of largest to smallest relative error is smaller outside than in-domain",
        models_are_more_alike_outside,
    ),
    Claim(
        "Outside, the ensemble still has the lowest error on average.",
        "section 3, Fig. 2",
        "lowest relative error averaged over the variables, out-of-domain",
        ensemble_has_least_relative_error_outside,
    ),
    Claim(
        "MVE is worse, in error and spread, for the temperature, and evidential for the radial velocity, inside and "
        "outside.",
        "Fig. 2",
        "larger relative error and inter-quartile range than deterministic and ensemble in all four cases",
        weak_variables,
    ),
    Claim(
        "In-domain, the ensemble is by far the best calibrated.",
        "section 3, Fig. 3",
        f"miscalibration area at most {BY_FAR:g} of the next one's, and at most {GOOD_CALIBRATION:g}",
        ensemble_is_best_by_far,
    ),
    Claim(
        "In-domain, the evidential model has a lower miscalibration area than MVE for every variable.",
        "Fig. 3",
        "lower miscalibration area than MVE for each of the four variables",
        evidential_beats_mve,
    ),
    Claim(
        "Outside, the evidential model has the lowest miscalibration area of the three for the axial velocity.",
        "Fig. 3",
        "lowest miscalibration area of u1 out-of-domain",
        evidential_is_best_for_u1_outside,
    ),
    Claim(
        "Outside, no model is well calibrated for the axial velocity.",
        "section 3, Fig. 3",
        f"miscalibration area of u1 over {GOOD_CALIBRATION:g} for all three",
        no_good_calibration_for_u1,
    ),
    Claim(
        "Calibration outside of the training region remains hard for all methods.",
        "section 1",
        f"miscalibration area out-of-domain over {GOOD_CALIBRATION:g} for all three",
        calibration_outside_is_hard,
    ),
    Claim(
        "At some points the evidential standard deviation explodes: to the order of 10⁴ for the velocities and 10 for "
        "density and temperature, where the fields themselves are of order 1.",
        "Fig. 3, Fig. 5 (appendix)",
        "largest std over 10^3.5 for u1 and u2 and over 10^0.5 for rho and T",
        evidential_explodes,
    ),
    Claim(
        "The miscalibration area does not notice such outliers, because they are few.",
        "Fig. 3, Fig. 5 (appendix)",
        f"points with a std over 10 exist and are fewer than {share(FEW_POINTS)}",
        area_ignores_outliers,
        needs="an evidential model whose std explodes somewhere",
    ),
    Claim(
        "As training goes on, the evidential uncertainties do not settle at meaningful magnitudes.",
        "section 3",
        f"for some variable the mean std on the training points varies by more than a factor {SETTLED:g} in the last half "
        f"of the epochs, or ends over {EXPLODED:g}",
        evidential_does_not_settle,
        needs="an evidential model that was trained for four epochs or more",
    ),
    Claim(
        "For the axial velocity, uncertainty and error of the ensemble are correlated in space.",
        "section 3, Fig. 4, conclusion",
        f"Spearman's rank correlation of |error| and std over {CORRELATED:g} in-domain",
        error_and_std_go_together,
    ),
    Claim(
        "The same is seen for the other variables and conditions.",
        "Fig. 4",
        f"rank correlation over {CORRELATED:g} for each variable in every domain",
        they_go_together_everywhere,
    ),
    Claim(
        "Error and uncertainty concentrate where the flow changes rapidly: at the bow shock and at the wall.",
        "section 3, Fig. 4, conclusion",
        "error and std of u1 are larger in the shock and in the wall layer than in shock layer and free stream",
        error_sits_at_shock_and_wall,
    ),
    Claim(
        "The evidential model is indifferent to its regularization strength λ between 10⁻³ and 1.",
        "appendix C",
        f"largest over smallest in-domain error under {INDIFFERENT:g}, miscalibration areas within 0.05",
        lambda_matters_little,
        needs="evidential models with several λ, which the full preset trains",
    ),
)
