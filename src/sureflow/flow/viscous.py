"""Viscous stresses and heat conduction at faces, full Navier-Stokes, plane or axisymmetric.

Gradients come from differences of cell centers with the inverse Jacobian of the same differences of the coordinates, so they
are exact for linear functions on any mesh.
"""

import jax.numpy as jnp

from sureflow.flow.metrics import FaceGeometry, Metrics, cell_derivatives, i_face_derivatives, j_face_derivatives
from sureflow.flow.state import Units


def gradient(derivatives, xi_gradient, eta_gradient):
    """(k, 2, ...): d/dx and d/dr of each quantity."""
    d_xi, d_eta = derivatives
    return d_xi[:, None] * xi_gradient + d_eta[:, None] * eta_gradient


def divergence(grad, v_over_r):
    """Divergence of the velocity from the gradients of (u, v, T); `v_over_r` is zero in plane flow."""
    return grad[0, 0] + grad[1, 1] + v_over_r


def face_flux(face: FaceGeometry, grad, mean, axisymmetric: bool, units: Units):
    """Viscous flux (4, ...) through faces, from gradients (3, 2, ...) of (u, v, T) and mean values (4, ...) of (u, v, T, p).

    The mean temperature and pressure are those at which viscosity and conductivity are taken.
    """
    u, v, temperature, pressure = mean
    mu, k = units.viscosity(temperature, pressure), units.conductivity(temperature, pressure)
    # On the axis v vanishes with r, and the face has no area: any finite value serves.
    v_over_r = jnp.where(face.radius > 0.0, v / jnp.where(face.radius > 0.0, face.radius, 1.0), 0.0)
    dilatation = 2.0 / 3.0 * divergence(grad, v_over_r if axisymmetric else 0.0)
    txx = mu * (2.0 * grad[0, 0] - dilatation)
    trr = mu * (2.0 * grad[1, 1] - dilatation)
    txr = mu * (grad[0, 1] + grad[1, 0])
    ax, ar = face.vector
    fx, fr = txx * ax + txr * ar, txr * ax + trr * ar
    heat = k * (grad[2, 0] * ax + grad[2, 1] * ar)
    return jnp.stack([jnp.zeros_like(fx), fx, fr, u * fx + v * fr + heat])


def viscous_fluxes(padded, geometry: Metrics, axisymmetric: bool, wall: bool, units: Units):
    """Fluxes through the i and j faces from (u, v, T, p) at cell centers and ghosts, (4, nj+2, ni+2)."""
    i_mean = 0.5 * (padded[:, 1:-1, 1:] + padded[:, 1:-1, :-1])
    j_mean = 0.5 * (padded[:, 1:, 1:-1] + padded[:, :-1, 1:-1])
    if wall:
        # The mean across a wall's face is the wall's own value; the flux between wall and cell wants the mean of these two.
        j_mean = j_mean.at[2, 0].set(0.5 * (j_mean[2, 0] + padded[2, 1, 1:-1]))
    i_face, j_face = geometry.i_faces, geometry.j_faces
    i_grad = gradient(i_face_derivatives(padded[:3]), i_face.xi_gradient, i_face.eta_gradient)
    j_grad = gradient(j_face_derivatives(padded[:3]), j_face.xi_gradient, j_face.eta_gradient)
    i_flux = face_flux(i_face, i_grad, i_mean, axisymmetric, units)
    return i_flux, face_flux(j_face, j_grad, j_mean, axisymmetric, units)


def hoop_stress(padded, geometry: Metrics, units: Units):
    """Viscous stress around the axis, at cell centers."""
    grad = gradient(cell_derivatives(padded[:3]), geometry.xi_gradient, geometry.eta_gradient)
    _, v, temperature, pressure = padded[:, 1:-1, 1:-1]
    v_over_r = v / geometry.center[1]
    return units.viscosity(temperature, pressure) * 2.0 * (v_over_r - divergence(grad, v_over_r) / 3.0)
