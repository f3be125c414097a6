"""Evidence without a run: what theory computes directly, for the claims about formulas."""

from __future__ import annotations

import jax
import numpy as np
import xarray as xr
from scipy.optimize import brentq

from ..closed_forms import pull, spectrum, tipping_weight
from ..kernels.tabulated import curves
from ..model import four_gram
from ..spec import default

SEED = 0
KERNEL_SEQUENCES = 1_000_000
FOUR_GRAM_SEQUENCES = 200_000
C_STAR = default.c_star


def hermite(strengths: tuple[float, ...]) -> xr.Dataset:
    """E exp(a X Y) Z^2 by the trapezoidal rule, and the formula of Lemma 7."""
    x = np.linspace(-45.0, 45.0, 721)
    density = lambda a: np.exp(a * np.outer(x, x) - 0.5 * (x[:, None] ** 2 + x**2))
    found = [density(a).sum() * (x[1] - x[0]) ** 2 / (2 * np.pi) for a in strengths]
    formula = (1 - np.array(strengths) ** 2) ** -0.5
    return xr.Dataset({"integral": ("a", found), "formula": ("a", formula)}, {"a": list(strengths)})


def rearranged() -> xr.Dataset:
    """Both sides of Lemma 10 for f(x) = x, x = (1, 1), y = (2, 0): equal sums, x majorised by y; two sets of weights."""
    x, y, weights = np.array([1.0, 1.0]), np.array([2.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]])
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
    N, c = length - 2, 0.15
    generator, total, squares = np.random.default_rng(SEED), 0.0, 0.0
    for _ in range(20):
        x = generator.standard_normal((KERNEL_SEQUENCES // 20, N + 2))
        scores = x[:, -1:] * x[:, :N]
        heads = [(np.exp(strength * scores) * x[:, 1 : N + 1]).sum(1) / N for strength in (c, C_STAR)]
        product = N * heads[0] * heads[1]
        total, squares = total + product.sum(), squares + (product**2).sum()
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
    at = lambda kernel, N: N * curves(kernel, (0.0,), length=N + 2).isel(c=0)
    who = {"": "exact", "printed_": "exponential", "limit_": "mean_field"}
    rows = [{name: at(kernel, N) for name, kernel in who.items()} for N in sizes]
    column = lambda name, of: ("N", [float(of(row[name])) for row in rows])
    parts = {"S": lambda k: k.top, "X": lambda k: k.kernel_X, "slope": lambda k: k.slope_X, "level": _level}
    data = {name + what: column(name, of) for name in who for what, of in parts.items()}
    return xr.Dataset(data, {"N": list(sizes)})


def _level(at_zero: xr.Dataset) -> xr.DataArray:
    """The plateau's loss in units of h*^2 / (2 N)."""
    return at_zero.top - at_zero.kernel_X**2 / at_zero.kernel_S


def fixed_points(side: str) -> xr.Dataset:
    """Where the flow of (w, h) stands still, for the true model at Figure 1: zeros of dw/dt on the line dh/dt = 0.

    `side` is "all" for every w, "positive" for w > 0. `growth` is the largest eigenvalue of the linear flow there.
    """
    top = 1.1 * default.w_star
    w = np.linspace(-top if side == "all" else 1e-3, top, 400)
    moves = pull("exact_flow", default, *w)
    turns = np.flatnonzero(np.sign(moves[1:]) != np.sign(moves[:-1]))
    move = lambda x: float(pull("exact_flow", default, x)[0])
    zeros = np.array([brentq(move, w[i], w[i + 1], xtol=1e-14) for i in turns])
    growth = np.array([spectrum("exact_flow", default, x).max() for x in zeros])
    return xr.Dataset({"w": ("zero", zeros), "growth": ("zero", growth), "count": len(zeros)})


def closed_form(length: int) -> xr.Dataset:
    """The closed form (7) on a grid of (p, g), the sum over coefficients, and one point by sampling the model itself."""
    p, g, target = np.array([0.0, 0.01, 0.3, 1.0, 4.0]), np.array([0.01, 0.3, 0.6]), 0.5
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
    with jax.enable_x64(True):
        q = lambda N: lambda x: four_gram.spread(x, 0.0, N + 2)
        both = [jax.jit(jax.vmap(jax.value_and_grad(q(N))))(slopes) for N in sizes]
    stack = lambda i: (("N", "slope"), np.stack([np.asarray(found[i]) for found in both]))
    return xr.Dataset({"spread": stack(0), "change": stack(1)}, {"N": list(sizes), "slope": slopes})


def overshoots(targets: tuple[float, ...]) -> xr.Dataset:
    """R(w*), the bound on h(T_2^h) / h* that (14) rests on."""
    w_star = xr.DataArray(list(targets), {"w_star": list(targets)}, "w_star")
    w, c = tipping_weight(w_star), w_star**2
    return xr.Dataset({"R": np.sqrt((1 - 4 * w**4) / (1 - (w**2 + c) ** 2))})
