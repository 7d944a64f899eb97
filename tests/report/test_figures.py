import numpy as np
import pytest

from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
from sureflow.report.figures import (
    Curve,
    cell_areas,
    draw_campaign,
    draw_fields,
    draw_residual,
    draw_surface,
    edges,
    flow_panels,
    largest_seen,
    save,
)


@pytest.fixture(scope="module")
def mesh():
    return body_mesh(SphereCone(), MeshSettings(cells=(16, 12), wall_spacing=1e-3))


def some_fields(mesh) -> np.ndarray:
    return 1.0 + np.random.default_rng(0).random((4, *mesh.shape))


@pytest.mark.parametrize("mirror", [False, True])
def test_fields_have_equal_axes_units_and_every_cell(mesh, mirror, tmp_path):
    panels = flow_panels(some_fields(mesh))
    figure, again = (draw_fields(mesh.node_x, mesh.node_r, panels, title="Mach", mirror=mirror) for _ in range(2))
    panels = [axis for axis in figure.axes if axis.get_title(loc="left")]
    assert [panel.get_title(loc="left").rpartition(" ")[2] for panel in panels] == [
        "(km/s)",
        "(km/s)",
        "(g/m³)",
        "(kK)",
    ]
    for panel in panels:
        assert panel.get_aspect() == 1.0
        assert len(panel.collections[0].get_array().ravel()) == 16 * 12
        assert (panel.get_ylim()[0] < 0) == mirror
    assert panels[-1].get_xlabel() == "$x$ (m)"
    save(figure, tmp_path / "fields.png")
    save(again, tmp_path / "again.png")
    assert (tmp_path / "fields.png").read_bytes() == (tmp_path / "again.png").read_bytes()


def test_fields_with_gaps_are_drawn(mesh, tmp_path):
    fields = some_fields(mesh)
    fields[:, 3, 3] = np.nan
    save(draw_fields(mesh.node_x, mesh.node_r, flow_panels(fields)[:3]), tmp_path / "fields.png")


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


def test_edges_are_halfway():
    assert edges(np.array([10.0, 12.0, 16.0])).tolist() == [9.0, 11.0, 14.0, 18.0]
    assert edges(np.array([10.0])).tolist() == [9.5, 10.5]
