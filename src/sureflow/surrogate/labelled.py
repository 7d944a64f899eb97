"""Names, units and sentences around the arrays of a prediction, and what a model says of itself."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from sureflow.data.labels import LONG_NAMES, Labels, facts_html, mesh_labels, value_dims, value_shape
from sureflow.data.meshes import Geometry, Points, Topology
from sureflow.predictive import INTERVALS
from sureflow.surrogate.both_ways import Numbers, both_ways
from sureflow.surrogate.mesh_bars import add_mesh, mesh_quantity_std, mesh_std
from sureflow.surrogate.model import Answer, Conditions, Surrogate
from sureflow.surrogate.observe import ALONG_BODY, ALONG_BODY_NAMES, Observer
from sureflow.surrogate.promised import half_width
from sureflow.uq.domain import Place
from sureflow.wording import bars_words

if TYPE_CHECKING:
    import xarray

# What the arrays of a prediction are, by what follows the name of a field in theirs; the others are parts of the bars.
MEANINGS = {
    "": "{}",
    "_std": "standard deviation of the {}",
    "_std_surrogate": "standard deviation of the {} against runs on the mesh of the training runs",
    "_std_mesh": "standard deviation of the {} for the error of that mesh",
    "_std_raw": "standard deviation of the {} before calibration",
    "_interval90": "half width of the 90 % interval of the {} at a point",
    "_lower90": "lower end of the 90 % interval of the {} at a point",
    "_upper90": "upper end of the 90 % interval of the {} at a point",
    "_band90": "half width of the 90 % band of the {}, for all points at once",
}
LEVEL = 0.9  # of the intervals that predictions carry


def labelled_prediction(
    surrogate: Surrogate, answer: Answer, points: Points | None, *, single: bool
) -> "xarray.Dataset":
    """A prediction with names, units, coordinates and the verdict; a `single` condition has no dimension of cases."""
    return labelled_arrays(surrogate, prediction_arrays(surrogate, answer), answer.place, points, single=single)


def labelled_arrays(
    surrogate: Surrogate, arrays: Mapping[str, np.ndarray], place: Place, points: Points | None, *, single: bool
) -> "xarray.Dataset":
    """The same from arrays (case, variable, point) by what follows the name of a field in theirs."""
    space, conditions = surrogate.space, place.conditions
    dims, shape = ("point",), (-1,)
    if points is None:
        dims, shape = value_dims(space.topology, space.location), value_shape(space.topology, space.location)
    case, cases = ((), ()) if single else (("case",), (len(conditions),))
    fields = {
        name + suffix: (
            (*case, *dims),
            values[:, variable].reshape(*cases, *shape),
            {"units": unit, "long_name": _meaning(suffix).format(LONG_NAMES.get(name, name))},
        )
        for variable, (name, unit) in enumerate(zip(surrogate.names, surrogate.units, strict=True))
        for suffix, values in arrays.items()
    }
    explained = {"long_name": "distance outside the training domain, in widths of it"}
    fields["extrapolation"] = (case, place.distance.reshape(cases), explained)
    import xarray

    coordinates = _mesh(surrogate, conditions, points, single) | _parameters(surrogate, conditions, single)
    return xarray.Dataset(fields, coordinates, {"verdict": place.summary(), "bars": worth(surrogate)})


def prediction_arrays(surrogate: Surrogate, answer: Answer) -> dict[str, np.ndarray]:
    """What a prediction has of every field, by what follows its name."""
    found, own = answer.predictive, answer.raw.std
    std = found.std
    arrays = {"": found.mean} | {f"_std_{name}": part for name, part in found.parts.items()}
    if std is not None:
        arrays["_std"] = std
    if found.quantiles:
        low, high = INTERVALS[LEVEL]
        arrays |= {"_lower90": found.quantiles[low], "_upper90": found.quantiles[high]}
    if surrogate.calibration is not None:
        if own is not None:
            arrays["_std_raw"] = own
        conditions = answer.place.conditions
        unit = surrogate.predictor.unit(np.asarray(found.mean), conditions)
        for suffix, simultaneous in (("_interval90", False), ("_band90", True)):
            width = half_width(surrogate, found, conditions, LEVEL, simultaneous=simultaneous, unit=unit)
            arrays |= {} if width is None else {suffix: width}
    made = {suffix: np.asarray(values) for suffix, values in arrays.items()}
    if surrogate.mesh_error is not None and made[""].shape[2] == surrogate.space.n_points and "_std" in made:
        return add_mesh(made, mesh_std(surrogate, answer.place.conditions, made[""]))
    return made


def _meaning(suffix: str) -> str:
    return MEANINGS.get(suffix) or suffix.removeprefix("_std_") + " part of the standard deviation of the {}"


def _parameters(surrogate: Surrogate, conditions: Conditions, single: bool) -> dict[str, tuple]:
    return {
        parameter.name: (
            () if single else ("case",),
            conditions[0, column] if single else conditions[:, column],
            {"units": parameter.unit} if parameter.unit else {},
        )
        for column, parameter in enumerate(surrogate.header.parameters)
    }


def _mesh(surrogate: Surrogate, conditions: Conditions, points: Points | None, single: bool) -> Labels:
    """The mesh of a prediction, that of each case where it moves; or given points."""
    space, header = surrogate.space, surrogate.header
    if points is not None:
        return mesh_labels(header, Topology(), [Geometry(points)], of_cases=False)
    geometries = [space.geometry] if space.geometry is not None else [space.at(one) for one in conditions]
    return mesh_labels(header, space.topology, geometries, of_cases=space.geometry is None and not single)


def worth(surrogate: Surrogate) -> str:
    """What the bars of a model are worth, in a sentence."""
    if surrogate.calibration is None:
        return "uncalibrated: the model's own"
    fitted = surrogate.calibration.fields
    by = "runs that the model had not seen" if fitted.exact else "runs left out in folds over the training runs"
    if not np.isfinite(fitted.factors[LEVEL]).all():
        return f"calibrated with {fitted.runs} {by}, which are too few inside the training ranges for 90 % intervals"
    beyond = "" if fitted.reach else "; beyond them bars are not widened, since no run taught how"
    return f"calibrated with {fitted.runs} {by}; intervals are promised inside the training ranges only{beyond}"


def quantity_columns(surrogate: Surrogate, place: Place, answer: Answer | None = None) -> dict[str, tuple]:
    """Quantities by name, with units: read off the fields, of an answer that is there, and by processes of their own."""
    columns, (values, std, numbers) = {}, both_ways(surrogate, place.conditions, answer)
    if surrogate.observer is not None and values is not None:
        for index, quantity in enumerate(surrogate.observer.quantities):
            columns[quantity.name] = ("case", values[:, index], {"units": quantity.unit})
            if std is not None:
                columns[f"{quantity.name}_std"] = ("case", std[:, index], {"units": quantity.unit})
    columns |= _own_processes(surrogate, numbers, {*columns})
    return columns if surrogate.mesh_error is None else columns | _with_mesh(surrogate, place, columns)


def quantity_names(columns: Iterable[str]) -> list[str]:
    """Those of the quantities themselves, without bars and second values."""
    return [name for name in columns if not name.endswith(("_std", "_gp", "_std_surrogate", "_std_mesh"))]


def labelled_quantities(surrogate: Surrogate, place: Place, *, single: bool) -> "xarray.Dataset":
    """The same with parameters and the verdict."""
    import xarray

    parameters = _parameters(surrogate, place.conditions, single=False)
    found = xarray.Dataset(quantity_columns(surrogate, place), parameters, {"verdict": place.summary()})
    return found.isel(case=0) if single else found


def _with_mesh(surrogate: Surrogate, place: Place, columns: Mapping[str, tuple]) -> dict[str, tuple]:
    """Bars of quantities that hold the error of the mesh as well, with both parts, where the levels of runs keep them."""
    names = [name for name in columns if f"{name}_std" in columns]
    relative = mesh_quantity_std(surrogate, place.conditions, [name.removesuffix("_gp") for name in names])
    found: dict[str, tuple] = {}
    for name, mesh in zip(names, relative.T, strict=True):
        if np.isfinite(mesh).all():
            (_, values, _), (dims, std, unit) = columns[name], columns[f"{name}_std"]
            parts = {
                "_std": np.hypot(std, mesh * np.abs(values)),
                "_std_surrogate": std,
                "_std_mesh": mesh * np.abs(values),
            }
            found |= {name + suffix: (dims, part, unit) for suffix, part in parts.items()}
    return found


def _own_processes(surrogate: Surrogate, numbers: Numbers, read_off: set[str]) -> dict[str, tuple]:
    """Numbers by their own processes; with `_gp` where the fields say them too, and which of the two is the better one."""
    if surrogate.numbers is None:
        return {}
    facts, columns = surrogate.numbers.facts(), {}
    for name, (values, std) in numbers.items():
        own = f"{name}_gp" if name in read_off else name
        explained = {"units": facts[name].unit, "relative_error": facts[name].error}
        if name in read_off and surrogate.better_way(name) is not None:
            explained |= {"better": surrogate.better_way(name), "relative_error_field": surrogate.quantity_error(name)}
        columns |= {own: ("case", values, explained), f"{own}_std": ("case", std, {"units": facts[name].unit})}
    return columns


def labelled_surface(
    surrogate: Surrogate,
    observer: Observer,
    values: Float[np.ndarray, "case distribution face"],
    std: Float[np.ndarray, "case distribution face"] | None,
    place: Place,
    *,
    single: bool,
) -> "xarray.Dataset":
    """Distributions along the body with names, units, places on it and the verdict."""
    dims, columns = ("case", "face"), {}
    for index, (name, unit) in enumerate(ALONG_BODY.items()):
        if name in observer.distributions:
            words = {"units": unit, "long_name": ALONG_BODY_NAMES[name]}
            columns[name] = (dims, values[:, index], words)
            if std is not None:
                deviation = f"standard deviation of the {ALONG_BODY_NAMES[name]}"
                columns[f"{name}_std"] = (dims, std[:, index], {"units": unit, "long_name": deviation})
    x, arc = observer.places(place.conditions)
    places = {
        "x": (dims, x, {"units": "m", "long_name": "distance from the nose tip along the axis"}),
        "arc": (dims, arc, {"units": "m", "long_name": "distance from the nose tip along the body"}),
    }
    parameters = _parameters(surrogate, place.conditions, single=False)
    import xarray

    found = xarray.Dataset(columns, places | parameters, {"verdict": place.summary(), "bars": worth(surrogate)})
    return found.isel(case=0) if single else found


def facts(surrogate: Surrogate) -> dict[str, str]:
    """What there is to know about a model, by name."""
    domain = surrogate.domain
    ranges = zip(surrogate.header.parameters, domain.lower, domain.upper, strict=True)
    fields = (f"{item.name} ({item.unit})" if item.unit else item.name for item in surrogate.header.fields)
    facts = {
        "model": f"{surrogate.model_name}, error bars: {bars_words(surrogate.uq)}",
        "learned from": f"{len(domain.parameters)} runs, scaling {surrogate.spec.scaling}",
        "parameters": ", ".join(f"{p.name} {low:g}..{high:g} {p.unit}".rstrip(" 1") for p, low, high in ranges),
        "predicts": f"{', '.join(fields)} at {surrogate.space.n_points:,} points in {', '.join(surrogate.space.axes)}",
        "error bars": worth(surrogate),
    }
    if surrogate.comparison:
        facts["chosen by"] = _choice(surrogate.comparison)
    return facts


def _choice(comparison: Sequence[Mapping]) -> str:
    best = next((row for row in comparison if row.get("chosen")), {})
    errors = [(best.get("mae"), "of runs left out"), (best.get("mae_beyond"), "at the sides of the ranges")]
    told = ", ".join(f"{error:.2g} {where}" for error, where in errors if isinstance(error, float))
    return f"cross-validation of {len(comparison)} candidates" + (f": error {told}" if told else "")


def description(surrogate: Surrogate) -> str:
    """A paragraph about a model."""
    found = facts(surrogate)
    width = max(map(len, found)) + 2
    return "\n".join(f"{name:<{width}}{value}" for name, value in found.items())


def description_html(surrogate: Surrogate) -> str:
    return facts_html(facts(surrogate))
