"""Inviscid hypersonic flow over a sphere by fitting the shock, as an oracle for the stand-off distance.

The region between the sphere and the shock is mapped to a square. Polynomials on it satisfy, by least squares at Chebyshev
nodes, the steady Euler equations, the Rankine-Hugoniot conditions on the shock, whose shape is among the unknowns, and the
wall. Nothing is prescribed where the flow leaves, which it does at supersonic speed. Nothing is captured, limited or
marched, and the error falls exponentially with the number of nodes.

Velocities and densities are in units of the free stream's, lengths in radii of the sphere. The unknowns are even functions
of the angle theta from the axis, and so smooth ones of s = theta^2: radial velocity u, polar velocity over sin(theta) w,
density, and the thickness of the shock layer. The pressure follows from the total enthalpy, which is the same everywhere.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import least_squares

from sureflow.flow.compiling import compiled
from sureflow.runtime import double_precision

GAMMA = 1.4
# From the axis to where the flow leaves, past the sonic line and its last characteristics.
LAST_ANGLE = np.radians(60.0)


def chebyshev_nodes(degree: int, length: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes on 0..length, and the matrix that differentiates values at them."""
    x = -np.cos(np.pi * np.arange(degree + 1) / degree)
    derivative = chebyshev.chebval(x, chebyshev.chebder(np.eye(degree + 1))).T
    return 0.5 * length * (x + 1), 2 / length * derivative @ np.linalg.inv(chebyshev.chebvander(x, degree))


class ShockLayer:
    """The equations at the nodes: eta from the body (0) to the shock (1), and s along it."""

    def __init__(self, mach: float, across: int, along: int):
        self.mach = mach
        self.shape = (3, across + 1, along + 1)
        self.eta, self.d_eta = chebyshev_nodes(across)
        self.s, self.d_along = chebyshev_nodes(along, LAST_ANGLE**2)
        self.theta = np.sqrt(self.s)
        self.sine, self.cosine = np.sin(self.theta), np.cos(self.theta)
        self.sine_over_theta = np.sinc(self.theta / np.pi)

    def split(self, unknowns):
        """u, w and density at the nodes [eta, s], and the thickness [s]."""
        n_along = self.shape[-1]
        return *unknowns[:-n_along].reshape(self.shape), unknowns[-n_along:]

    def pressure(self, u, w, density):
        enthalpy = 0.5 + 1 / ((GAMMA - 1) * self.mach**2)
        return (GAMMA - 1) / GAMMA * density * (enthalpy - 0.5 * (u**2 + (w * self.sine) ** 2))

    def behind_shock(self, thickness):
        """u, w and density from the Mach number normal to the shock (Rankine-Hugoniot)."""
        slope = 2 * (self.d_along @ thickness) / self.sine_over_theta / (1 + thickness)  # dR/dtheta / (R sin(theta))
        stretch = jnp.sqrt(1 + (slope * self.sine) ** 2)
        normal = -(self.cosine + slope * self.sine**2) / stretch
        mach2 = (self.mach * normal) ** 2
        compression = (GAMMA + 1) * mach2 / ((GAMMA - 1) * mach2 + 2)
        jump = normal * (1 - 1 / compression) / stretch
        return jnp.stack([-self.cosine - jump, 1 + jump * slope, compression])

    def conditions(self, unknowns):
        """What is zero in the solution: mass, radial and polar momentum everywhere, the shock, and the wall."""
        u, w, density, thickness = self.split(unknowns)
        p, radius = self.pressure(u, w, density), 1 + self.eta[:, None] * thickness
        turning = 2 * self.theta * self.sine  # sin(theta) d/dtheta = turning d/ds

        def d_radius(f):
            return self.d_eta @ f / thickness

        def d_s(f):
            """At constant radius."""
            return f @ self.d_along.T - d_radius(f) * self.eta[:, None] * (self.d_along @ thickness)

        mass = d_radius(radius**2 * density * u) / radius**2
        mass += (2 * self.cosine * density * w + turning * d_s(density * w)) / radius
        radial = u * d_radius(u) + (w * turning * d_s(u) - (w * self.sine) ** 2) / radius + d_radius(p) / density
        polar = u * d_radius(w) + (w * (w * self.cosine + turning * d_s(w)) + u * w) / radius
        polar += 2 / self.sine_over_theta * d_s(p) / (density * radius)
        shock = jnp.stack([u[-1], w[-1], density[-1]]) - self.behind_shock(thickness)
        return jnp.concatenate([f.ravel() for f in (mass, radial, polar, shock, u[0])])

    def guess(self):
        """Linear from a body with Newtonian pressure to a shock at about the distance that correlations give."""
        thickness = 0.15 * (1 + 0.5 * self.s)
        shock = np.asarray(self.behind_shock(thickness))
        body = np.stack([0 * self.s, 0.6 + 0 * self.s, shock[2, 0] * self.cosine ** (2 / GAMMA)])
        fields = body[:, None] + self.eta[:, None] * (shock - body)[:, None]
        return np.concatenate([fields.ravel(), thickness])

    def solve(self):
        """u, w, density and thickness."""
        with double_precision():
            residual, jacobian = compiled(self.conditions), compiled(jax.jacfwd(self.conditions))
            found = least_squares(
                lambda unknowns: np.asarray(residual(unknowns)),
                self.guess(),
                jac=lambda unknowns: np.asarray(jacobian(unknowns)),
                method="lm",
                xtol=1e-13,
                ftol=1e-13,
                gtol=1e-13,
            )
        return self.split(found.x)


@dataclass(frozen=True)
class Fitted:
    """The flow, and how well it keeps what was not asked of it."""

    stand_off: float
    pitot_ratio: float  # pressure at the stagnation point over that of the free stream
    outflow_mach: float  # smallest, of the velocity out of the region
    mass_error: float  # what leaves over what comes in through the shock, less one
    entropy_error: float  # largest change of p / density^gamma along the wall, which is a streamline
    surface: chebyshev.Chebyshev  # pressure coefficient over that at the stagnation point, of s

    def cp_over_cpmax(self, angle_deg: float) -> float:
        """At an angle from the stagnation point."""
        return float(self.surface(np.radians(angle_deg) ** 2))


@functools.cache
def fit_shock(mach: float, across: int = 10, along: int = 8) -> Fitted:
    """Flow at a Mach number by polynomials of degree `across` the shock layer and `along` it."""
    layer = ShockLayer(mach, across, along)
    u, w, density, thickness = layer.solve()
    p = layer.pressure(u, w, density)
    out, last = w[:, -1] * layer.sine[-1], 1 + thickness[-1] * layer.eta
    through = chebyshev.Chebyshev.fit(last, density[:, -1] * out * last, across).integ(lbnd=1)(last[-1])
    entropy = p[0] / density[0] ** GAMMA
    ratio = p[0] * GAMMA * mach**2
    return Fitted(
        stand_off=float(thickness[0]),
        pitot_ratio=float(ratio[0]),
        outflow_mach=float((out / np.sqrt(GAMMA * p[:, -1] / density[:, -1])).min()),
        # Through the cone of the last angle, and through the disk that the shock spans there.
        mass_error=float(2 * through / (last[-1] ** 2 * layer.sine[-1]) - 1),
        entropy_error=float(np.abs(entropy / entropy[0] - 1).max()),
        surface=chebyshev.Chebyshev.fit(layer.s, (ratio - 1) / (ratio[0] - 1), along),
    )
