"""Training on data that no Spec describes: random mixtures, tokens shared by some classes, a
residual connection."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from ... import model
from ...data import Mixture, mixture


def trained(
    P: Float[Array, "class token"], data: Mixture, rates: tuple[float, float], steps: int
) -> Array:
    """Z after some steps of population gradient ascent from zero."""
    data = data._replace(P=P)
    start = model.zeros(P.shape[1], int(data.last.max()) + 1, len(data.last))

    def step(_, weights):
        slope = model.gradient(weights, data)[0]
        return model.Weights(weights.Y + rates[0] * slope.Y, weights.Z + rates[1] * slope.Z)

    return jax.lax.fori_loop(0, steps, step, start).Z


def random_profiles(
    sets: int, classes: int, common: int, distinct: int, shape: float | None
) -> np.ndarray:
    """Weights of common and distinct tokens, different in every class; `shape` is that of the
    common ones' Gamma law.

    With `shape=None` all classes of a set have one common weight, the same for all common tokens.
    """
    generator = np.random.default_rng(0)
    own = np.kron(np.eye(classes), np.ones((1, distinct)))
    P = np.zeros((sets, classes, common + classes * distinct))
    P[:, :, common:] = own * generator.gamma(1.0, size=(sets, 1, classes * distinct))
    if shape is None:
        P[:, :, :common] = generator.gamma(1.0, size=(sets, 1, 1))
    else:
        P[:, :, :common] = generator.gamma(shape, size=(sets, classes, common))
    return P / P.sum(axis=2, keepdims=True)


def random_mixtures(
    sets: int,
    classes: int,
    common: int,
    distinct: int,
    shape: float | None,
    eta_Z: float,
    steps: int,
) -> xr.Dataset:
    """Attention logits after training on random mixtures, each class with a last token of its
    own."""
    P = random_profiles(sets, classes, common, distinct, shape)
    data = mixture(P[0], np.arange(classes))
    train = partial(trained, data=data, rates=(1.0, eta_Z), steps=steps)
    Z = np.asarray(jax.jit(jax.vmap(train))(P))
    own = np.stack(
        [Z[:, n, common + n * distinct : common + (n + 1) * distinct] for n in range(classes)],
        axis=1,
    )
    values = {
        "z_dt": (("set", "class", "distinct_token"), own),
        "z_ct": (("set", "class", "common_token"), Z[:, :, :common]),
    }
    return xr.Dataset(values, {"set": np.arange(sets)})


# Four classes, two for each query: 0 and 1 with query 0, 2 and 3 with query 1.
GROUPS = np.array([0, 0, 1, 1])
KINDS = {"distinct": range(4), "cross_group": (4, 5), "group_local": (6, 7), "everywhere": (8,)}


def grouped() -> np.ndarray:
    """Each class has a distinct token. Tokens 4 and 5 occur in one class of each group, 6 and 7
    in both classes of one group, 8 everywhere."""
    P = np.zeros((4, 9))
    P[range(4), range(4)] = 1.0
    P[[0, 2], 4] = 1.0
    P[[1, 3], 5] = 1.0
    P[[0, 1], 6] = 1.0
    P[[2, 3], 7] = 1.0
    P[:, 8] = 1.0
    return P / P.sum(axis=1, keepdims=True)


def likelihood(weights: model.Weights, data: Mixture, residual: bool) -> Array:
    """Mean log-likelihood; with `residual`, the query's own token is added to the normalised
    attention and the sum is normalised again."""
    f = model.unit(jnp.asarray(data.P), weights.Z[data.last])
    queries = int(data.last.max()) + 1
    if residual:
        query = jnp.asarray(model.rows(data.last, queries).T)
        f = jnp.concatenate([f, query], axis=1) / jnp.sqrt(2.0)
    else:
        f = jnp.concatenate([f, jnp.zeros((len(f), queries))], axis=1)
    many = model.copies(len(data.last), weights.Y.shape[1], data.outputs)
    return -model.read_out(f @ weights.Y, np.arange(len(data.last)), many).loss.mean()


def residual_connection(eta_Y: float, eta_Z: float, steps: int) -> xr.Dataset:
    """Attention logits by kind of token, without and with the residual connection, over the
    queries that see it."""
    data = mixture(grouped(), GROUPS)
    found = []
    copies = np.asarray(model.copies(4, 5, data.outputs))
    start = model.Weights(jnp.zeros((9 + 2, 5)), jnp.zeros((2, 9)))
    for residual in (False, True):
        slope = jax.grad(partial(likelihood, data=data, residual=residual))

        def step(_, weights, slope=slope):
            # The last column of Y stands for many outputs, each with its share of the slope.
            g = slope(weights)
            return model.Weights(weights.Y + eta_Y * g.Y / copies, weights.Z + eta_Z * g.Z)

        found.append(np.asarray(jax.lax.fori_loop(0, steps, step, start).Z))
    seen = np.stack([grouped()[m == GROUPS].sum(axis=0) > 0 for m in (0, 1)])
    Z = np.where(seen, np.stack(found), np.nan)
    values = {
        name: ("residual", np.nanmean(Z[:, :, list(tokens)], axis=(1, 2)))
        for name, tokens in KINDS.items()
    }
    return xr.Dataset(values, {"residual": [0, 1]})


def prior(gap: float, eta: float, steps: int) -> xr.Dataset:
    """Two distinct tokens of equal frequency, one with a head start in its logit: the gap over
    time."""
    P = np.zeros((2, 6))
    P[0, [0, 1]] = 1.0
    P[1, [2, 3]] = 1.0
    P[:, 4:] = 1.0
    data = mixture(P / P.sum(axis=1, keepdims=True), [0, 1])
    start = model.zeros(6, 2, 2)
    start = start._replace(Z=start.Z.at[0, 1].set(gap))

    def step(weights, _):
        slope = model.gradient(weights, data)[0]
        return model.Weights(*(w + eta * g for w, g in zip(weights, slope, strict=True))), weights.Z

    Z = np.asarray(jax.lax.scan(step, start, length=steps + 1)[1])
    values = {
        "gap": ("time", Z[:, 0, 1] - Z[:, 0, 0]),
        "ahead": ("time", Z[:, 0, 1]),
        "behind": ("time", Z[:, 0, 0]),
    }
    return xr.Dataset(values, {"time": np.arange(steps + 1)})
