"""Tables that claims are judged on: numbers that need no run."""

from __future__ import annotations

import jax
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree

import phasescope as ps

from .. import closed_forms, data, model


def softmax_table(lam: tuple[float, ...], samples: int) -> xr.Dataset:
    """Random pairs of scores of 2 keys, which come closest to the bound, and of 16, near and far, for each scale."""
    keys = (2, 16)
    ratios = [
        [closed_forms.softmax_lipschitz_ratios(samples, n, scale, seed=7) for n in keys]
        for scale in lam
    ]
    values = {"ratio": (("lam", "count", "sample"), np.array(ratios))}
    return xr.Dataset(values, {"lam": list(lam), "count": list(keys), "sample": np.arange(samples)})


def slope_table(samples: int) -> xr.Dataset:
    """Random pairs of arguments of the sigmoid, near and far."""
    ratios = closed_forms.sigmoid_lipschitz_ratios(samples, seed=7)
    return xr.Dataset({"ratio": ("sample", ratios)}, {"sample": np.arange(samples)})


def sigmoid_table(points: int) -> xr.Dataset:
    """The remainder of the sigmoid's expansion over six decades on both sides of 0."""
    x = np.geomspace(1e-2, 1e3, points)
    x = np.concatenate([-x[::-1], x])
    return xr.Dataset({"ratio": ("x", closed_forms.sigmoid_remainders(x))}, {"x": x})


def saddle(base_length: int, lam: float) -> xr.Dataset:
    """The growth rate at zero, from the linearisation and from the Hessian of the full model."""
    pivots = data.parity_pivots(base_length)
    alpha = data.length_weights(len(pivots), base_length)
    with ps.exact_numbers():
        batch = model.exhaustive(pivots, alpha)
        flat, restore = ravel_pytree(model.zeros(len(pivots)))
        hessian = jax.hessian(lambda x: model.loss(restore(x), batch, lam))(flat)
        lowest = float(np.linalg.eigvalsh(np.asarray(hessian))[0])
    growth = closed_forms.growth_rate(pivots, alpha, lam, 1 / lam)
    return xr.Dataset({"growth": growth, "lowest": lowest})
