import numpy as np
import pytest

from report.synthetic_study import bow_shock
from sureflow.data.meshes import Geometry, Topology
from sureflow.export.field_mesh import FieldMesh
from sureflow.report.canvas import Plane, cell_areas, draw_fields, largest_seen
from sureflow.report.figures import (
    Curve,
    draw_campaign,
    draw_residual,
    draw_surface,
    edges,
    parameter_label,
    save,
    symbol,
)
from sureflow.report.plot import flow_panel

UNITS = {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K"}


def plane() -> Plane:
    """A quarter of a ring around a circle, a body of revolution."""
    _, nodes = bow_shock()
    centers = [0.25 * (a[1:, 1:] + a[1:, :-1] + a[:-1, 1:] + a[:-1, :-1]) for a in nodes]
    return Plane(FieldMesh(("x", "r"), ("m", "m"), "cells", Topology((12, 16)), Geometry.blocks(centers, nodes)))


def panels() -> list:
    fields, _ = bow_shock()
    return [flow_panel(name, unit, values) for (name, unit), values in zip(UNITS.items(), fields, strict=True)]


@pytest.mark.parametrize("mirror", [False, True])
def test_fields_have_equal_axes_units_and_every_cell(mirror, tmp_path):
    figure, again = (draw_fields(plane(), panels(), title="Mach", mirror=mirror) for _ in range(2))
    drawn = [axis for axis in figure.axes if axis.get_title(loc="left")]
    titles = [axis.get_title(loc="left") for axis in drawn]
    assert [title.partition(",")[0].rpartition(" ")[2] for title in titles] == ["(km/s)", "(km/s)", "(g/m³)", "(kK)"]
    assert titles[2].endswith(", largest 8.4")  # where the color bar ends before it
    for axis in drawn:
        assert axis.get_aspect() == 1.0
        assert len(axis.collections[0].get_array().ravel()) == 16 * 12
        assert (axis.get_ylim()[0] < 0) == mirror
    assert drawn[-1].get_xlabel() == "$x$ (m)"
    save(figure, tmp_path / "fields.png")
    save(again, tmp_path / "again.png")
    assert (tmp_path / "fields.png").read_bytes() == (tmp_path / "again.png").read_bytes()


def test_fields_with_gaps_are_drawn(tmp_path):
    some = panels()
    some[0].values[3, 3] = np.nan
    save(draw_fields(plane(), some[:3]), tmp_path / "fields.png")


def test_areas_add_up_to_the_layer():
    radius, angle = np.meshgrid(np.linspace(1, 2, 41), np.linspace(0, np.pi / 2, 81), indexing="ij")
    areas = cell_areas(radius * np.cos(angle), radius * np.sin(angle))
    assert areas.sum() == pytest.approx(np.pi / 4 * 3, rel=1e-3)


def test_what_fills_no_area_does_not_set_the_colors():
    values = np.concatenate([np.linspace(0, 1, 999), [1000.0]])
    assert largest_seen(values, np.ones(1000)) == pytest.approx(0.995, abs=2e-3)


def test_residual_and_surface_name_their_axes(tmp_path):
    history = 10.0 ** -np.linspace(0, 6, 50)
    figure = draw_residual(history, title="Mach 25", levels={"converged": 1e-6}, first_order_steps=20)
    assert [text.get_text() for text in figure.axes[0].texts] == ["converged", "second order"]
    assert figure.axes[0].get_yscale() == "log"
    assert figure.axes[0].get_xlabel() == "implicit step"
    save(figure, tmp_path / "residual.png")
    line = Curve(np.linspace(0, 1.3, 30), np.linspace(1.8, 0, 30))
    figure = draw_surface(line, line, line, line, joint=0.2, reference_heat=1e6)
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["pressure coefficient $C_p$", "heat flux into the wall (MW/m²)", "wall shear stress (Pa)"]
    save(figure, tmp_path / "surface.png")


@pytest.mark.parametrize("scattered", [False, True])
def test_a_campaign_is_tiles_or_squares(scattered, tmp_path):
    conditions = np.array([(m, a) for m in (10.0, 12.0, 14.0) for a in (20.0, 30.0)])
    conditions = conditions[1:] if scattered else conditions
    status = np.arange(len(conditions)) % 4
    figure = draw_campaign(conditions, status, np.full(len(conditions), 200.0), title="runs")
    drawn = figure.axes[0].collections[0]
    assert np.asarray(drawn.get_array()).size == len(conditions)
    assert "converged: " in " ".join(text.get_text() for text in figure.axes[0].get_legend().get_texts())
    save(figure, tmp_path / "campaign.png")


@pytest.mark.parametrize(("n_parameters", "panels"), [(1, 1), (3, 2), (5, 4)])
def test_a_campaign_has_any_number_of_parameters(n_parameters, panels, tmp_path):
    conditions = np.random.default_rng(0).random((7, n_parameters))
    labels = [f"p{n} (K)" for n in range(n_parameters)]
    figure = draw_campaign(conditions, np.ones(7, int), labels=labels)
    assert len(figure.axes) == panels
    assert {axis.get_xlabel() for axis in figure.axes} == {"p0 (K)"}
    assert [axis.get_ylabel() for axis in figure.axes] == (labels[1:] or [""])
    save(figure, tmp_path / "campaign.png")


def test_names_are_written_as_people_do():
    assert [parameter_label(name, unit) for name, unit in (("mach", ""), ("altitude_km", "km"))] == [
        "Mach number",
        "altitude (km)",
    ]
    assert parameter_label("wall_temperature", "K") == "wall temperature (K)"
    assert parameter_label("half_angle_deg", "deg") == "half angle (deg)"
    assert (symbol("u1"), symbol("T"), symbol("k_t"), symbol("a$b$")) == ("$u_1$", "$T$", "k_t", r"a\$b\$")


def test_edges_are_halfway():
    assert edges(np.array([10.0, 12.0, 16.0])).tolist() == [9.0, 11.0, 14.0, 18.0]
    assert edges(np.array([10.0])).tolist() == [9.5, 10.5]
