"""Approximate Riemann solvers: fluxes per unit area through a face, from the two states (rho, u, v, p) beside it.

Each takes `left` and `right` (4, ...), the unit normal (2, ...) from left to right, the gas, and `shock` (...) in 0..1: how
much a face sees of the bow shock, where fluxes that keep shear layers sharp make carbuncles. Settings choose one by its name
in `FLUXES`, to which users add their own: `FLUXES.register("mine", function)`.
"""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jaxtyping import Array

from sureflow.flow.state import Units, conservative
from sureflow.registry import Registry

Flux = Callable[[Array, Array, Array, Units, Array], Array]

FLUXES: Registry[Flux] = Registry("flux")
DEFAULT_FLUX = "hllc-hlle"
# How stores of runs name a flux where that is not by its name here.
RECORDED = {DEFAULT_FLUX: "HLLC, HLLE at shocks"}


def euler_flux(w, u_cons, normal):
    """Flux of mass, momentum and energy of one state."""
    rho, u, v, p = w
    vn = u * normal[0] + v * normal[1]
    return jnp.stack([rho * vn, u_cons[1] * vn + p * normal[0], u_cons[2] * vn + p * normal[1], (u_cons[3] + p) * vn])


def einfeldt_speeds(left, right, normal, units: Units):
    """Slowest and fastest signal (Einfeldt 1988): those of the two states and of their Roe average."""
    vl = left[1] * normal[0] + left[2] * normal[1]
    vr = right[1] * normal[0] + right[2] * normal[1]
    cl = units.sound_speed(left[0], units.energy_from_pressure(left[0], left[3]))
    cr = units.sound_speed(right[0], units.energy_from_pressure(right[0], right[3]))
    root_l, root_r = jnp.sqrt(left[0]), jnp.sqrt(right[0])
    share = root_l / (root_l + root_r)
    v_roe = share * vl + (1.0 - share) * vr
    c_roe = jnp.sqrt(share * cl**2 + (1.0 - share) * cr**2 + 0.5 * share * (1.0 - share) * (vr - vl) ** 2)
    return jnp.minimum(vl - cl, v_roe - c_roe), jnp.maximum(vr + cr, v_roe + c_roe)


@partial(FLUXES.register, "hlle")
def hlle(left, right, normal, units: Units, shock):
    """Two waves: diffusive at contacts and shear layers, but free of carbuncles."""
    return _hll(left, right, normal, units)[0]


@partial(FLUXES.register, "hllc")
def hllc(left, right, normal, units: Units, shock):
    """Three waves: keeps contacts and boundary layers sharp (Toro, Spruce and Speares 1994), but may make carbuncles."""
    return hllc_hlle(left, right, normal, units, jnp.zeros_like(left[0]))


@partial(FLUXES.register, DEFAULT_FLUX)
def hllc_hlle(left, right, normal, units: Units, shock):
    """HLLE where `shock` is one, HLLC where it is zero."""
    hlle_flux, (ul, ur), (fl, fr), (sl, sr) = _hll(left, right, normal, units)
    vl = left[1] * normal[0] + left[2] * normal[1]
    vr = right[1] * normal[0] + right[2] * normal[1]
    ml, mr = left[0] * (sl - vl), right[0] * (sr - vr)
    sm = (right[3] - left[3] + ml * vl - mr * vr) / (ml - mr)
    p_star = left[3] + ml * (sm - vl)

    leftward = sm < 0.0  # the contact moves left: the right star state lies at the face
    w = jnp.where(leftward, right, left)
    u, f, s, vn = (jnp.where(leftward, b, a) for a, b in ((ul, ur), (fl, fr), (sl, sr), (vl, vr)))
    push = jnp.stack([jnp.zeros_like(sm), normal[0], normal[1], sm])
    star = ((s - vn) * u + push * p_star - w[3] * push.at[3].set(vn)) / (s - sm)
    outside = jnp.where(leftward, sr <= 0.0, sl >= 0.0)  # supersonic: no star region at the face
    hllc_flux = f + jnp.where(outside, 0.0, s) * (star - u)
    return hllc_flux + shock * (hlle_flux - hllc_flux)


def _hll(left, right, normal, units: Units):
    sl, sr = einfeldt_speeds(left, right, normal, units)
    ul, ur = conservative(left, units), conservative(right, units)
    fl, fr = euler_flux(left, ul, normal), euler_flux(right, ur, normal)
    slow, fast = jnp.minimum(sl, 0.0), jnp.maximum(sr, 0.0)
    flux = (fast * fl - slow * fr + slow * fast * (ur - ul)) / (fast - slow)
    return flux, (ul, ur), (fl, fr), (sl, sr)
