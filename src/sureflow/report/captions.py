"""What the figures of a study show, in the order in which they are read."""

from sureflow.report.findings import Findings
from sureflow.report.study_tables import counted


def captions(findings: Findings) -> dict[str, str]:
    """The caption of every figure by the stem of its file; those of a reproduction come first."""
    ours = findings.reproduction.captions
    return {**(ours(findings) if ours else {}), **general_captions(findings)}


def general_captions(findings: Findings) -> dict[str, str]:
    condition, outer = findings.shown_condition, len(findings.outer)
    whiskers = (
        f"; whiskers out-of-domain: standard deviation over the {counted(outer)} outer domains" if outer > 1 else ""
    )
    return {
        "fields": f"Computed fields at {condition}, a test run.",
        "relative_errors": "Relative error of a run, |prediction - CFD| over |CFD| in the 2-norm over its points, "
        "normalized: mean over the test runs; whiskers: inter-quartile range over the runs.",
        "miscalibration": f"Miscalibration area by variable (0 is perfect, 0.5 the worst){whiskers}.",
        "error_plane": f"Mean absolute error of every test run, averaged over the variables, over {_over(findings)}.",
        "coverage_plane": "Share of the points of every test run that lie inside their 90 % intervals: lower than 0.9, the "
        "bars are too narrow; higher, too wide.",
        "spatial": f"Absolute error and standard deviation of {_all_of(findings)} at {condition}, normalized; each pair has "
        "one color scale. Darker is higher; black lies above the scale.",
        "spatial_default": "The same for the default model. Its color scales are its own: see the powers of ten.",
        "calibration_curves": "Calibration curves over the whole field, mean over the variables: share of points inside "
        "central intervals against the share that ought to be there.",
        "calibration_curves_disturbed": "The same for the disturbed flow alone (pressure over 1.01 times that of the free "
        "stream).",
        "bar_parts": "Standard deviations for the surrogate's own error and for that of the mesh of its runs, over each other: "
        "right of the line the mesh is the larger part.",
        "learning_curves": "Mean absolute error, averaged over the variables, against the number of training runs.",
        "training_std": "Mean predicted standard deviation on the training points, epoch by epoch.",
    }


def _over(findings: Findings) -> str:
    """'Mach number and altitude'."""
    known = {"mach": "Mach number", "altitude_km": "altitude"}
    names = [known.get(name, name) for name in findings.parameters]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "its parameters"


def _all_of(findings: Findings) -> str:
    """'all four variables'."""
    count = len(findings.variables)
    return findings.variables[0] if count == 1 else f"all {counted(count)} variables"
