"""What the arrays of solvers are: guesses of a field's usual name and unit from the name that a solver gives it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# The names that solvers use, without case, spaces, underscores and colons, by the name that the field has here.
SCALARS = {
    "rho": ("rho", "density", "svdensity", "conservative1"),
    "p": ("p", "pressure", "svp", "staticpressure", "ps", "prgh"),
    "T": ("t", "temperature", "svt", "statictemperature", "temp"),
    "Ma": ("mach", "ma", "machnumber"),
    "tke": ("k", "turbulentenergykinetic", "svk", "tke", "turbkineticenergy"),
    "omega": ("omega", "turbulentdissipationrate", "svo"),
    "epsilon": ("epsilon", "turbulentdissipation", "svd"),
    "nut": ("nut", "eddyviscosity", "turbulentviscosity"),
    "nuTilda": ("nutilda", "nutilde", "turbulentsanuttilde", "svnut"),
    "u1": ("u1", "u", "velocityx", "xvelocity", "svu", "vx", "ux", "u0", "velocity[i]"),
    "u2": ("u2", "v", "velocityy", "yvelocity", "svv", "vy", "uy", "velocity[j]"),
    "u3": ("u3", "w", "velocityz", "zvelocity", "svw", "vz", "uz", "velocity[k]"),
    "rho_u1": ("conservative2", "momentumx", "rhou", "rhou1"),
    "rho_u2": ("conservative3", "momentumy", "rhov", "rhou2"),
    "rho_E": ("conservative4", "energystagnationdensity", "stagnationenergy", "rhoe"),
}
VECTORS = {"u": ("u", "velocity", "vel", "svvelocity"), "rho_u": ("momentum", "rhou")}
SI = {
    "rho": "kg/m3",
    "p": "Pa",
    "T": "K",
    "Ma": "1",
    "tke": "m2/s2",
    "omega": "1/s",
    "epsilon": "m2/s3",
    "nut": "m2/s",
    "nuTilda": "m2/s",
    **{f"u{axis}": "m/s" for axis in (1, 2, 3)},
    **{f"rho_u{axis}": "kg/m2/s" for axis in (1, 2, 3)},
    "rho_E": "J/m3",
}
BY_NAME = {other: name for name, others in SCALARS.items() for other in others}
VECTOR_BY_NAME = {other: name for name, others in VECTORS.items() for other in others}
LABELLED = re.compile(r"^\s*(.*?)\s*[\[(]\s*([^\])]*)\s*[\])]\s*$")  # 'Pressure [Pa]', 'T (K)'
COMPONENT = re.compile(r"^(.*)\[(\d+)\]$")  # U[0]: the first component of U
LETTERS = ("x", "y", "z")


@dataclass(frozen=True)
class Choice:
    """A field of the runs: the array of the files that it comes from, a component of it, and its unit."""

    name: str
    array: str
    component: int | None
    unit: str
    guessed: bool  # whether the unit is a guess

    @property
    def source(self) -> str:
        return self.array if self.component is None else f"{self.array}[{self.component}]"


def without_unit(name: str) -> tuple[str, str]:
    """The name and the unit of 'Pressure [Pa]'."""
    found = LABELLED.match(name)
    return (found[1], found[2]) if found and found[1] else (name, "")


def simplified(name: str) -> str:
    return re.sub(r"[\s_:./-]", "", name).lower()


def known_name(array: str, width: int) -> str | None:
    """What an array with so many components is called here, or nothing."""
    name = simplified(without_unit(array)[0])
    return VECTOR_BY_NAME.get(name) if width in (2, 3) else BY_NAME.get(name) if width == 1 else None


def guess_fields(arrays: Mapping[str, int], units: Mapping[str, str]) -> tuple[list[Choice], list[str]]:
    """Fields from the known ones among arrays, given with their numbers of components; and the arrays left out.

    Where no array is known, all are taken under their own names.
    """
    known = {array: known_name(array, width) for array, width in arrays.items()}
    taken = [array for array, name in known.items() if name] or list(arrays)
    choices: dict[str, Choice] = {}
    for array in taken:
        for choice in components_of(known[array] or plain_name(array), array, arrays[array], units, known[array]):
            choices.setdefault(choice.name, choice)
    used = {choice.array for choice in choices.values()}
    return list(choices.values()), [array for array in arrays if array not in used]


def components_of(name: str, array: str, width: int, units: Mapping[str, str], known: str | None) -> list[Choice]:
    """The fields of an array: itself, or one for every component."""
    stated = units.get(array) or without_unit(array)[1]
    if width == 1:
        return [Choice(name, array, None, stated or (SI.get(name, "") if known else ""), not stated)]
    names = [f"{name}{axis + 1}" if known else f"{name}_{suffix(axis, width)}" for axis in range(width)]
    return [
        Choice(one, array, axis, stated or (SI.get(one, "") if known else ""), not stated)
        for axis, one in enumerate(names)
    ]


def suffix(axis: int, width: int) -> str:
    """x, y, z of a vector; xx, xy, ... of a tensor as OpenFOAM and VTK order it; else a number."""
    if width <= 3:
        return LETTERS[axis]
    if width == 6:
        return ("xx", "yy", "zz", "xy", "yz", "xz")[axis]
    return LETTERS[axis // 3] + LETTERS[axis % 3] if width == 9 else str(axis)


def plain_name(array: str) -> str:
    """An array's own name without its unit, and with nothing in it that a column could not be called."""
    return re.sub(r"[^\w]+", "_", without_unit(array)[0]).strip("_") or "field"


def chosen_fields(
    given: Mapping[str, str], arrays: Mapping[str, int], stated: Mapping[str, str]
) -> tuple[list[Choice], str]:
    """Fields that a user names, as in {"p": "Pressure", "u": "Velocity", "u1": "U[0]"}; and what is missing, if anything."""
    choices: list[Choice] = []
    for name, source in given.items():
        part = COMPONENT.match(source)
        array = part[1] if part and source not in arrays else source
        if array not in arrays:
            return [], array
        width = arrays[array]
        if part and source not in arrays:
            if int(part[2]) >= width:
                return [], source
            choices.append(Choice(name, array, int(part[2]), stated.get(array, SI.get(name, "")), array not in stated))
            continue
        known = name if (width == 1 and name in SI) or name in VECTORS else None
        choices += components_of(name, array, width, stated, known)
    return choices, ""


def looks_dimensionless(values: Mapping[str, np.ndarray]) -> bool:
    """Whether fields with known names are too small to be in SI units, as those of solvers that compute without units."""
    middle = {name: float(np.median(np.abs(array))) for name, array in values.items() if name in ("T", "p", "rho")}
    if "T" in middle:
        return middle["T"] < 10.0
    return "p" in middle and "rho" in middle and middle["p"] < 50.0 and 0.05 < middle["rho"] < 50.0
