"""The paper's claims, each in our words, with a criterion that the rows of a study meet or do not.

Where the paper uses a word like "significantly" or "close", the criterion says what we take it to mean; on the paper's own
table, those that the table can answer come out as the paper says. A claim whose rows are missing is not tested, and says
what it needs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sureflow.metrics.scoring import EXPLODED
from sureflow.report.findings import Findings
from sureflow.report.tabular import share
from sureflow.reproduction.leon2023 import criteria
from sureflow.reproduction.leon2023.criteria import Finding, Missing, Outcome


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, where it stands, and what we take it to mean; `needs` says what a test of it takes."""

    statement: str
    source: str
    criterion: str
    test: Callable[[Findings], Finding]
    needs: str = "the kinds of model that it speaks of; the paper preset has them"


def judge(claim: Claim, findings: Findings) -> Finding:
    """The finding of a claim; untested if a number that it needs is missing."""
    try:
        return claim.test(findings)
    except Missing as missing:
        return Finding(Outcome.UNTESTED, f"No {missing}. It needs {claim.needs}.")


def judge_all(findings: Findings) -> list[tuple[Claim, Finding]]:
    """All claims; of a study that has none of the paper's models, those that the other models can test."""
    judged = [(claim, judge(claim, findings)) for claim in CLAIMS]
    return [one for one in judged if findings.kinds or one[1].verdict is not Outcome.UNTESTED]


