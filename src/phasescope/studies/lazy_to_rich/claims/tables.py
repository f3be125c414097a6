"""Evidence without a run: what theory computes directly, for the claims about formulas."""

from __future__ import annotations

import functools

import jax
import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.special import softmax as scipy_softmax

from ..closed_forms import overshoot_bound, pull, spectrum
from ..kernels.tabulated import curves
from ..model import four_gram
from ..spec import default

SEED = 0
KERNEL_SEQUENCES = 1_000_000
FOUR_GRAM_SEQUENCES = 200_000
C_STAR = default.c_star
STRENGTH = 0.15  # c, at which the simplified model is sampled
SIZES = (38, 100, 200, 400, 800, 1600)  # numbers of keys


def hermite(strengths: tuple[float, ...]) -> xr.Dataset:
    """E exp(a X Y) Z^2 by the trapezoidal rule, and the formula of Lemma 7."""
    x = np.linspace(-45.0, 45.0, 721)
    area = (x[1] - x[0]) ** 2

    def integral(a: float) -> float:
        density = np.exp(a * np.outer(x, x) - 0.5 * (x[:, None] ** 2 + x**2))
        return density.sum() * area / (2 * np.pi)

    found = [integral(a) for a in strengths]
    formula = (1 - np.array(strengths) ** 2) ** -0.5
    return xr.Dataset({"integral": ("a", found), "formula": ("a", formula)}, {"a": list(strengths)})


def rearranged() -> xr.Dataset:
    """Both sides of Lemma 10 for f(x) = x, x = (1, 1), y = (2, 0), with two sets of weights.

    The sums of x and y are equal, and y majorises x.
    """
    x = np.array([1.0, 1.0])
    y = np.array([2.0, 0.0])
    weights = np.array([[0.5, 0.5], [0.0, 1.0]])
    sides = {"below": weights @ x, "above": weights @ y, "first_weight": weights[:, 0]}
    return xr.Dataset({name: ("weights", side) for name, side in sides.items()})


def halves() -> xr.Dataset:
    """C(x) = x (1 - x^2)^(-3/2) at a, b and a + b < 1."""
    C = lambda x: x * (1 - x**2) ** -1.5
    a = np.linspace(0.01, 0.98, 98)
    whole = a[:, None] + a
    inside = whole < 0.995
    safe = np.where(inside, whole, 0.0)
    excess = np.where(inside, C(safe) - C(a)[:, None] - C(a), np.nan)
    return xr.Dataset({"excess": (("a", "b"), excess)}, {"a": a, "b": a})


