r"""The model in full: one softmax attention layer and a linear read-out, on every string of lengths 1..N.

With $x_\ell = E_\ell^{w}$ the one-hot of position and token,

$$\varphi = \mathrm{softmax}(X^\top W x_L / \lambda), \qquad T(X) = u^\top \sum_\ell x_\ell \varphi_\ell, \qquad
\mathcal L = \sum_L \alpha_L 2^{-L} \sum_{X \in \{a,b\}^L} \log(1 + e^{-y T(X)}).$$

A product with a one-hot vector is a look-up, and is written as one: the entry of $E_\ell^w$ is $2(\ell - 1) + w$.
"""

from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from jax import numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int

from . import data

Params = dict[str, Array]  # {"u": [entry], "W": [key entry, query entry]}


class Batch(NamedTuple):
    r"""Where each string looks into $u$ and $W$, its label, and its weight $\alpha_L 2^{-L}$ in the loss."""

    keys: Int[np.ndarray, "string position"]
    query: Int[np.ndarray, " string"]
    present: Bool[np.ndarray, "string position"]
    labels: Float[np.ndarray, " string"]
    weights: Float[np.ndarray, " string"]


def zeros(max_length: int) -> Params:
    """The start of every run: $u = 0$, $W = 0$, with $d = 2N$ entries."""
    return {"u": jnp.zeros(2 * max_length), "W": jnp.zeros((2 * max_length, 2 * max_length))}


def exhaustive(pivots: Int[np.ndarray, " length"], alpha: ArrayLike | None = None) -> Batch:
    """Every string of lengths 1..N, once."""
    strings = data.all_strings(len(pivots))
    weights = np.ones(len(pivots)) if alpha is None else np.asarray(alpha, dtype=float)
    keys, query, present = lookups(strings.tokens, strings.lengths)
    return Batch(
        keys=keys,
        query=query,
        present=present,
        labels=data.labels(strings, pivots),
        weights=weights[strings.lengths - 1] * 0.5**strings.lengths,
    )


def lookups(tokens: Int[np.ndarray, "string position"], lengths: Int[np.ndarray, " string"]):
    """The entries of the keys, the entry of the query, and which positions exist at all."""
    position = np.arange(tokens.shape[1])
    keys = 2 * position + tokens
    query = keys[np.arange(len(lengths)), lengths - 1]
    return keys, query, position < lengths[:, None]


def attention(params: Params, batch: Batch, lam: ArrayLike) -> Float[Array, "string position"]:
    r"""$\varphi$ of every string; 0 beyond its end."""
    scores = params["W"][batch.keys, batch.query[:, None]] / lam
    return jax.nn.softmax(jnp.where(batch.present, scores, -jnp.inf), axis=-1)


def outputs(params: Params, batch: Batch, lam: ArrayLike) -> Float[Array, " string"]:
    """$T(X)$ of every string."""
    return jnp.sum(attention(params, batch, lam) * params["u"][batch.keys], axis=-1)


def loss(params: Params, batch: Batch, lam: ArrayLike) -> Float[Array, ""]:
    r"""$\sum_L \alpha_L 2^{-L} \sum_X \log(1 + e^{-yT})$; at zero it is $N \log 2$."""
    return jnp.sum(batch.weights * jax.nn.softplus(-batch.labels * outputs(params, batch, lam)))


def attention_of(string: str, params: Params, lam: ArrayLike) -> Float[Array, " position"]:
    r"""$\varphi$ of one string written in letters, such as "abba"."""
    if not string or set(string) - {"a", "b"}:
        raise ValueError(f"a string must consist of letters a and b, got {string!r}.")
    if len(string) > len(params["u"]) // 2:
        raise ValueError(
            f"{string!r} is longer than the model's longest string, {len(params['u']) // 2}."
        )
    tokens = np.array([["ab".index(letter) for letter in string]])
    keys, query, _ = lookups(tokens, np.array([len(string)]))
    return jax.nn.softmax(params["W"][keys[0], query[0]] / lam)