CLAIMS = (
    Claim(
        "Of the three ways to get uncertainties, ensembling gives the smallest errors, inside the training region and "
        "outside of it.",
        "abstract, conclusion",
        "lowest mean absolute error of MVE, evidential and ensemble in every domain",
        criteria.ensemble_has_least_error,
    ),
    Claim(
        "Of the three, ensembling gives the best-calibrated uncertainties, inside and outside.",
        "abstract, section 3, conclusion, Table 1",
        "lowest miscalibration area, averaged over the variables, in-domain and out-of-domain",
        criteria.ensemble_is_best_calibrated,
    ),
    Claim(
        "The ensemble also errs less than a single deterministic network in all five domains.",
        "Fig. 2, Table 1",
        "lowest mean absolute error of all four kinds in every domain",
        criteria.ensemble_has_least_error_of_four,
    ),
    Claim(
        "In-domain, the ensemble has the lowest error for every state variable.",
        "section 3, Fig. 2",
        "lowest relative error of the four kinds for each of the four variables",
        criteria.ensemble_is_best_for_every_variable,
    ),
    Claim(
        "In-domain, the deterministic model is a close second.",
        "section 3, Fig. 2",
        "second-lowest relative error, nearer to the ensemble's than to the third",
        criteria.deterministic_is_close_second,
    ),
    Claim(
        "In-domain, MVE and evidential models have significantly higher errors for all variables.",
        "section 3",
        f"both over {criteria.CLEARLY_HIGHER} times the relative error of deterministic and ensemble, for each variable",
        criteria.single_uq_models_err_more,
    ),
    Claim(
        "Outside of the training region the four kinds perform more alike.",
        "section 3, Fig. 2",
        "the ratio of largest to smallest relative error is smaller outside than in-domain",
        criteria.models_are_more_alike_outside,
    ),
    Claim(
        "Outside, the ensemble still has the lowest error on average.",
        "section 3, Fig. 2",
        "lowest relative error averaged over the variables, out-of-domain",
        criteria.ensemble_has_least_relative_error_outside,
    ),
    Claim(
        "MVE is worse, in error and spread, for the temperature, and evidential for the radial velocity, inside and "
        "outside.",
        "Fig. 2",
        "larger relative error and inter-quartile range than deterministic and ensemble in all four cases",
        criteria.weak_variables,
    ),
    Claim(
        "In-domain, the ensemble is by far the best calibrated.",
        "section 3, Fig. 3",
        f"miscalibration area at most {criteria.BY_FAR:g} of the next one's, and at most {criteria.GOOD_CALIBRATION:g}",
        criteria.ensemble_is_best_by_far,
    ),
    Claim(
        "In-domain, the evidential model has a lower miscalibration area than MVE for every variable.",
        "Fig. 3",
        "lower miscalibration area than MVE for each of the four variables",
        criteria.evidential_beats_mve,
    ),
    Claim(
        "Outside, the evidential model has the lowest miscalibration area of the three for the axial velocity.",
        "Fig. 3",
        "lowest miscalibration area of u1 out-of-domain",
        criteria.evidential_is_best_for_u1_outside,
    ),
    Claim(
        "Outside, no model is well calibrated for the axial velocity.",
        "section 3, Fig. 3",
        f"miscalibration area of u1 over {criteria.GOOD_CALIBRATION:g} for all three",
        criteria.no_good_calibration_for_u1,
    ),
    Claim(
        "Calibration outside of the training region remains hard for all methods.",
        "section 1",
        f"miscalibration area out-of-domain over {criteria.GOOD_CALIBRATION:g} for all three",
        criteria.calibration_outside_is_hard,
    ),
    Claim(
        "At some points the evidential standard deviation explodes: to the order of 10⁴ for the velocities and 10 for "
        "density and temperature, where the fields themselves are of order 1.",
        "Fig. 3, Fig. 5 (appendix)",
        "largest std over 10^3.5 for u1 and u2 and over 10^0.5 for rho and T",
        criteria.evidential_explodes,
    ),
    Claim(
        "The miscalibration area does not notice such outliers, because they are few.",
        "Fig. 3, Fig. 5 (appendix)",
        f"points with a std over 10 exist and are fewer than {share(criteria.FEW_POINTS)}",
        criteria.area_ignores_outliers,
        needs="an evidential model whose std explodes somewhere",
    ),
    Claim(
        "As training goes on, the evidential uncertainties do not settle at meaningful magnitudes.",
        "section 3",
        f"for some variable the mean std on the training points varies by more than a factor {criteria.SETTLED:g} in the last "
        f"half of the epochs, or ends over {EXPLODED:g}",
        criteria.evidential_does_not_settle,
        needs="an evidential model that was trained for four epochs or more",
    ),
    Claim(
        "For the axial velocity, uncertainty and error of the ensemble are correlated in space.",
        "section 3, Fig. 4, conclusion",
        f"Spearman's rank correlation of |error| and std over {criteria.CORRELATED:g} in-domain",
        criteria.error_and_std_go_together,
    ),
    Claim(
        "The same is seen for the other variables and conditions.",
        "Fig. 4",
        f"rank correlation over {criteria.CORRELATED:g} for each variable in every domain",
        criteria.they_go_together_everywhere,
    ),
    Claim(
        "Error and uncertainty concentrate where the flow changes rapidly: at the bow shock and at the wall.",
        "section 3, Fig. 4, conclusion",
        "error and std of u1 are larger in the shock and in the wall layer than in shock layer and free stream",
        criteria.error_sits_at_shock_and_wall,
    ),
    Claim(
        "The evidential model is indifferent to its regularization strength λ between 10⁻³ and 1.",
        "appendix C",
        f"largest over smallest in-domain error under {criteria.INDIFFERENT:g}, miscalibration areas within 0.05",
        criteria.lambda_matters_little,
        needs="evidential models with several λ, which the preset kinds trains",
    ),
    Claim(
        "Models that account for nonlocal phenomena (NBFs, POD-DeepONets, FNOs) are worth further research, since errors sit "
        "where the flow changes rapidly.",
        "conclusion",
        "each of the three errs less than a network for single points in the same coordinates and scaling, in the shock and in "
        "the wall layer, in-domain and out-of-domain",
        criteria.nonlocal_models_err_less,
        needs="the three, and a body-fitted DeepONet; the preset methods has them",
    ),
    Claim(
        "Dropout and Gaussian mixtures, further ways to get uncertainties, are left out.",
        "appendix D",
        "neither has both a lower error and a lower miscalibration area than the ensemble, in-domain or out-of-domain: nothing "
        "was missed",
        criteria.other_ways_are_no_better,
        needs="both; the preset kinds has them",
    ),
)
