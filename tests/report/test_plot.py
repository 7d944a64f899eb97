import matplotlib
import numpy as np
import pytest

from export import labelled_fields
from sureflow.errors import SureflowError
from sureflow.export.exporters import write_dataset
from sureflow.report.plot import field_names, plot

DRAWN = ("block", "block-points", "triangles", "triangles-points", "points")


def titles(figure) -> list[str]:
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_title(loc="left")]


@pytest.mark.parametrize("kind", DRAWN)
def test_a_plane_is_drawn_with_units_and_equal_axes(kind, tmp_path):
    fields = labelled_fields.prediction(kind)
    figure = plot(fields)
    assert titles(figure) == ["T (K)", "standard deviation of T (K)"]
    mean, std = (axis for axis in figure.axes if axis.get_title(loc="left"))
    assert mean.get_aspect() == std.get_aspect() == 1.0
    assert (mean.get_xlabel(), mean.get_ylabel()) == ("$x$ (m)", "$y$ (m)")
    shown = mean.collections[0].get_array()
    expected = [fields["T"].min(), fields["T"].max()]
    np.testing.assert_allclose([shown.min(), shown.max()], expected)
    assert figure.get_suptitle() == "angle 4 deg: inside the training domain"
    write_dataset(fields, tmp_path / "fields.png")
    assert (tmp_path / "fields.png").stat().st_size > 1000


def test_a_body_of_revolution_is_drawn_from_its_axis():
    revolved, planar = (plot(labelled_fields.prediction("block", axes=axes)).axes[0] for axes in ("xr", "xy"))
    assert revolved.get_ylim()[0] == 0.0
    assert planar.get_ylim()[0] < 0.0
    assert len(revolved.collections) > len(planar.collections)  # the body


def test_a_predicted_flow_is_labeled_as_a_computed_one():
    fields = labelled_fields.prediction("block", axes="xr")
    flight = fields.drop_vars("angle").assign_coords(mach=25.0, altitude_km=((), 46.0, {"units": "km"}))
    figure = plot(flight)
    assert titles(figure) == ["temperature $T$ (kK)", "standard deviation of temperature $T$ (kK)"]
    shown = figure.axes[0].collections[0].get_array()
    np.testing.assert_allclose(shown.max(), 1e-3 * fields["T"].max())
    assert figure.get_suptitle() == "Mach 25 at 46 km: inside the training domain"
    body = flight.assign_coords(nose_radius_m=((), 0.2, {"units": "m"}))
    assert plot(body).get_suptitle().startswith("Mach 25, altitude 46 km, nose radius 0.2 m:")


def test_one_field_can_be_chosen():
    fields = labelled_fields.prediction("block").assign(p=lambda data: data["T"].assign_attrs(units=""))
    assert titles(plot(fields, "p")) == ["p"]
    assert titles(plot(fields)) == ["T (K)", "standard deviation of T (K)", "p"]
    with pytest.raises(SureflowError, match=r"variable='q' is not one of T, p"):
        plot(fields, "q")


def test_bars_are_told_from_fields():
    assert field_names(["T", "T_std", "T_std_raw", "T_interval90", "u_std_x", "k"]) == ["T", "u_std_x", "k"]


@pytest.mark.parametrize("bars", [True, False])
def test_a_line_is_drawn_as_a_curve(bars):
    figure = plot(labelled_fields.prediction("line", bars=bars))
    (axis,) = figure.axes
    assert axis.get_xlabel() == "$x$ (m)"
    assert (np.diff(axis.lines[0].get_xdata()) > 0).all()
    assert bool(axis.collections) == bars


def test_space_is_not_drawn():
    for kind in ("block-3d", "tetrahedra"):
        with pytest.raises(SureflowError, match=r"a picture shows a plane, and these fields have the axes x, y, z"):
            plot(labelled_fields.prediction(kind))


def test_colors_read_in_gray():
    """Lightness changes in one direction alone, so that print and the color-blind see the same order."""
    figure = plot(labelled_fields.prediction("block"))
    for axis in figure.axes:
        if axis.get_title(loc="left"):
            red, green, blue, _ = matplotlib.colormaps[axis.collections[0].get_cmap().name](np.linspace(0, 1, 64)).T
            light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
            assert (np.diff(light) > 0).all() or (np.diff(light) < 0).all()
