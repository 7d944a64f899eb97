"""What the paper prints: the appendix table of Leon et al., NeurIPS ML4PS workshop 2023 (arXiv source, tab:results).

Mean absolute error and miscalibration area in normalized space, each with its spread over the four state variables.
The paper's data are its own (CFD++ 20.1), so that its numbers stand beside ours for comparison and decide nothing.
"""

from typing import NamedTuple


class Printed(NamedTuple):
    """One line of the table; a single deterministic network has no calibration."""

    mae: float
    mae_spread: float
    miscalibration: float | None = None
    miscalibration_spread: float | None = None


CITATION = (
    "V. J. Leon, N. Ford, H. Mrema, J. Gilbert, A. New: Ensemble models outperform single model uncertainties and "
    "predictions for operator-learning of hypersonic flows. NeurIPS workshop Machine Learning and the Physical "
    "Sciences, 2023"
)
TRAINING_RUNS = 205
VARIABLES = ("u1", "u2", "rho", "T")
KINDS = ("deterministic", "mve", "evidential", "ensemble")
TABLE: dict[str, dict[str, Printed]] = {
    "deterministic": {
        "in_domain": Printed(0.0649, 0.0340),
        "high_mach": Printed(0.140, 0.0175),
        "high_altitude": Printed(0.0996, 0.0135),
        "low_mach": Printed(0.130, 0.0174),
        "low_altitude": Printed(0.124, 0.0356),
    },
    "mve": {
        "in_domain": Printed(0.0939, 0.0378, 0.42, 0.02),
        "high_mach": Printed(0.173, 0.0436, 0.45, 0.03),
        "high_altitude": Printed(0.136, 0.0351, 0.45, 0.00),
        "low_mach": Printed(0.143, 0.0219, 0.48, 0.01),
        "low_altitude": Printed(0.139, 0.0367, 0.44, 0.03),
    },
    "evidential": {
        "in_domain": Printed(0.135, 0.118, 0.27, 0.06),
        "high_mach": Printed(0.245, 0.200, 0.32, 0.07),
        "high_altitude": Printed(0.158, 0.0871, 0.35, 0.10),
        "low_mach": Printed(0.141, 0.0253, 0.35, 0.08),
        "low_altitude": Printed(0.168, 0.0832, 0.34, 0.08),
    },
    "ensemble": {
        "in_domain": Printed(0.0378, 0.0105, 0.09, 0.01),
        "high_mach": Printed(0.119, 0.0200, 0.24, 0.14),
        "high_altitude": Printed(0.0846, 0.0185, 0.22, 0.15),
        "low_mach": Printed(0.118, 0.0213, 0.27, 0.12),
        "low_altitude": Printed(0.105, 0.0418, 0.24, 0.18),
    },
}
