"""The result of a study in one or two sentences, from its numbers."""

from sureflow.report.findings import Findings
from sureflow.report.tabular import number, share


def headline(findings: Findings) -> list[str]:
    """What the reproduction says of itself; else how the default model does, and which one is best."""
    if not findings.labels:
        return ["This study has no results."]
    if findings.reproduction.headline is not None:
        return findings.reproduction.headline(findings)
    if findings.default is None:
        return [about_the_best(findings)]
    best = min(findings.competing, key=findings.rank)
    return [
        about_the_default(findings, findings.default),
        *([] if best == findings.default else [about_the_best(findings)]),
    ]


def about_the_default(findings: Findings, label: str, beside: str | None = None) -> str:
    """Error and coverage of the model that users get; `beside` is a model that its error is compared with."""
    errors, bars = [], []
    for domain in findings.both:
        row, place = findings.row(label, domain) or {}, findings.domain_name(domain)
        ours, theirs = row.get("mae"), findings.value("mae", beside, domain) if beside and not errors else None
        ratio = f" (1/{theirs / ours:.0f} of the {beside}'s)" if ours and theirs and theirs > 1.5 * ours else ""
        errors.append(f"{number(ours)} {place}{ratio}")
        if row.get("coverage90") is not None:
            bars.append(f"{share(row['coverage90'])} {'of the points ' if not bars else ''}{place}")
    intervals = f"; its 90 % intervals hold {' and '.join(bars)}" if bars else ""
    return (
        f"The model that `sureflow train` takes by default, here {findings.described(label)['model']}, has a mean absolute "
        f"error of {' and '.join(errors)}{intervals}."
    )


def about_the_best(findings: Findings) -> str:
    domain = findings.both[-1]
    errors = {label: findings.value("mae", label, domain) for label in findings.competing}
    known = {label: mae for label, mae in errors.items() if mae is not None}
    if not known:
        return "No model of this study has a finite error."
    best = min(known, key=lambda label: known[label])
    return (
        f"{findings.name(best)}, from {findings.runs(best)[-1]} training runs, has the lowest mean absolute error "
        f"{findings.domain_name(domain)} of this study, {number(known[best])}."
    )
