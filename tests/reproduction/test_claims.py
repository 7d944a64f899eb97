from dataclasses import replace

import numpy as np
import pytest

from report import synthetic_study
from sureflow.evaluate.results import Results
from sureflow.report.findings import Findings
from sureflow.reproduction.leon2023 import printed
from sureflow.reproduction.leon2023.claims import CLAIMS, judge, judge_all
from sureflow.reproduction.leon2023.criteria import Outcome


@pytest.fixture(scope="module")
def study() -> Findings:
    return synthetic_study.findings()


def claim(words: str):
    """The one claim whose statement holds these words."""
    found = [claim for claim in CLAIMS if words in claim.statement]
    assert len(found) == 1, words
    return found[0]


def verdict(words: str, findings: Findings) -> Outcome:
    return judge(claim(words), findings).verdict


def as_printed() -> Findings:
    """The paper's own table as findings; its relative errors are not printed, the absolute ones stand for them."""
    rows = []
    for kind, domains in printed.TABLE.items():
        mean = {
            key: [getattr(domains[outer], key) for outer in synthetic_study.OUTER] for key in ("mae", "miscalibration")
        }
        pooled = {key: None if None in values else float(np.mean(values)) for key, values in mean.items()}
        entries = {domain: {"mae": line.mae, "miscalibration": line.miscalibration} for domain, line in domains.items()}
        for domain, numbers in (entries | {"out_of_domain": pooled}).items():
            place = {"domain": domain, "region": "all", "variable": "mean", "n_runs": 1}
            rows.append({"label": kind, "runs": 205, **place, **numbers, "relative_error": numbers["mae"]})
    return Findings(Results({"reproduction": "leon2023"}, {}, {}, rows))


def changed(findings: Findings, label: str, **numbers) -> Findings:
    """The findings with other numbers in all rows of one label."""
    rows = [row | numbers if row["label"] == label else row for row in findings.results.rows]
    return Findings(replace(findings.results, rows=rows), findings.maps, findings.provenance)


def test_criteria_agree_with_the_paper_on_its_own_table():
    findings = as_printed()
    for words in (
        "ensembling gives the smallest errors",
        "ensembling gives the best-calibrated",
        "errs less than a single deterministic",
        "is a close second",
        "four kinds perform more alike",
        "still has the lowest error on average",
        "by far the best calibrated",
        "remains hard for all",
    ):
        assert verdict(words, findings) is Outcome.HOLDS, words


def test_what_the_rows_do_not_answer_is_not_tested_and_says_what_it_needs():
    judged = {claim.statement: found for claim, found in judge_all(as_printed())}
    found = judged[claim("indifferent to its regularization").statement]
    assert found.verdict is Outcome.UNTESTED
    assert "preset kinds" in found.evidence
    assert verdict("do not settle", as_printed()) is Outcome.UNTESTED


def test_every_claim_is_tested_on_a_complete_study_but_for_what_other_methods_say(study):
    untested = [claim for claim, found in judge_all(study) if found.verdict is Outcome.UNTESTED]
    words = ("indifferent to its regularization", "account for nonlocal phenomena", "Dropout and Gaussian mixtures")
    assert untested == [claim(one) for one in words]


@pytest.mark.parametrize(
    ("words", "label", "numbers"),
    [
        ("ensembling gives the smallest errors", "mve", {"mae": 1e-6}),
        ("ensembling gives the best-calibrated", "mve", {"miscalibration": 1e-6}),
        ("errs less than a single deterministic", "deterministic", {"mae": 1e-6}),
        ("lowest error for every state variable", "evidential", {"relative_error": 1e-6}),
        ("still has the lowest error on average", "ensemble", {"relative_error": 10.0}),
        ("worse, in error and spread, for the temperature", "ensemble", {"relative_error": 10.0}),
        ("by far the best calibrated", "ensemble", {"miscalibration": 0.2}),
        ("lower miscalibration area than MVE", "mve", {"miscalibration": 0.01}),
        ("no model is well calibrated", "mve", {"miscalibration": 0.05}),
        ("remains hard for all", "mve", {"miscalibration": 0.05}),
        ("standard deviation explodes", "evidential", {"largest_std": 2.0}),
        ("does not notice such outliers", "evidential", {"share_std_over_10": 0.2}),
        ("are correlated in space", "ensemble", {"spearman": 0.1}),
        ("seen for the other variables", "ensemble", {"spearman": 0.1}),
        ("concentrate where the flow changes", "ensemble", {"mae": 0.1}),
    ],
)
def test_claims_fail_when_the_numbers_say_so(study, words, label, numbers):
    assert verdict(words, study) is Outcome.HOLDS
    assert verdict(words, changed(study, label, **numbers)) is Outcome.FAILS


