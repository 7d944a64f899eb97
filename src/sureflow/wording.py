"""Parameters and quantities as people write them."""

from collections.abc import Mapping

WORDS = {
    "mach": "Mach number",
    "stand_off": "shock stand-off",
    "drag_coefficient_pressure": "drag coefficient (pressure)",
    "drag_coefficient_friction": "drag coefficient (friction)",
}
# What a model's own error bars come from, by its `uq`.
BARS = {"deterministic": "none", "mve": "MVE", "gp": "Gaussian process", "loo": "leave-one-out"}


def words_of(name: str, unit: str = "") -> str:
    """'half angle' of 'half_angle_deg': a unit that stands beside a name is no part of it."""
    angle = name.removeprefix("cp_over_cpmax_")
    if angle != name:
        return f"Cp / Cp max at {angle}\N{DEGREE SIGN}"
    return WORDS.get(name, (name.removesuffix(f"_{unit}") if unit else name).replace("_", " "))


def bars_words(uq: str) -> str:
    """'leave-one-out' of 'loo'."""
    return BARS.get(uq, uq)


def condition_words(values: Mapping[str, float], units: Mapping[str, str]) -> str:
    """'Mach 25, nose radius 0.2 m'."""
    found = []
    for name, value in values.items():
        unit = units[name] if units[name] != "1" else ""
        found.append(f"{'Mach' if name == 'mach' else words_of(name, unit)} {value:.5g} {unit}".rstrip())
    return ", ".join(found)


def with_unit(name: str, unit: str) -> str:
    """'temperature (K)', and 'Mach number' of what has none."""
    return f"{name} ({unit})" if unit not in ("", "1") else name
