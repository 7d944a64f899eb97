"""Body-fitted structured meshes around sphere-cones.

Arrays are indexed [j, i]: i runs along the body from the axis to the outflow, j from the wall to the free stream. x is
measured from the nose tip downstream, r from the axis, in meters.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize.elementwise import find_root

from sureflow.errors import SureflowError
from sureflow.physics.correlations import billig_stand_off, sharp_cone_shock_angle
from sureflow.validation import plain, settings

Cells = Float[np.ndarray, "nj ni"]
Points = Float[np.ndarray, "2 n"]

MOST_MARGIN = 10.0  # outer boundary / Billig's shock


@settings
class SphereCone:
    """Spherical nose that joins a cone tangentially; the RAM-C II by default."""

    nose_radius: float = 0.1524  # m
    half_angle_deg: float = 9.0
    length: float = 1.3  # m, from the nose tip to the base

    def __post_init__(self) -> None:
        if not self.nose_radius > 0:
            raise SureflowError(f"nose_radius={self.nose_radius:g} m must be positive")
        if not 0.0 <= self.half_angle_deg <= 60.0:
            raise SureflowError(f"half_angle_deg={self.half_angle_deg:g} is outside 0..60 degrees")
        if not self.nose_arc_end <= self.length:
            raise SureflowError(
                f"length={self.length:g} m cuts the nose off before it joins the cone; "
                f"make it at least {self.nose_arc_end:.4g} m"
            )

    @classmethod
    def sphere(cls, radius: float) -> "SphereCone":
        """A plain sphere up to its shoulder."""
        return cls(nose_radius=radius, half_angle_deg=0.0, length=radius)

    @property
    def nose_arc_end(self) -> float:
        """x of the point where sphere and cone meet."""
        return self.nose_radius * (1.0 - math.sin(math.radians(self.half_angle_deg)))

    @property
    def base_radius(self) -> float:
        """Largest radius, at the base."""
        half_angle = math.radians(self.half_angle_deg)
        joint = self.nose_radius * math.cos(half_angle)
        return joint + (self.length - self.nose_arc_end) * math.tan(half_angle)

    @property
    def base_area(self) -> float:
        """Reference area of the drag coefficient in m2."""
        return math.pi * self.base_radius**2

    @property
    def arc_length(self) -> float:
        """Length of the generator from the nose tip to the base."""
        half_angle = math.radians(self.half_angle_deg)
        return self.nose_radius * (math.pi / 2 - half_angle) + (self.length - self.nose_arc_end) / math.cos(half_angle)

    def wall(self, arc: Float[np.ndarray, " n"]) -> tuple[Points, Points]:
        """Point (2, n) and outward unit normal (2, n) of the wall at arc lengths from the nose tip."""
        half_angle = math.radians(self.half_angle_deg)
        joint = self.nose_radius * (math.pi / 2 - half_angle)
        angle = np.minimum(arc, joint) / self.nose_radius
        along_cone = np.maximum(arc - joint, 0.0)
        normal = np.stack([-np.cos(angle), np.sin(angle)])
        sphere = np.stack([self.nose_radius * (1.0 - np.cos(angle)), self.nose_radius * np.sin(angle)])
        return sphere + along_cone * np.array([[math.cos(half_angle)], [math.sin(half_angle)]]), normal


@settings
class MeshSettings:
    """How the block around a body is made; `mach` is the one whose bow shock shapes the outer boundary."""

    cells: tuple[int, int] = (64, 64)  # along the body, normal to it
    wall_spacing: float = 3e-5  # m, height of the first cell at the nose
    mach: float = 10.0
    nose_margin: float = 1.4  # outer boundary / Billig's shock, both measured from the wall
    base_margin: float = 1.15
    nose_cell: float = 0.03  # length of the first cell along the body, in nose radii

    def __post_init__(self) -> None:
        along, normal = self.cells
        if not (8 <= along <= 2048 and 8 <= normal <= 2048):
            raise SureflowError(
                f"cells={along}x{normal} is outside 8x8..2048x2048; choose a size in that range, such as 64x64"
            )
        if not self.wall_spacing >= 1e-8:
            raise SureflowError(f"wall_spacing={self.wall_spacing:g} m must be 1e-8 m or more, around 3e-5 m")
        if not self.mach >= 1.2:
            raise SureflowError(
                f"mach={self.mach:g} of the mesh is below 1.2, where there is no bow shock to fit it to; choose a higher one"
            )
        if not 1e-4 <= self.nose_cell <= 1.0:
            raise SureflowError(f"nose_cell={self.nose_cell:g} nose radii is outside 1e-4..1, around 0.03")
        for name in ("nose_margin", "base_margin"):
            if not 1.0 < getattr(self, name) <= MOST_MARGIN:
                raise SureflowError(
                    f"{name}={getattr(self, name):g} must be above 1 and at most {MOST_MARGIN:g}, around 1.2 or 1.4"
                )

    def grown(self, factor: float) -> "MeshSettings":
        """The same with an outer boundary farther out."""
        nose, base = (min(MOST_MARGIN, factor * margin) for margin in (self.nose_margin, self.base_margin))
        return replace(self, nose_margin=nose, base_margin=base)


@dataclass(frozen=True, eq=False)
class FlowMesh:
    """Nodes of one structured block and the body-fitted coordinates of its cells."""

    node_x: Float[np.ndarray, "node_j node_i"]
    node_r: Float[np.ndarray, "node_j node_i"]
    body: SphereCone | None = None
    settings: MeshSettings | None = None
    axisymmetric: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Number of cells (nj, ni)."""
        nj, ni = self.node_x.shape
        return nj - 1, ni - 1

    @property
    def centers(self) -> tuple[Cells, Cells]:
        """x and r of the cell centers: the mean of the four nodes."""
        return cell_mean(self.node_x), cell_mean(self.node_r)

    @property
    def body_fitted(self) -> tuple[Cells, Cells]:
        """xi along the body and eta from the wall to the outer boundary, of the cells, uniform in 0..1.

        They count cells and not meters: the mesh is fine where the flow changes fast, so the fields are smooth in them.
        """
        nj, ni = self.shape
        xi, eta = (np.arange(ni) + 0.5) / ni, (np.arange(nj) + 0.5) / nj
        return np.broadcast_to(xi, (nj, ni)), np.broadcast_to(eta[:, None], (nj, ni))

    def description(self) -> dict[str, Any]:
        """What makes this mesh again, for the records of a data set."""
        return {
            "body": plain(self.body) if self.body else None,
            "settings": plain(self.settings) if self.settings else None,
            "axisymmetric": self.axisymmetric,
        }


