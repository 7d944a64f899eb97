"""The result of a study in two sentences, from its numbers."""

from collections.abc import Sequence

from sureflow.report.claims import Claim
from sureflow.report.criteria import Finding, Verdict
from sureflow.report.export import number, share
from sureflow.report.findings import BOTH, DOMAIN_NAMES, Findings

Judged = Sequence[tuple[Claim, Finding]]


def headline(findings: Findings, judged: Judged) -> list[str]:
    """What became of the paper's main claim, where its models were evaluated, and how the default model does."""
    sentences = [_about_the_paper(findings, judged)] if findings.kinds else []
    if findings.default is not None and findings.default != "ensemble":
        sentences.append(_about_the_default(findings, findings.default))
    elif findings.kinds:
        sentences.append(counted(judged))
    else:
        sentences.append(_about_the_best(findings))
    return sentences


def _about_the_paper(findings: Findings, judged: Judged) -> str:
    error, calibration = judged[0][1].verdict, judged[1][1].verdict
    if "ensemble" not in findings.labels or Verdict.UNTESTED in (error, calibration):
        return "This study does not have all that the paper compares, so that its main claim is not tested here."
    members = findings.settings("ensemble").get("members")
    name = f"the paper's ensemble of {members}" if members and members > 1 else "the paper's ensemble"
    has = {
        (True, True): "has the lowest error and the best calibration",
        (True, False): "has the lowest error but not the best calibration",
        (False, True): "has the best calibration but not the lowest error everywhere",
        (False, False): "has neither the lowest error everywhere nor the best calibration",
    }[error is Verdict.HOLDS, calibration is Verdict.HOLDS]
    holds = error is calibration is Verdict.HOLDS
    return (
        f"On these runs, {name} {has} of the three kinds of model with uncertainties (mean absolute error "
        f"{_both(findings, 'mae', 'ensemble')}, "
        f"miscalibration area {_both(findings, 'miscalibration', 'ensemble')}): the paper's main claim "
        f"{'holds' if holds else 'does not hold as it stands'}."
    )


def _about_the_default(findings: Findings, label: str) -> str:
    inside, outside = (findings.row(label, domain) or {} for domain in BOTH)
    ours, theirs = inside.get("mae"), findings.value("mae", "ensemble", "in_domain")
    ratio = f" (1/{theirs / ours:.0f} of the ensemble's)" if ours and theirs and theirs > 1.5 * ours else ""
    errors, bars = [f"{number(ours)} in-domain{ratio}"], [f"{share(inside.get('coverage90'))} of the points in-domain"]
    if outside:
        errors.append(f"{number(outside['mae'])} out-of-domain")
        bars.append(f"{share(outside['coverage90'])} out-of-domain")
    return (
        f"The model that `sureflow train` takes by default, here {findings.described(label)['model']}, has a mean absolute "
        f"error of {' and '.join(errors)}; its 90 % intervals hold {' and '.join(bars)}."
    )


def _about_the_best(findings: Findings) -> str:
    domain = findings.columns[-1]
    errors = {label: findings.value("mae", label, domain) for label in findings.labels}
    known = {label: mae for label, mae in errors.items() if mae is not None}
    if not known:
        return "No model of this study has a finite error."
    best = min(known, key=lambda label: known[label])
    return (
        f"{findings.name(best)}, from {findings.runs(best)[-1]} training runs, has the lowest mean absolute error "
        f"{DOMAIN_NAMES[domain]} of this study, {number(known[best])}."
    )


def counted(judged: Judged) -> str:
    """How many claims hold."""
    holds, fails, untested = (sum(found.verdict is verdict for _, found in judged) for verdict in Verdict)
    return (
        f"Of {len(judged)} claims of the paper, {holds} hold on these runs, {fails} do not, and {untested} "
        f"{'is' if untested == 1 else 'are'} not tested in this study."
    )


def _both(findings: Findings, key: str, label: str) -> str:
    inside, outside = (findings.value(key, label, domain) for domain in ("in_domain", "out_of_domain"))
    return f"{number(inside)} in-domain and {number(outside)} out-of-domain"
