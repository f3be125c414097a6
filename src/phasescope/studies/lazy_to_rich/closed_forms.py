r"""Formulas that runs are held against: rates of the flow of $(w, h)$, and laws of some times.

Near a point where it stands still the flow says how fast the plateau is left, and how fast the
target reached:

$$\dot w = \kappa w\,\big(hh^\star X'(c) - \tfrac12 h^2 S'(c)\big), \qquad \dot h = h^\star X(c) - h S(c), \qquad c = w^2 .$$

At $w = 0$, $h = h^\star X(0)/S(0)$, a saddle, $w$ grows at the rate
$\kappa h^{\star2} X'(0) X(0)/S(0)$: the plateau.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import root_scalar

import phasescope as ps

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
    return leaving_rate(ds.attrs["arm"], spec_of(ds))


def leaving_rate(arm: str, spec: Spec) -> float:
    r"""$\kappa h^{\star2} X'(0) X(0)/S(0)$, the rate at which w leaves the saddle at w = 0."""
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
    start = run.p.isel(time=0, drop=True)
    spread = start.copy(data=np.asarray(four_gram.partition(start.values, spec.keys)))
    return np.exp(run.first_slope) * spread / (spec.sigma * spec.g_star * run.time)


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


def overshoot_bound(w_star: xr.DataArray) -> Any:
    r"""$R(w^\star) = r(w^\circ)$, the bound on $h(T_2^h)/h^\star$ that (14) rests on."""
    w = tipping_weight(w_star)
    return np.sqrt((1 - 4 * w**4) / (1 - (w**2 + w_star**2) ** 2))


def settling_time(w_star: Any) -> Any:
    r"""$T_1^h / N = -\ln\big(1 - \sqrt{1 - w^{\star4}}\big)$ in the printed equations, $w$ staying at 0.

    With $w = 0$ the value is $h(t) = h^\star \psi(c^\star)(1 - e^{-t/N})$, $\psi(x) = (1-x^2)^{-1/2}$.
    """
    return -np.log(1 - np.sqrt(1 - w_star**4))


def earliest_value_time(sigma: Any, alpha: Any, share: float = 1.0) -> Any:
    r"""$\ln\big(s g^\star/(2\sigma)\big)/g^\star$, before which $g$ cannot be at $s g^\star$ for $N\sigma \gg 1$.

    With $1/M(p) \simeq 1 - e^{-p} \le p$ and $m/M^2 \simeq e^{-p} \le 1$ the flow of head 1 has
    $\dot g \le g^\star p$ and $\dot p \le g^\star g$, so that $p + g \le 2\sigma e^{g^\star t}$.
    """
    g_star = alpha / (1 + alpha)
    return np.log(share * g_star / (2 * sigma)) / g_star


def plateau_share(w_star: Any) -> Any:
    r"""$1 - \sqrt{1 - 2 c^{\star2}}$, the part of $\mathcal L_{IH}(0)$ that is left on the plateau with many keys.

    $\tfrac12 h^{\star2}(S(c^\star) - X(0)^2/S(0))$ over $\tfrac12 h^{\star2} S(c^\star)$, whatever the length, with
    $S(c^\star) = (1 - 2c^{\star2})^{-1/2}/N$ and $X(0) = S(0) = 1/N$.
    """
    return 1 - np.sqrt(1 - 2 * w_star**4)


def largest_target(slope: float = 0.04) -> float:
    r"""The $c$ below which $R(w^\star) < 1 + 0.04\,w^\star$, which the proof leaves unnamed: 0.387."""

    def excess(w_star: float) -> float:
        return float(overshoot_bound(xr.DataArray(w_star))) - 1 - slope * w_star

    return root_scalar(excess, bracket=(0.2, 0.6), method="brentq").root


def first_growth(ds: xr.Dataset) -> Any:
    r"""$2 (\sigma/h^\star)(1 - w^{\star4})^{-3/2}$, the exponent of w at the start in the unit of (17), which asks for 1.

    In the printed equations $\dot w/w = 2 h h^\star \phi(w^{\star2})/N$ for small w, and $h(0) = \sigma$.
    """
    proportion = 1 + ps.number(ds, "alpha")
    fourth = ps.number(ds, "w_star") ** 4
    return 2 * ps.number(ds, "sigma") * proportion * (1 - fourth) ** -1.5
