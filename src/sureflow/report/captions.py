"""What the figures of a study show, in the order in which they are read."""

from sureflow.report.findings import Findings


def captions(findings: Findings) -> dict[str, str]:
    """The caption of every figure by the stem of its file."""
    condition = findings.shown_condition
    return {
        "fields": f"Computed fields at {condition}, a test run; x is measured from the nose tip, r from the axis.",
        "relative_errors": "Relative error of a run, |prediction - CFD| over |CFD| in the 2-norm over its points, "
        "normalized: mean over the test runs; whiskers: inter-quartile range over the runs.",
        "miscalibration": "Miscalibration area by variable (0 is perfect, 0.5 the worst); whiskers out-of-domain: standard "
        "deviation over the four outer domains.",
        "spatial_u1": f"Absolute error and standard deviation of u1 at {condition}, normalized, on one color scale. Darker "
        "is higher; black lies above the scale.",
        "evidential_std": "Number of points by the standard deviation that the evidential model predicts for them, "
        "in-domain test runs.",
        "evidential_epochs": "Mean evidential standard deviation on the training points, epoch by epoch.",
        "error_plane": "Mean absolute error of every test run, averaged over the variables, over Mach number and altitude.",
        "coverage_plane": "Share of the points of every test run that lie inside their 90 % intervals: lower than 0.9, the "
        "bars are too narrow; higher, too wide.",
        "spatial": f"Absolute error and standard deviation of all four variables at {condition}, normalized; each pair has "
        "one color scale. Darker is higher; black lies above the scale.",
        "spatial_default": "The same for the default model. Its color scales are its own: see the powers of ten.",
        "calibration_curves": "Calibration curves over the whole field, mean over the variables: share of points inside "
        "central intervals against the share that ought to be there.",
        "calibration_curves_disturbed": "The same for the disturbed flow alone (pressure over 1.01 times that of the free "
        "stream).",
        "learning_curves": "Mean absolute error, averaged over the variables, against the number of training runs.",
    }
