"""Theorem 4's own equation of one common token, solved, against its closed forms."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from ... import closed_forms


def single_token(classes: float, outputs: float, eta: float, rho_0: float) -> xr.Dataset:
    r"""$\dot z = -K\rho_0^{-4}\eta\gamma e^{4z}$ and $B = \eta\int\xi$ at equal rates, up to a million steps.

    `closed` has the lower limit of the integral, `printed` leaves it out.
    """
    K = classes
    M = outputs
    time = np.concatenate([[0.0], np.geomspace(0.1, 1e6, 141)])
    strength = K / rho_0**4

    def velocity(s, state):
        t = np.expm1(s)
        speed = float(closed_forms.gamma(t, K, M, eta))
        push = strength * eta * speed * np.exp(4 * state[0]) * (1 + t)
        return np.array([-push, push])

    clock = np.log1p(time)
    found = solve_ivp(velocity, (0, clock[-1]), np.zeros(2), "LSODA", clock, rtol=1e-9, atol=1e-11)
    Gamma = np.asarray(closed_forms.Gamma(time, K, M, eta, eta))
    values = {
        "z": found.y[0],
        "B": found.y[1],
        "closed": np.log1p(4 * strength * Gamma) / 4,
        "printed": np.log(1 / strength + 4 * Gamma) / 4,
    }
    coords = {"time": time, "classes": K, "outputs": M, "eta": eta}
    return xr.Dataset({k: ("time", v) for k, v in values.items()}, coords)
