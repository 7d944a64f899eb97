"""Geometry of the finite volumes: face vectors, volumes and the derivatives of the coordinates at faces.

For an axisymmetric flow, faces and volumes are those of one radian of revolution: the plane quantity times r of the face's
middle. Then the axis has exactly zero area, and the sum of the face vectors of a cell is exactly (0, plane area), which the
pressure source term cancels, so that a uniform flow is preserved to round-off.
"""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.flow.compiling import compiled
from sureflow.flow.mesh import FlowMesh

Vector = Float[Array, "2 nj ni"]
Nodes = Float[np.ndarray | Array, "node_j node_i"]


class FaceGeometry(NamedTuple):
    """Faces of one family; `vector` points towards growing i or j."""

    vector: Vector  # area vector
    area: Float[Array, "nj ni"]
    normal: Vector
    radius: Float[Array, "nj ni"]
    # Rows of the inverse Jacobian of the mapping (xi, eta) -> (x, r): gradient = xi_grad d/dxi + eta_grad d/deta.
    xi_gradient: Vector
    eta_gradient: Vector


class Metrics(NamedTuple):
    """All that the fluxes need to know of a mesh."""

    i_faces: FaceGeometry  # (nj, ni+1)
    j_faces: FaceGeometry  # (nj+1, ni)
    volume: Float[Array, "nj ni"]
    plane_area: Float[Array, "nj ni"]  # zero in plane flow: multiplies the source terms of axisymmetry
    center: Vector
    xi_gradient: Vector  # at cell centers
    eta_gradient: Vector


def metrics(mesh: FlowMesh) -> Metrics:
    """Metrics of a mesh, in the precision of its nodes."""
    return block_metrics(mesh.node_x, mesh.node_r, mesh.axisymmetric)


@partial(compiled, static_argnames="axisymmetric")
def block_metrics(node_x: Nodes, node_r: Nodes, axisymmetric: bool) -> Metrics:
    """Compiled once for all meshes of one size: it sees nothing of them but arrays."""
    node = jnp.stack([node_x, node_r])
    center = 0.25 * (node[:, 1:, 1:] + node[:, 1:, :-1] + node[:, :-1, 1:] + node[:, :-1, :-1])
    i_edge, j_edge = node[:, 1:, :] - node[:, :-1, :], node[:, :, 1:] - node[:, :, :-1]
    i_middle, j_middle = 0.5 * (node[:, 1:, :] + node[:, :-1, :]), 0.5 * (node[:, :, 1:] + node[:, :, :-1])
    padded = pad_centers(center, i_middle, j_middle)

    d1, d2 = node[:, 1:, 1:] - node[:, :-1, :-1], node[:, 1:, :-1] - node[:, :-1, 1:]
    area = 0.5 * jnp.abs(d1[1] * d2[0] - d1[0] * d2[1])
    volume = area * cell_radius(node, area) if axisymmetric else area
    i_faces = face_geometry(jnp.stack([i_edge[1], -i_edge[0]]), i_middle[1], i_face_derivatives(padded), axisymmetric)
    j_faces = face_geometry(jnp.stack([-j_edge[1], j_edge[0]]), j_middle[1], j_face_derivatives(padded), axisymmetric)
    xi_gradient, eta_gradient = inverse_jacobian(*cell_derivatives(padded))
    plane = area if axisymmetric else jnp.zeros_like(area)
    return Metrics(i_faces, j_faces, volume, plane, center, xi_gradient, eta_gradient)


def cell_radius(node: Float[Array, "2 node_j node_i"], area: Float[Array, "nj ni"]) -> Float[Array, "nj ni"]:
    """r of a quadrilateral's centroid, from its two triangles (Pappus: volume of a radian = area times this)."""
    a, b, c, d = node[:, :-1, :-1], node[:, :-1, 1:], node[:, 1:, 1:], node[:, 1:, :-1]

    def triangle(p, q, s):
        signed = 0.5 * ((q[0] - p[0]) * (s[1] - p[1]) - (q[1] - p[1]) * (s[0] - p[0]))
        return jnp.abs(signed), (p[1] + q[1] + s[1]) / 3.0

    (first, r_first), (second, r_second) = triangle(a, b, c), triangle(a, c, d)
    return (first * r_first + second * r_second) / area


def pad_centers(
    center: Vector, i_middle: Float[Array, "2 nj node_i"], j_middle: Float[Array, "2 node_j ni"]
) -> Float[Array, "2 nj+2 ni+2"]:
    """Cell centers with one layer of ghost centers, mirrored through the boundary faces."""
    south, north = 2.0 * j_middle[:, :1] - center[:, :1], 2.0 * j_middle[:, -1:] - center[:, -1:]
    west, east = 2.0 * i_middle[:, :, :1] - center[:, :, :1], 2.0 * i_middle[:, :, -1:] - center[:, :, -1:]
    return surround(center, west, east, south, north)


def surround(inside, west, east, south, north):
    """Cells with their four ghost sides; the corners are extrapolated along i, coordinates and values alike."""
    middle = jnp.concatenate([south, inside, north], axis=1)

    def corners(ghost, beside, beyond):
        return jnp.concatenate(
            [2.0 * beside[:, :1] - beyond[:, :1], ghost, 2.0 * beside[:, -1:] - beyond[:, -1:]], axis=1
        )

    west = corners(west, middle[:, :, :1], middle[:, :, 1:2])
    east = corners(east, middle[:, :, -1:], middle[:, :, -2:-1])
    return jnp.concatenate([west, middle, east], axis=2)


def i_face_derivatives(padded):
    """d/dxi and d/deta at i faces of a quantity given at padded cell centers (k, nj+2, ni+2)."""
    d_xi = padded[:, 1:-1, 1:] - padded[:, 1:-1, :-1]
    d_eta = 0.25 * (padded[:, 2:, 1:] + padded[:, 2:, :-1] - padded[:, :-2, 1:] - padded[:, :-2, :-1])
    return d_xi, d_eta


def j_face_derivatives(padded):
    """d/dxi and d/deta at j faces of a quantity given at padded cell centers (k, nj+2, ni+2)."""
    d_xi = 0.25 * (padded[:, 1:, 2:] + padded[:, :-1, 2:] - padded[:, 1:, :-2] - padded[:, :-1, :-2])
    d_eta = padded[:, 1:, 1:-1] - padded[:, :-1, 1:-1]
    return d_xi, d_eta


def cell_derivatives(padded):
    """d/dxi and d/deta at cell centers of a quantity given at padded cell centers (k, nj+2, ni+2)."""
    return 0.5 * (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]), 0.5 * (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1])


def inverse_jacobian(d_xi: Vector, d_eta: Vector) -> tuple[Vector, Vector]:
    """Gradients of xi and eta from the derivatives of (x, r): linear functions are differentiated exactly with them."""
    determinant = d_xi[0] * d_eta[1] - d_eta[0] * d_xi[1]
    return jnp.stack([d_eta[1], -d_eta[0]]) / determinant, jnp.stack([-d_xi[1], d_xi[0]]) / determinant


def face_geometry(plane_vector: Vector, radius, derivatives: tuple[Vector, Vector], axisymmetric: bool) -> FaceGeometry:
    """Face vectors times r where the flow is axisymmetric; the normal is that of the plane face, also on the axis."""
    length = jnp.hypot(plane_vector[0], plane_vector[1])
    weight = radius if axisymmetric else jnp.ones_like(radius)
    return FaceGeometry(
        plane_vector * weight, length * weight, plane_vector / length, radius, *inverse_jacobian(*derivatives)
    )