def test_evidential_std_that_settles_refutes_the_claim(study):
    assert verdict("do not settle", study) is Outcome.HOLDS
    calm = [row | {"mean_std": 0.1} for row in study.results.histories]
    assert verdict("do not settle", Findings(replace(study.results, histories=calm))) is Outcome.FAILS
    high = [row | {"mean_std": 1000.0} for row in study.results.histories]
    assert verdict("do not settle", Findings(replace(study.results, histories=high))) is Outcome.HOLDS


def test_exploded_points_that_are_many_are_no_outliers(study):
    many = changed(study, "evidential", share_std_over_10=0.55)
    assert "55 % of the points" in judge(claim("does not notice such outliers"), many).evidence
    assert "they are not few" in judge(claim("does not notice such outliers"), many).evidence


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize(("worst", "expected"), [(0.11, Outcome.HOLDS), (0.3, Outcome.FAILS)])
def test_lambda_is_read_from_the_settings(worst, expected, earlier):
    rows, models = [], []
    for strength, mae in ((1e-3, 0.1), (1e-2, 0.1), (1.0, worst)):
        label = f"evidential-{strength:g}"
        head = {"name": "evidential", "regularization": strength}
        settings = {"head": head, "coordinates": "xr"} if earlier else {"model": {"name": "networks", "head": head}}
        models.append({"label": label, **settings})
        row = {"domain": "in_domain", "region": "all", "variable": "mean", "mae": mae, "miscalibration": 0.3}
        rows.append({"label": label, "runs": 205, **row})
    # Remedies and other test runs say nothing about lambda.
    cured = {"name": "evidential", "regularization": 1.0, "fewest_degrees": 4.0}
    models.append({"label": "evidential-cured", "model": {"name": "networks", "head": cured}})
    rows.append(rows[0] | {"label": "evidential-cured", "mae": 9.0})
    models.append(models[0] | {"label": "evidential-split=1", "split_seed": 1})
    rows.append(rows[0] | {"label": "evidential-split=1", "mae": 9.0})
    findings = Findings(Results({"reproduction": "leon2023", "models": models}, {}, {}, rows))
    assert verdict("indifferent to its regularization", findings) is expected


@pytest.mark.parametrize(("fno", "expected"), [(0.1, Outcome.HOLDS), (0.3, Outcome.FAILS)])
def test_models_that_see_more_than_a_point_are_compared_with_one_that_does_not(fno, expected):
    errors = {"nbf": 0.1, "pod-deeponet": 0.1, "fno": fno, "deeponet-body-fitted": 0.2}
    rows = [
        {"label": label, "runs": 205, "domain": domain, "region": region, "variable": "mean", "mae": mae}
        for label, mae in errors.items()
        for domain in ("in_domain", "out_of_domain")
        for region in ("shock", "wall_layer")
    ]
    findings = Findings(Results({"reproduction": "leon2023", "models": []}, {}, {}, rows))
    assert verdict("account for nonlocal phenomena", findings) is expected
    # Nothing is said of claims about the paper's own models, which are not there.
    assert [(one.source, found.verdict) for one, found in judge_all(findings)] == [("conclusion", expected)]
    table = findings.reproduction.tables["claims"]
    assert table is not None
    assert len(table(findings).rows) == 1


@pytest.mark.parametrize(("mae", "area", "expected"), [(0.2, 0.1, Outcome.HOLDS), (0.1, 0.1, Outcome.FAILS)])
def test_a_way_that_was_left_out_must_be_better_in_error_and_bars(mae, area, expected):
    numbers = {"dropout": (mae, area), "mixture": (0.3, 0.3), "ensemble": (0.15, 0.2)}
    rows = [
        {"label": label, "runs": 205, "domain": domain, "region": "all", "variable": "mean", "mae": error}
        | {"miscalibration": miscalibration}
        for label, (error, miscalibration) in numbers.items()
        for domain in ("in_domain", "out_of_domain")
    ]
    findings = Findings(Results({"reproduction": "leon2023", "models": []}, {}, {}, rows))
    assert verdict("Dropout and Gaussian mixtures", findings) is expected
