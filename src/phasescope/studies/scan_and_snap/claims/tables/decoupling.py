r"""The decoupled decoder on a fixed attention: $\dot Y \propto F(I+E)^{-1}R$, step by step and
in closed form."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from ... import closed_forms


def overlapping(tokens: int, classes: int, common: float) -> np.ndarray:
    """Random unit vectors $f_n$ as columns, alike by a share `common` of what they have in
    common."""
    generator = np.random.default_rng(3)
    shared = generator.random(tokens)[:, None]
    own = generator.random((tokens, classes))
    occurs = generator.random((tokens, classes)) < 0.4
    F = common * shared + own * occurs
    return F / np.linalg.norm(F, axis=0)


def correction(F: np.ndarray) -> np.ndarray:
    r"""$E' = I - (I + E)^{-1}$."""
    return np.eye(F.shape[1]) - np.linalg.inv(F.T @ F)


def softmax(w: np.ndarray) -> np.ndarray:
    """Of each column."""
    weights = np.exp(w - w.max(axis=0))
    return weights / weights.sum(axis=0)


def directions(outputs: int, classes: int) -> np.ndarray:
    r"""$\zeta_n$ as columns."""
    return outputs / (outputs - 1) * (np.eye(outputs)[:, :classes] - 1 / outputs)


def batch_1_decoder(
    tokens: int, classes: int, outputs: int, eta_Y: float, steps: int
) -> xr.Dataset:
    """Y after batch-1 steps of the modified gradient in random class order, and its closed form
    given the counts."""
    F = overlapping(tokens, classes, 0.5)
    modified = F @ (np.eye(classes) - correction(F))
    Y = np.zeros((tokens, outputs))
    order = np.random.default_rng(4).integers(classes, size=steps)
    for n in order:
        Y = Y + eta_Y * np.outer(modified[:, n], np.eye(outputs)[n] - softmax(Y.T @ F[:, n]))
    counts = np.bincount(order, minlength=classes)
    h = np.asarray(closed_forms.h_star_path(int(counts.max()), float(outputs), eta_Y))[counts]
    W = (outputs - 1) * h * directions(outputs, classes)
    values = {
        "Y": (("token", "output"), Y),
        "forecast": (("token", "output"), modified @ W.T),
        "overlap": (("class", "other"), F.T @ F),
        "logits": (("class", "output"), F.T @ Y),
        "alone": (("class", "output"), W.T),
    }
    return xr.Dataset(values)


def pull_coefficients(
    tokens: int, classes: int, outputs: int, eta_Y: float, steps: int, common: float = 0.5
) -> xr.Dataset:
    r"""Least-squares coefficients of $g_n = Y r_n$ on F, decoupled and with equal counts, against
    Theorem 1's formula.

    `printed` has the sign of the $q_0$ term as printed, `corrected` the other one."""
    F = overlapping(tokens, classes, common)
    M = outputs
    E = correction(F)
    zeta = directions(outputs, classes)
    h = float(closed_forms.h_star(steps, float(M), eta_Y))
    Y = F @ (np.eye(classes) - E) @ ((M - 1) * h * zeta).T
    R = np.eye(M)[:, :classes] - softmax(Y.T @ F)
    found = np.linalg.lstsq(F, Y @ R, rcond=None)[0].T
    gamma = (M - 1) ** 2 * h / (M - 1 + np.exp(M * h))
    q_1 = M / (M - 1)
    q_0 = -M / (M - 1) ** 2
    others = 1 - np.diag(E)[None, :] - (E.sum(axis=1)[None, :] - np.diag(E)[None, :] - E.T)
    off = 1 - np.eye(classes)
    beta = q_1 * E - q_0 * others
    printed = q_1 * E + q_0 * others
    dims = ("class", "other")
    values = {"beta": -found / gamma, "corrected": beta, "printed": printed}
    values |= {"remainder": -found / gamma - E, "overlap": F.T @ F}
    coords = {"outputs": M, "class": np.arange(classes), "other": np.arange(classes)}
    return xr.Dataset({k: (dims, np.where(off, v, np.nan)) for k, v in values.items()}, coords)


def true_coefficients(
    tokens: int, classes: int, outputs: int, eta_Y: float, steps: int
) -> xr.Dataset:
    r"""The true decoder gradient on a fixed F: Y itself, and $F S$ with $S$ the accumulated
    residuals.

    Coefficients of $g_n$ on F by least squares, and $a_{nn'} = S_{n'} \cdot r_n$.
    """
    F = overlapping(tokens, classes, 0.5)
    Y = np.zeros((tokens, outputs))
    S = np.zeros((classes, outputs))
    targets = np.eye(outputs)[:, :classes]
    for _ in range(steps):
        R = (targets - softmax(Y.T @ F)).T
        S = S + eta_Y / classes * R
        Y = Y + eta_Y / classes * F @ R
    R = (targets - softmax(Y.T @ F)).T
    found = np.linalg.lstsq(F, Y @ R.T, rcond=None)[0].T
    dims = ("class", "other")
    return xr.Dataset({"found": (dims, found), "forecast": (dims, R @ S.T)})


def held_flow(classes: int, outputs: int, rho: float, last: float) -> xr.Dataset:
    r"""True decoder flow on held attention with all overlaps $\rho$: leads of the right logit over
    time $\eta_Y t / K$.

    By symmetry the accumulated residuals are three numbers: own label, another label, an output
    that is no label."""
    K = classes
    M = outputs

    def leads(S):
        own, other, rest = S
        a = own + (K - 1) * rho * other
        b = other + rho * (own + (K - 2) * other)
        o = rest * (1 + (K - 1) * rho)
        return a - b, a - o

    def velocity(_, S):
        over_label, over_rest = leads(S)
        label = np.exp(-over_label)
        rest = np.exp(-over_rest)
        total = 1 + (K - 1) * label + (M - K) * rest
        return np.array([(total - 1) / total, -label / total, -rest / total])

    clock = np.unique(np.geomspace(0.1, last, 31).round(10))
    found = solve_ivp(velocity, (0, last), np.zeros(3), "LSODA", clock, rtol=1e-11, atol=1e-13)
    over_label, over_rest = leads(found.y)
    rates = {"slowed": 1 - rho, "full": 1.0}
    values = {
        name: np.asarray(closed_forms.Mh(clock, float(M), rate)) for name, rate in rates.items()
    }
    values |= {"over_label": over_label, "over_rest": over_rest}
    coords = {"clock": clock, "classes": K, "outputs": M}
    return xr.Dataset({k: ("clock", v) for k, v in values.items()}, coords)
