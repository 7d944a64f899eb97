"""Until all importers have moved to `sureflow.physics.gases`."""

from sureflow.physics.gases import Gas, PerfectGas  # noqa: F401
