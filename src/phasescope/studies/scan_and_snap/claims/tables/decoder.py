"""The decoder of one class: its steps, its flow, and what the closed forms say about them."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

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
    many draws."""
    counts = np.random.default_rng(0).multinomial(steps, np.full(classes, 1 / classes), draws)
    M = float(outputs)
    h = np.asarray(closed_forms.h_star_path(int(counts.max()), M, eta_Y))
    theta = h[counts] / float(closed_forms.h(steps / classes, M, eta_Y)) - 1
    values = {
        "spread": ("draw", np.abs(theta).max(axis=1)),
        "counts": (("draw", "class"), counts.astype(float)),
        "bound": classes * np.sqrt(np.log(classes / 0.05) / steps),
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
