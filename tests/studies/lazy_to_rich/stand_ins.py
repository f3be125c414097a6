"""Evidence for the tests of the claims: flows of Stage II by scipy, lane by lane, which is cheaper than to compile a program
for each and checks the programs from outside; descent as the flow with a little noise; the rest made up or as it is."""

import functools
from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.polynomial import Chebyshev
from scipy.integrate import solve_ivp

from phasescope.claims.requests import Request, Runs, Sized, Sweeps
from phasescope.studies.lazy_to_rich import study
from phasescope.studies.lazy_to_rich.claims import evidence
from phasescope.studies.lazy_to_rich.kernels.analytic import boolean
from phasescope.studies.lazy_to_rich.kernels.quadrature import kernel as softmax
from phasescope.studies.lazy_to_rich.spec import Spec
from phasescope.testing import labelled_like
from phasescope.verbs.evidence import Evidence

from ..contract import remembered

FLOWS = ("exact_flow", "mean_field_flow", "paper_flow")


def stand_in(request: Request, gathered: Evidence) -> xr.Dataset:
    """The evidence asked for, or something cheaper of the same kind."""
    if isinstance(request, Sized):
        request = request.small
    if isinstance(request, Sweeps) and request.arm.__name__ in FLOWS:
        return _sweep(request)
    if isinstance(request, Runs):
        name, spec = request.arm.__name__, study.specify(request.preset, **dict(request.changes))
        if name in FLOWS:
            return labelled_like(_flow(name, spec, np.array(request.at)), study, request)
        if name == "high_dimensional":
            return labelled_like(_matrix(request, spec), study, request)
        if name == "online_sgd" and request is not evidence.unbalanced_steps:
            return labelled_like(_descent(request, spec), study, request)
    return gathered.get(request)[0]


def _sweep(request: Sweeps) -> xr.Dataset:
    """Every lane of one axis, or of two."""
    axes = dict(request.axes)
    times = np.array(request.at)
    name = request.arm.__name__
    start = {field: values[0] for field, values in axes.items()}
    spec = study.specify(request.preset, **dict(request.changes) | start)
    return labelled_like(_lanes(name, spec, axes, times), study, request)


def _lanes(name: str, spec: Spec, axes: dict, times: np.ndarray) -> xr.Dataset:
    """The flow over the product of some axes, which are marked as swept."""
    if not axes:
        return _flow(name, spec, times)
    field, *others = axes
    rest = {other: axes[other] for other in others}
    lanes = [_lanes(name, spec.replace(**{field: value}), rest, times) for value in axes[field]]
    coordinate = xr.DataArray(list(axes[field]), dims=field, attrs={"swept": 1})
    return xr.concat(lanes, field).assign_coords({field: coordinate})


def grid(request: Sweeps, count: int) -> xr.Dataset:
    """A sweep of two axes at fewer values of each, all of them run."""
    axes, times, name = dict(request.axes), np.array(request.at), request.arm.__name__
    few = {
        k: [v[i] for i in np.linspace(0, len(v) - 1, count).astype(int)] for k, v in axes.items()
    }
    (first, across), (second, down) = few.items()
    spec = study.specify(request.preset, **dict(request.changes))
    lane = lambda a, b: _flow(name, spec.replace(**{first: a, second: b}), times)
    rows = [xr.concat([lane(a, b) for b in down], second) for a in across]
    return labelled_like(xr.concat(rows, first).assign_coords(few), study, request)


@functools.cache
def _kernels(arm: str, c_star: float, N: int, tokens: str) -> tuple[Callable, ...]:
    """S, X, S', X' and S(c*), times N."""
    if arm == "paper_flow":
        F, dF = (
            lambda a, b: (1 - (a + b) ** 2) ** -0.5,
            lambda a, b: (a + b) * (1 - (a + b) ** 2) ** -1.5,
        )
    elif arm == "mean_field_flow":
        F, dF = lambda a, b: (1 - 2 * a * b) ** -0.5, lambda a, b: b * (1 - 2 * a * b) ** -1.5
    else:
        exact = (
            (lambda a, b: N * boolean(a, b, N))
            if tokens == "boolean"
            else lambda a, b: N * softmax(a, b, N)
        )
        fit = lambda f: Chebyshev.interpolate(np.vectorize(f), 20, [0, 1.2 * c_star])
        S, X = fit(lambda c: exact(c, c)), fit(lambda c: exact(c, c_star))
        return S, X, S.deriv(), X.deriv(), S(c_star)
    S, X = lambda c: F(c, c), lambda c: F(c, c_star)
    return S, X, lambda c: 2 * dF(c, c), lambda c: dF(c, c_star), S(c_star)


def _flow(arm: str, spec: Spec, times: np.ndarray) -> xr.Dataset:
    """Stage II by scipy, solved once for the claims and the figures."""
    name = ("stage two", arm, spec.to_json(), times.tolist())
    return remembered(name, lambda: _solved(arm, spec, times))


