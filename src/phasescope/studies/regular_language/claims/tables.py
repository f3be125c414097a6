"""Tables that claims are judged on: numbers that need no run."""

from __future__ import annotations

import jax
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree

import phasescope as ps

from .. import closed_forms, data, model


def softmax_table(lam: tuple[float, ...], samples: int) -> xr.Dataset:
    """Random pairs of scores, near and far, for each scale."""
    ratios = [closed_forms.softmax_lipschitz_ratios(samples, 16, scale, seed=7) for scale in lam]
    values = {"ratio": (("lam", "sample"), np.stack(ratios))}
    return xr.Dataset(values, {"lam": list(lam), "sample": np.arange(samples)})


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
