"""The decoder of one class: its steps, its flow, and what the closed forms say about them."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp
from scipy.special import lambertw

from ... import closed_forms


def softmax_steps(outputs: int, eta_Y: float, steps: int) -> xr.Dataset:
    """Logits and residuals of a softmax trained on one label, against the recursion for h*."""
    M = outputs
    w = np.zeros(outputs)
    logits = []
    residuals = []
    for _ in range(steps):
        weights = np.exp(w - w.max())
        residual = np.eye(M)[0] - weights / weights.sum()
        w = w + eta_Y * residual
        logits.append(w)
        residuals.append(residual)
    h = np.asarray(closed_forms.h_star_path(steps, float(M), eta_Y))[:, None]
    zeta = (np.eye(M)[0] - 1 / M) * M / (M - 1)
    forecast = (M - 1) * h[1:] * zeta
    slowed = (M - 1) / (M - 1 + np.exp(M * h[:-1])) * zeta
    values = {
        "logits": logits,
        "logits_forecast": forecast,
        "residual": residuals,
        "residual_forecast": slowed,
    }
    coords = {"step": np.arange(1, steps + 1), "output": np.arange(M)}
    return xr.Dataset({k: (("step", "output"), np.asarray(v)) for k, v in values.items()}, coords)


def decoder_flow(outputs: int, eta_Y: float) -> xr.Dataset:
    """M h by its closed form and by solving its differential equation; both sides of the
    implicit equation."""
    M = outputs
    s = np.geomspace(1e-2, 1e5, 71)

    def velocity(_, x):
        return M * eta_Y / (M - 1 + np.exp(x))

    found = solve_ivp(velocity, (0, s[-1]), [0.0], "Radau", s, rtol=1e-10, atol=1e-12)
    x = np.asarray(closed_forms.Mh(s, float(M), eta_Y))
    values = {
        "closed": x,
        "solved": found.y[0],
        "left": np.exp(x) + (M - 1) * x,
        "right": M * eta_Y * s + 1,
    }
    return xr.Dataset({k: ("s", v) for k, v in values.items()}, {"s": s})


def discrete_gap(outputs: int, eta_Y: float) -> xr.Dataset:
    """M (h* - h) at every step up to 3000 / eta_Y."""
    steps = round(3000 / eta_Y)
    M = float(outputs)
    s = np.arange(steps + 1.0)
    in_steps = M * np.asarray(closed_forms.h_star_path(steps, M, eta_Y))
    gap = in_steps - np.asarray(closed_forms.Mh(s, M, eta_Y))
    return xr.Dataset({"gap": ("s", gap)}, {"s": s, "eta_Y": eta_Y, "outputs": M})


def shifts(outputs: tuple[float, ...], eta_Y: float, last: int) -> xr.Dataset:
    """By how many steps the flow must be ahead to be where unit steps are: h(s + c) = h*(s).

    `early` marks s <= ln M / eta_Y."""
    s = np.arange(1, last + 1)
    found = []
    for M in outputs:
        x = M * np.asarray(closed_forms.h_star_path(last, M, eta_Y))[1:]
        found.append(closed_forms.visits_until(x, M, eta_Y) - s)
    M = np.array(outputs)
    early = s[None, :] <= np.log(M)[:, None] / eta_Y
    dims = ("outputs", "s")
    return xr.Dataset(
        {"ahead": (dims, np.stack(found)), "early": (dims, early)}, {"outputs": M, "s": s}
    )


def both_sides(outputs: tuple[float, ...], eta_Y: tuple[float, ...]) -> xr.Dataset:
    """ln of exp(x) / ((M - 1) x) and of exp(x) / (M - 1) at x = Mh(s), from the first visit on.

    `clock` is s / s_0 with s_0 = 2 (1 + omega_1) ln M / eta_Y, from where on both are said to be positive; `linear`
    is s eta_Y / ln M, up to where both are said to be negative. Before the first visit there is nothing (nan)."""
    clock = np.geomspace(1e-3, 1e3, 121)
    M = np.array(outputs)[:, None, None]
    eta = np.array(eta_Y)[None, :, None]
    end = 2 * closed_forms.log_ratio_root(M) / eta
    s = np.maximum(clock * end, 1.0)
    x = np.asarray(closed_forms.Mh(s, M, eta))
    values = {
        "over_product": x - np.log((M - 1) * x),
        "over_outputs": x - np.log(M - 1),
        "linear": s * eta / np.log(M),
        "frozen": s / end,
    }
    dims = ("outputs", "eta_Y", "clock")
    coords = {"outputs": np.array(outputs), "eta_Y": np.array(eta_Y), "clock": clock}
    return xr.Dataset({k: (dims, np.broadcast_to(v, s.shape)) for k, v in values.items()}, coords)


def smaller_root(outputs: tuple[float, ...]) -> xr.Dataset:
    """The smaller root of exp(x) = (M - 1) x, as x = M^-(1 - omega_0), and both sides there."""
    M = np.array(outputs)
    x = -np.real(lambertw(-1 / (M - 1), 0))
    values = {"omega_0": 1 + np.log(x) / np.log(M), "left": np.exp(x), "right": (M - 1) * x}
    return xr.Dataset({k: ("outputs", v) for k, v in values.items()}, {"outputs": M})


def speed_ratios(outputs: tuple[float, ...]) -> xr.Dataset:
    """gamma over the laws of Lemma 9 and Theorem 1 (b), at K = eta_Y = 1: `linear` up to t_0' = ln M, `decay` and
    `printed` (without M in the logarithm) from t_0 = 2 (1 + omega_1) ln M on."""
    M = np.array(outputs)[:, None]
    part = np.geomspace(0.01, 1.0, 41)
    early = part * closed_forms.t_linear(1.0, M, 1.0)
    late = closed_forms.t_snap(1.0, M, 1.0) / part[::-1] ** 2
    fast = np.asarray(closed_forms.gamma(early, 1.0, M, 1.0))
    slow = np.asarray(closed_forms.gamma(late, 1.0, M, 1.0))
    values = {
        "linear": fast / early,
        "decay": slow * late / np.log(M * late),
        "printed": slow * late / np.log(late),
        "speed": fast,
    }
    coords = {"outputs": np.array(outputs), "part": part}
    return xr.Dataset({k: (("outputs", "part"), v) for k, v in values.items()}, coords)


def steps_and_flow(outputs: int, eta_Y: tuple[float, ...], last: int) -> xr.Dataset:
    """M h* and M h at every step up to the last, for several step sizes."""
    M = float(outputs)
    s = np.arange(last + 1)
    steps = M * np.stack([closed_forms.h_star_path(last, M, eta) for eta in eta_Y])
    flow = np.stack([closed_forms.Mh(s, M, eta) for eta in eta_Y])
    dims = ("eta_Y", "s")
    coords = {"eta_Y": list(eta_Y), "s": s, "outputs": M}
    return xr.Dataset({"steps": (dims, steps), "flow": (dims, flow)}, coords)


def later_root(outputs: tuple[float, ...]) -> xr.Dataset:
    """The later root of exp(x) = (M-1) x, as (1 + omega_1) ln M, and both sides there."""
    M = np.array(outputs)
    omega_1 = closed_forms.omega_1(M)
    x = (1 + omega_1) * np.log(M)
    values = {"omega_1": omega_1, "left": np.exp(x), "right": (M - 1) * x}
    return xr.Dataset({k: ("outputs", v) for k, v in values.items()}, {"outputs": M})


def class_counts(classes: int, outputs: int, eta_Y: float, steps: int, draws: int) -> xr.Dataset:
    """How far the decoders of the classes are apart after batch-1 steps in random order, over
    many draws.

    `growth_off` and `slope_off` are how far h(N_n), and 1 / (M - 1 + exp(M h(N_n))), are from those of the average
    count, relatively."""
    counts = np.random.default_rng(0).multinomial(steps, np.full(classes, 1 / classes), draws)
    M = float(outputs)
    h = np.asarray(closed_forms.h_star_path(int(counts.max()), M, eta_Y))
    theta = h[counts] / float(closed_forms.h(steps / classes, M, eta_Y)) - 1
    average = -(-steps // classes)
    growth = np.asarray(closed_forms.Mh(np.arange(counts.max() + 1), M, eta_Y))
    slope = 1 / (M - 1 + np.exp(growth))
    values = {
        "spread": ("draw", np.abs(theta).max(axis=1)),
        "counts": (("draw", "class"), counts.astype(float)),
        "bound": classes * np.sqrt(np.log(classes / 0.05) / steps),
        "growth_off": (("draw", "class"), np.abs(growth[counts] / growth[average] - 1)),
        "slope_off": (("draw", "class"), np.abs(slope[counts] / slope[average] - 1)),
    }
    coords = {"draw": np.arange(draws), "steps": float(steps), "classes": float(classes)}
    return xr.Dataset(values, coords)


def time_to_residual(outputs: int, epsilon: tuple[float, ...]) -> xr.Dataset:
    """eta_Y N / K when the norm of the residual is epsilon, and that norm by the decoder's
    closed form then."""
    M = float(outputs)
    eps = np.array(epsilon)
    clock = closed_forms.steps_to_residual(eps, 1.0, M, 1.0)
    x = np.asarray(closed_forms.Mh(clock, M, 1.0))
    norm = (M - 1) / (M - 1 + np.exp(x)) * np.sqrt(M / (M - 1))
    values = {"clock": ("epsilon", clock), "residual": ("epsilon", norm)}
    return xr.Dataset(values, {"epsilon": eps, "outputs": M})