def cell_mean(node: Float[np.ndarray, "node_j node_i"]) -> Cells:
    """Mean of a cell's four nodes."""
    return 0.25 * (node[1:, 1:] + node[1:, :-1] + node[:-1, 1:] + node[:-1, :-1])


def billig_shock(body: SphereCone, mach: float, radius: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """x of the bow shock at distances from the axis (Billig 1967, with x from the nose tip)."""
    curvature = body.nose_radius * 1.143 * math.exp(0.54 / (mach - 1.0) ** 1.2)
    slope = math.tan(sharp_cone_shock_angle(mach, math.radians(body.half_angle_deg)))
    nose = -billig_stand_off(mach) * body.nose_radius
    return nose + curvature / slope**2 * (np.sqrt(1.0 + (radius * slope / curvature) ** 2) - 1.0)


def distance_to_shock(body: SphereCone, mach: float, point: Points, normal: Points) -> Float[np.ndarray, " n"]:
    """Distance from wall points to Billig's shock along their normals."""

    def behind(distance: np.ndarray, x: np.ndarray, r: np.ndarray, along: np.ndarray, out: np.ndarray) -> np.ndarray:
        return x + distance * along - billig_shock(body, mach, r + distance * out)

    return find_root(behind, (0.0, 20.0 * body.length), args=(*point, *normal)).x


def one_sided_stretching(first: float, cells: int) -> Float[np.ndarray, " node"]:
    """Nodes in 0..1 whose first interval is `first`, growing smoothly: 1 + tanh(b (t - 1)) / tanh(b) (Vinokur 1983)."""
    t, strength = np.linspace(0.0, 1.0, cells + 1), stretching_strength(first, cells)
    return t if strength is None else stretched(strength, t)


def stretched(strength: Any, t: Any) -> Any:
    return 1.0 + np.tanh(strength * (t - 1.0)) / np.tanh(strength)


def stretching_strength(first: float, cells: int) -> Any:
    """b for a first interval of this size; None where that is no smaller than those of even nodes."""
    t, least = np.linspace(0.0, 1.0, cells + 1)[1], 1e-6
    if first >= stretched(least, t):
        return None
    return find_root(lambda strength: stretched(strength, t) - first, (least, 20.0)).x


def nested(body: SphereCone, settings: MeshSettings, factor: float) -> MeshSettings:
    """The settings of the mesh with so many times as many cells in each direction, stretched alike.

    Every node of the coarser of the two is one of the finer, so that its cells are made of whole ones.
    """
    along, normal = (round(factor * cells) for cells in settings.cells)
    if [along, normal] != [factor * cells for cells in settings.cells]:
        raise SureflowError(
            f"{settings.cells[0]}x{settings.cells[1]} cells cannot be refined by {factor:g}: choose a factor that leaves "
            "whole cells, such as 2, 3 or 0.5"
        )
    start, outward = body.wall(np.zeros(1))
    layer = settings.nose_margin * float(distance_to_shock(body, settings.mach, start, outward)[0])
    first_along = _first(settings.nose_cell * body.nose_radius / body.arc_length, settings.cells[0], along)
    first_normal = _first(settings.wall_spacing / layer, settings.cells[1], normal)
    return replace(
        settings,
        cells=(along, normal),
        nose_cell=first_along * body.arc_length / body.nose_radius,
        wall_spacing=first_normal * layer,
    )


def _first(first: float, cells: int, others: int) -> float:
    """The first interval of other cells, so many in number, under the same stretching."""
    strength = stretching_strength(first, cells)
    return 1.0 / others if strength is None else float(stretched(strength, 1.0 / others))


def body_mesh(body: SphereCone | None = None, settings: MeshSettings | None = None) -> FlowMesh:
    """The block between a sphere-cone and an outer boundary that follows its bow shock, on lines normal to the wall."""
    body, settings = body or SphereCone(), settings or MeshSettings()
    along, normal_cells = settings.cells
    fraction = one_sided_stretching(settings.nose_cell * body.nose_radius / body.arc_length, along)
    point, normal = body.wall(fraction * body.arc_length)
    shock = distance_to_shock(body, settings.mach, point, normal)
    margin = settings.base_margin + (settings.nose_margin - settings.base_margin) * shock[0] / shock
    layer = margin * shock
    if settings.wall_spacing * normal_cells >= layer[0]:
        raise SureflowError(
            f"wall_spacing={settings.wall_spacing:g} m times {normal_cells} cells does not fit into the layer of "
            f"{layer[0]:.3g} m at the nose; choose a smaller one"
        )
    height = one_sided_stretching(settings.wall_spacing / layer[0], normal_cells)
    nodes = point[:, None, :] + height[None, :, None] * (layer * normal)[:, None, :]
    nodes[1, :, 0] = 0.0  # the axis, exactly
    return FlowMesh(nodes[0], nodes[1], body=body, settings=settings)