def simplified_model(length: int) -> xr.Dataset:
    """N F(c, c*) of the model with exp / N for the softmax: by sampling, and by (10)."""
    N = length - 2
    c = STRENGTH
    generator = np.random.default_rng(SEED)
    total = 0.0
    squares = 0.0
    for _ in range(20):
        x = generator.standard_normal((KERNEL_SEQUENCES // 20, N + 2))
        scores = x[:, -1:] * x[:, :N]
        heads = [
            (np.exp(strength * scores) * x[:, 1 : N + 1]).sum(1) / N for strength in (c, C_STAR)
        ]
        product = N * heads[0] * heads[1]
        total += product.sum()
        squares += (product**2).sum()
    mean = total / KERNEL_SEQUENCES
    error = np.sqrt((squares / KERNEL_SEQUENCES - mean**2) / KERNEL_SEQUENCES)
    return xr.Dataset(
        {
            "sampled": mean,
            "deviation": error,
            "printed": N * float(curves("exponential", (c,), length=length).kernel_X[0]),
        }
    )


def against_softmax(sizes: tuple[int, ...]) -> xr.Dataset:
    """N F(c*, c*) and the slope of N X at 0 for the softmax with N keys, by (10), and in the limit of many keys."""
    kernels = {"": "exact", "printed_": "exponential", "limit_": "mean_field"}
    columns = {}
    for prefix, kernel in kernels.items():
        at_zero = [N * curves(kernel, (0.0,), length=N + 2).isel(c=0) for N in sizes]
        columns[prefix + "S"] = [row.top for row in at_zero]
        columns[prefix + "X"] = [row.kernel_X for row in at_zero]
        columns[prefix + "slope"] = [row.slope_X for row in at_zero]
        columns[prefix + "level"] = [_level(row) for row in at_zero]
    data = {name: ("N", [float(value) for value in column]) for name, column in columns.items()}
    return xr.Dataset(data, {"N": list(sizes)})


def _level(at_zero: xr.Dataset) -> xr.DataArray:
    """The plateau's loss in units of h*^2 / (2 N)."""
    return at_zero.top - at_zero.kernel_X**2 / at_zero.kernel_S


def fixed_points(side: str) -> xr.Dataset:
    """Where the flow of (w, h) stands still, for the true model at Figure 1: zeros of dw/dt on the line dh/dt = 0.

    `side` is "all" for every w, "positive" for w > 0. `growth` is the largest eigenvalue of the linear flow there.
    """
    top = 1.1 * default.w_star
    lowest = -top if side == "all" else 1e-3
    w = np.linspace(lowest, top, 400)
    moves = pull("exact_flow", default, *w)
    turns = np.flatnonzero(np.sign(moves[1:]) != np.sign(moves[:-1]))

    def move(w: float) -> float:
        return float(pull("exact_flow", default, w)[0])

    zeros = np.array([brentq(move, w[i], w[i + 1], xtol=1e-14) for i in turns])
    growth = np.array([spectrum("exact_flow", default, x).max() for x in zeros])
    return xr.Dataset({"w": ("zero", zeros), "growth": ("zero", growth), "count": len(zeros)})


def closed_form(length: int) -> xr.Dataset:
    """The closed form (7) on a grid of (p, g), the sum over coefficients, and one point by sampling the model itself."""
    p = np.array([0.0, 0.01, 0.3, 1.0, 4.0])
    g = np.array([0.01, 0.3, 0.6])
    target = 0.5
    with jax.enable_x64(True):
        printed = np.asarray(four_gram.loss(p[:, None], g, target, length - 2))
        weights = np.exp(-p[:, None] * np.arange(length - 2)[::-1])
        beta = weights / weights.sum(1, keepdims=True)
        sharp = np.eye(length - 2)[-1]
        direct = 0.5 * ((g[:, None] * beta[:, None] - target * sharp) ** 2).sum(-1)
    x = np.random.default_rng(SEED).standard_normal((FOUR_GRAM_SEQUENCES, length - 2))
    error = 0.5 * (x @ (0.6 * beta[2]) - target * x[:, -1]) ** 2
    return xr.Dataset(
        {
            "printed": (("p", "g"), printed),
            "direct": (("p", "g"), direct),
            "sampled": error.mean(),
            "deviation": error.std() / np.sqrt(FOUR_GRAM_SEQUENCES),
        },
        {"p": p, "g": g},
    )


def spreads(sizes: tuple[int, ...]) -> xr.Dataset:
    r"""$q(\tilde p)$ at $p = 0$ and its slope on $(0, 12]$."""
    slopes = np.geomspace(1e-4, 12.0, 600)
    values = []
    changes = []
    for N in sizes:
        spread = functools.partial(four_gram.spread, p=0.0, length=N + 2)
        with jax.enable_x64(True):
            value, change = jax.jit(jax.vmap(jax.value_and_grad(spread)))(slopes)
        values.append(np.asarray(value))
        changes.append(np.asarray(change))
    dims = ("N", "slope")
    data = {"spread": (dims, np.stack(values)), "change": (dims, np.stack(changes))}
    return xr.Dataset(data, {"N": list(sizes), "slope": slopes})


def overshoots(targets: tuple[float, ...]) -> xr.Dataset:
    """R(w*), the bound on h(T_2^h) / h* that (14) rests on."""
    w_star = xr.DataArray(list(targets), {"w_star": list(targets)}, "w_star")
    return xr.Dataset({"R": overshoot_bound(w_star)})


def simplification(targets: tuple[float, ...]) -> xr.Dataset:
    """(10) against the softmax with many keys, over the target: S(c*), the plateau's loss, and the rate of w on it."""
    forms = {"printed_": "exponential", "limit_": "mean_field"}
    columns: dict[str, list[float]] = {}
    for prefix, kernel in forms.items():
        rows = [curves(kernel, (0.0,), w_star=w).isel(c=0) for w in targets]
        columns[prefix + "S"] = [float(row.top) for row in rows]
        columns[prefix + "level"] = [float(_level(row)) for row in rows]
        columns[prefix + "rate"] = [
            float(row.slope_X * row.kernel_X / row.kernel_S) for row in rows
        ]
    data = {name: ("w_star", column) for name, column in columns.items()}
    return xr.Dataset(data, {"w_star": list(targets)})


def first_losses(kernel: str, sizes: tuple[int, ...], sigma: float) -> xr.Dataset:
    """Both losses when every scalar is sigma, over the length and alpha."""
    alpha = np.array([1.0, 3.0, 10.0, 30.0, 100.0])
    lazy = np.empty((len(sizes), alpha.size))
    rich = np.empty((len(sizes), alpha.size))
    for i, N in enumerate(sizes):
        at = curves(kernel, (sigma**2,), length=N + 2).isel(c=0)
        h_star = 1 / (1 + alpha)
        squares = h_star**2 * float(at.top) + sigma**2 * float(at.kernel_S)
        rich[i] = 0.5 * squares - sigma * h_star * float(at.kernel_X)
        with jax.enable_x64(True):
            lazy[i] = np.asarray(four_gram.loss(sigma, sigma, alpha / (1 + alpha), N))
    dims = ("length", "alpha")
    data = {"loss_g4": (dims, lazy), "loss_ih": (dims, rich)}
    return xr.Dataset(data, {"length": [float(N + 2) for N in sizes], "alpha": alpha})


def softmax_pairs(dimensions: tuple[int, ...]) -> xr.Dataset:
    """|softmax(a) - softmax(b)|_1 over |a - b|_max, for random a and b at distances from 0.001 to 10."""
    generator = np.random.default_rng(SEED)
    distances = np.geomspace(1e-3, 10.0, 9)
    ratios = np.empty((len(dimensions), distances.size, 200))
    for i, d in enumerate(dimensions):
        for j, distance in enumerate(distances):
            a = generator.standard_normal((200, d))
            move = generator.uniform(-1.0, 1.0, (200, d))
            move[:, : d // 2] = np.sign(move[:, : d // 2])
            b = a + distance * move / np.abs(move).max(1, keepdims=True)
            change = np.abs(scipy_softmax(a, axis=1) - scipy_softmax(b, axis=1)).sum(1)
            ratios[i, j] = change / np.abs(a - b).max(1)
    dims = ("d", "distance", "pair")
    return xr.Dataset({"ratio": (dims, ratios)}, {"d": list(dimensions), "distance": distances})


def softmax_norms(lengths: tuple[int, ...], first: int) -> xr.Dataset:
    """Both sides of Lemma 8: the squared norm of softmax(-p (L - 1 - s)), s from `first` to L - 1, and M(2p) / M(p)^2."""
    p = np.array([0.0, 0.01, 0.1, 0.5, 2.0])
    norms = []
    printed = []
    for length in lengths:
        s = np.arange(first, length)
        weights = scipy_softmax(-p[:, None] * (length - 1 - s), axis=1)
        norms.append((weights**2).sum(1))
        k = np.arange(length - 2)
        M = np.exp(-p[:, None] * k).sum(1)
        twice = np.exp(-2 * p[:, None] * k).sum(1)
        printed.append(twice / M**2)
    dims = ("length", "p")
    data = {"norm": (dims, np.array(norms)), "printed": (dims, np.array(printed))}
    return xr.Dataset(data, {"length": list(lengths), "p": p})
