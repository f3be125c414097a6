r"""Formulas that runs are held against: rates of the flow of $(w, h)$, and laws of some times.

Near a point where it stands still the flow says how fast the plateau is left, and how fast the
target reached:

$$\dot w = \kappa w\,\big(hh^\star X'(c) - \tfrac12 h^2 S'(c)\big), \qquad \dot h = h^\star X(c) - h S(c), \qquad c = w^2 .$$

At $w = 0$, $h = h^\star X(0)/S(0)$, a saddle, $w$ grows at the rate
$\kappa h^{\star2} X'(0) X(0)/S(0)$: the plateau.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from .kernels.tabulated import curves
from .model import four_gram
from .phases import spec_of
from .spec import Spec

# What an arm takes for the kernel, and for kappa unless told otherwise.
DESCRIPTIONS = {
    "paper_flow": ("exponential", 2.0),
    "mean_field_flow": ("mean_field", 1.0),
    "exact_flow": ("exact", 1.0),
    "online_sgd": ("exact", 1.0),
}
STEP = 1e-4  # relative, of the difference that gives second derivatives


def kernel_values(arm: str, spec: Spec, *c: float) -> xr.Dataset:
    """The arm's kernels and their slopes at some c."""
    return curves(
        DESCRIPTIONS[arm][0], c, w_star=spec.w_star, length=spec.length, tokens=spec.tokens
    )


def tying(arm: str, spec: Spec) -> float:
    r"""$\kappa$."""
    return DESCRIPTIONS[arm][1] if spec.kappa is None else spec.kappa


def plateau_rate(ds: xr.Dataset) -> float:
    """The rate at which w grows on the plateau."""
    arm = ds.attrs["arm"]
    spec = spec_of(ds)
    at = kernel_values(arm, spec, 0.0).isel(c=0)
    return float(tying(arm, spec) * spec.h_star**2 * at.slope_X * at.kernel_X / at.kernel_S)


def convergence_rate(ds: xr.Dataset) -> float:
    """The smallest rate at which the target is approached."""
    spec = spec_of(ds)
    return float(-spectrum(ds.attrs["arm"], spec, spec.w_star).max())


def pull(arm: str, spec: Spec, *w: float) -> np.ndarray:
    r"""$\dot w$ on the line $\dot h = 0$, at some w; odd in w."""
    x = np.array(w)
    at = kernel_values(arm, spec, *x**2)
    h = spec.h_star * at.kernel_X.values / at.kernel_S.values
    return (
        tying(arm, spec)
        * x
        * (h * spec.h_star * at.slope_X.values - 0.5 * h**2 * at.slope_S.values)
    )


def spectrum(arm: str, spec: Spec, w: float) -> np.ndarray:
    """Eigenvalues of the linear flow at a w on the line where h stands still."""
    c = w**2
    kappa = tying(arm, spec)
    h_star = spec.h_star
    gap = STEP * spec.c_star
    first = max(c - gap, 0.0)
    at = kernel_values(arm, spec, first, first + gap, first + 2 * gap)
    here = at.isel(c=1 if c > gap else 0)
    bend_X, bend_S = (
        float(at[name][2] - at[name][0]) / (2 * gap) for name in ("slope_X", "slope_S")
    )
    h = float(h_star * here.kernel_X / here.kernel_S)
    drive = h * h_star * float(here.slope_X) - 0.5 * h**2 * float(here.slope_S)
    cross = h_star * float(here.slope_X) - h * float(here.slope_S)
    bend = h * h_star * bend_X - 0.5 * h**2 * bend_S
    flow = [
        [kappa * (drive + 2 * c * bend), kappa * w * cross],
        [2 * w * cross, -float(here.kernel_S)],
    ]
    return np.real(np.linalg.eigvals(np.array(flow)))


def logarithmic_law(run: xr.Dataset) -> xr.DataArray:
    r"""$e^{\tilde p} / (g g^\star \pi_{L-1} t)$, which tends to 1: $g$ and $p$ stay where they started."""
    spec = spec_of(run)
    share = 1 / four_gram.partition(spec.p_first, spec.keys)
    return np.exp(run.first_slope) / (spec.sigma * spec.g_star * float(share) * run.time)


def tipping_weight(w_star: xr.DataArray) -> xr.DataArray:
    r"""$w^\circ$ of (11)."""
    c = w_star**2
    inner = ((4 * c**2 - 3) ** 2 - 16 * c**2) ** 0.5
    return ((3 - 4 * c**2 - inner) / (8 * c)) ** 0.5


def logistic_time(run: xr.Dataset, fraction: float) -> float:
    r"""$T_q = N + \frac1{2\gamma}\big[\ln(c^\star/\sigma^2) + \ln(q^{-1/2} - 1)\big]$ with $\gamma = h^{\star2} c^\star/N$."""
    spec = spec_of(run)
    root = np.sqrt(fraction)
    gamma = spec.h_star**2 * spec.c_star / spec.keys
    growth = np.log(spec.c_star / spec.sigma**2) + np.log((1 - root) / root)
    return spec.keys + growth / (2 * gamma)
