"""Kernels of the true softmax model, tabulated once for each target and number of keys.

S and X are interpolated by Chebyshev polynomials on [0, 1.25 c*]; the program then evaluates
polynomials. Tables are made on the host and kept, so that a further run with the same target and
length costs nothing; the program receives them as numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.typing import ArrayLike
from jaxtyping import Array, Float
from numpy.polynomial import chebyshev

import phasescope as ps

from . import analytic, quadrature
from .analytic import Kernels

NODES = 32
REACH = 1.25  # the table ends at this multiple of c*
LARGEST_W = 1.5  # up to here the error of a table is known to be below ACCURACY
ACCURACY = 1e-8  # relative; 1e-12 for w* up to 0.7


class Table(NamedTuple):
    """Chebyshev coefficients of S, X, S' and X' (times nothing: the kernels themselves), and S(c*)."""

    coefficients: Float[Array | np.ndarray, "4 node"]
    top: Float[Array | np.ndarray, ""]
    end: Float[Array | np.ndarray, ""]


def evaluate(table: Table, c: ArrayLike) -> Kernels:
    """The kernels at one c; nan outside the table."""
    x = 2 * jnp.asarray(c) / table.end - 1
    inside = jnp.abs(x) <= 1
    angle = jnp.arccos(jnp.where(inside, x, 0.0))
    values = table.coefficients @ jnp.cos(np.arange(NODES) * angle)
    S, X, dS, dX = (jnp.where(inside, value, jnp.nan) for value in values)
    return Kernels(S=S, X=X, dS=dS, dX=dX, top=jnp.asarray(table.top))


def table_for(w_star: float, keys: float, tokens: str) -> Table:
    """The table for a plan; all nan where `tabulate` would raise."""
    try:
        return tabulate(float(w_star), round(float(keys)), tokens)
    except ps.SpecError:
        unknown = np.asarray(np.nan)
        return Table(np.full((4, NODES), np.nan), unknown, unknown)


@functools.lru_cache(maxsize=1024)
def tabulate(w_star: float, keys: int, tokens: str) -> Table:
    """The table on the host."""
    if not 0 < w_star <= LARGEST_W:
        raise ps.SpecError(
            f"the exact kernels are known to {ACCURACY:g} up to w_star={LARGEST_W:g}, "
            f"got w_star={w_star:g}: use mean_field_flow."
        )
    c_star = w_star**2
    F = _exact_kernel(keys, tokens)
    end = REACH * c_star
    node = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    values = np.array([[F(c, c), F(c, c_star)] for c in (1 + node) * end / 2])
    both = chebyshev.chebfit(node, values, NODES - 1)
    slopes = np.zeros_like(both)
    slopes[:-1] = chebyshev.chebder(both) * 2 / end
    error = abs(both[-2:]).max() / abs(values).min()
    if tokens == "gaussian":
        finer = quadrature.Grid(1.3, 1.3, 1.3, 1.3)
        check = [
            quadrature.kernel(c, c_star, keys, grid=finer) / F(c, c_star) - 1 for c in (0.0, end)
        ]
        error = max(error, *np.abs(check))
    if not error < ACCURACY:
        raise ps.SpecError(
            f"the exact kernels at w_star={w_star:g}, {keys} keys are known to {error:.1g} only: use mean_field_flow."
        )
    return Table(np.concatenate([both.T, slopes.T]), np.asarray(F(c_star, c_star)), np.asarray(end))


def curves(
    kernel: str,
    c: tuple[float, ...],
    w_star: float = 0.49,
    length: int = 40,
    tokens: str = "gaussian",
) -> xr.Dataset:
    """`kernel_S`, `kernel_X` and their derivatives over `c`; kernel is exact, mean_field or exponential."""
    bound = {"mean_field": 2, "exponential": 4}.get(kernel, 0) if tokens == "gaussian" else 0
    if not bound * w_star**4 < 1:
        raise ps.SpecError(
            f'the kernel "{kernel}" needs {bound} w_star^4 below 1, got w_star={w_star:g}: use "exact".'
        )
    grid = np.asarray(c, float)
    with jax.enable_x64(True):
        found = _kernels_on(grid, kernel, w_star, length - 2, tokens)
        columns = {
            "kernel_S": found.S,
            "kernel_X": found.X,
            "slope_S": found.dS,
            "slope_X": found.dX,
        }
        data = {name: ("c", np.asarray(value)) for name, value in columns.items()}
        return xr.Dataset(data | {"top": float(np.max(found.top))}, coords={"c": grid})


def _kernels_on(grid: np.ndarray, kernel: str, w_star: float, keys: int, tokens: str) -> Kernels:
    if kernel == "exact":
        table = tabulate(w_star, keys, tokens)
        return jax.vmap(functools.partial(evaluate, table))(jnp.asarray(grid))
    forms = {
        ("mean_field", "gaussian"): analytic.mean_field,
        ("mean_field", "boolean"): analytic.boolean_mean_field,
        ("exponential", "gaussian"): analytic.exponential,
    }
    if (kernel, tokens) not in forms:
        raise ps.SpecError(
            f'there is no kernel "{kernel}" for {tokens} tokens: exact, mean_field or exponential.'
        )
    return forms[kernel, tokens](grid, w_star**2, keys)


def _exact_kernel(keys: int, tokens: str) -> Callable[[float, float], float]:
    """$F(c, c')$ of the true model."""
    if tokens == "boolean":
        return functools.partial(analytic.boolean, keys=keys)
    return functools.partial(quadrature.kernel, keys=keys)