def _solved(arm: str, spec: Spec, times: np.ndarray) -> xr.Dataset:
    """Stage II by scipy, from the equations on paper, with everything that the arms record."""
    N, g_star, h_star, c_star = spec.keys, spec.g_star, spec.h_star, spec.c_star
    kappa = (2.0 if arm == "paper_flow" else 1.0) if spec.kappa is None else spec.kappa
    S, X, dS, dX, top = _kernels(arm, c_star, N, spec.tokens)
    sums = lambda p: np.expm1(-N * p) / np.expm1(-p)
    mean = lambda p: 1 / np.expm1(p) - (N / np.expm1(N * p) if N * p < 500 else 0.0)

    def field(t, state):
        p, g, k, q, h = state
        M, M2, c = sums(p), sums(2 * p), k * q
        m, m2 = M * mean(p), M2 * mean(2 * p)
        push = kappa * (h * h_star * dX(c) - 0.5 * h * h * dS(c)) / N
        error = g_star - g * M2 / M
        return [
            g * (m * error + g * m2) / M**2,
            error / M,
            q * push,
            k * push,
            (h_star * X(c) - h * S(c)) / N,
        ]

    start = [spec.sigma] * 3 + [spec.sigma * spec.imbalance, spec.sigma]
    found = solve_ivp(
        field, (0, times[-1] * (1 + 1e-12)), start, "LSODA", times, rtol=1e-10, atol=1e-13
    )
    p, g, k, q, h = found.y
    rate = np.array([field(0, y) for y in found.y.T]).T
    c, u, M = k * q, np.exp(-p), sums(p)
    v, w = u * g_star + g_star - g, np.sqrt(np.abs(c))
    dc = rate[2] * q + rate[3] * k
    g4 = 0.5 * (g_star - g / M) ** 2 + 0.5 * (g / M) ** 2 * (sums(2 * p) - 1)
    ih = (0.5 * h_star**2 * top + 0.5 * h**2 * S(c) - h * h_star * X(c)) / N
    values = {
        "loss": g4 + ih,
        "loss_g4": g4,
        "loss_ih": ih,
        "p": p,
        "g": g,
        "w_k": k,
        "w_q": q,
        "h": h,
        "w_kq": w,
        "balance": q**2 - k**2,
        "h_qe": h_star * X(c) / S(c),
        "prev_token_weight": np.ones(times.size),
        "growth_rate": dc / (2 * c),
        "lyap_uv": 0.5 * (u**2 + v**2),
        "lyap_uv_rate": -(u**2) * rate[0] + v * (-u * g_star * rate[0] - rate[1]),
        "lyap_vh": 0.5 * ((c - c_star) ** 2 + (h - h_star) ** 2),
        "lyap_vh_rate": (c - c_star) * dc + (h - h_star) * rate[4],
    }
    return xr.Dataset({name: ("time", x) for name, x in values.items()}, {"time": times})


def _descent(request: Runs, spec: Spec) -> xr.Dataset:
    """The flow with a little noise on every parameter, common to both weights."""
    times = np.array(request.at)
    if spec.p_tilde is not None or spec.index_range == "L-2":
        return _floors(times, spec)
    flow = _flow("exact_flow", spec, times)
    noise = lambda size: size * np.random.default_rng(1).standard_normal(times.size)
    smooth = flow.assign(p=flow.p + noise(1e-4), g=flow.g + noise(1e-4), h=flow.h + noise(1e-5))
    both = 1 + noise(1e-4)
    return smooth.assign(w_k=flow.w_k * both, w_q=flow.w_q * both, w_kq=flow.w_kq * both)


def _floors(times: np.ndarray, spec: Spec) -> xr.Dataset:
    """A blurred first layer, or a learner that sees one position less: where the losses end."""
    fade = np.exp(-times / 300)
    if spec.p_tilde is not None:
        floor = 0.5 * spec.g_star**2 * np.exp(-2 * spec.p_tilde)
        g4 = floor * (1 + 0.0152 * 4000 / (times + 1e-3))
        values = {"loss_g4": g4, "loss_ih": 1e-3 * fade + 2e-4, "w_kq": 0.343 * times / 4000}
    else:
        ends = 0.5 * spec.g_star**2 + 1e-5 * fade, 3e-3 * fade + 9.24e-5
        values = {"loss_g4": ends[0], "loss_ih": ends[1], "g": 0.01 * fade}
    return xr.Dataset({k: ("time", x) for k, x in values.items()}, {"time": times})


def _matrix(request: Runs, spec: Spec) -> xr.Dataset:
    """Losses in many dimensions: stuck under descent; under Adam the induction head falls first, in one go."""
    times = np.array(request.at)
    if spec.optimiser == "gd":
        ih, g4, error = (
            3.16e-3 * np.exp(-times / 38) + 3.98e-5,
            0.125 / (1 + times),
            1 - 1e-7 * times,
        )
    else:
        n = times / spec.eta
        ih, g4 = 3.2e-3 * np.exp(-((n / 780) ** 2)), 0.125 / (1 + n / 300)
        error = np.exp(-((n / 1200) ** 2))
    values = {"loss": ih + g4, "loss_ih": ih, "loss_g4": g4, "score_error": error}
    return xr.Dataset({k: ("time", x) for k, x in values.items()}, {"time": times})
