r"""The gradient of the sampled loss by hand: one pass over the slots, all sequences of a batch side by side.

With $e_s = e^{c z y_s}$, $z = x_L$, head 2 needs four sums over slots, $Z = \sum e$, $\sum e x_s$, $\sum e y_s$,
$\sum e x_s y_s$; then $\partial_c(\sum a_sx_s) = z\,(\langle xy\rangle - \langle x\rangle\langle y\rangle)$ under the attention.
Head 1 is linear in the keys.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data import draw
from ..spec import Spec
from . import four_gram
from .definition import Weights, first_layer

Batch = Float[Array, "position sequence"]
Row = Float[Array, "sequence"]
UNROLL = 8  # slots in one turn of the loop
SHARE = 2048  # sequences that are looked at together when losses are estimated


class Heads(NamedTuple):
    """What both heads and the target see of every sequence."""

    copied: Row  # sum of pi_s y_s
    copied_slope: Row  # its derivative in p
    mean: Row  # sum of a_s x_s
    mean_slope: Row  # its derivative in c
    wanted: Row  # the target's sum of b_s x_s


def heads(weights: Weights, batch: Batch, spec: Spec) -> Heads:
    """One pass over the slots s = 2..L-1."""
    N, x = spec.keys, batch
    query, keys, values = x[-1].astype(float), x[:N], x[1 : N + 1]
    sharp = weights.p_tilde is None and spec.p_tilde is None
    learnt = keys if sharp else four_gram.layer_one(first_layer(weights, spec), spec.length) @ keys.astype(float)
    seen = np.arange(N) < (N if spec.index_range == "L-1" else N - 1)
    distance = np.arange(N)[::-1]
    pi = jnp.where(seen, jnp.exp(-weights.p * distance), 0.0)
    pi = pi / pi.sum()
    pi_slope = pi * (pi @ distance - distance)
    c, c_star = weights.w_k * weights.w_q, spec.c_star

    def add(sums, slot):
        y, key, value, share, slope, here = slot
        y, key, value = y.astype(float), key.astype(float), value.astype(float)
        e, b = jnp.exp(c * (query * y)), jnp.exp(c_star * (query * key))
        if not seen.all():
            e = e * here
        terms = (share * y, slope * y, e, e * value, e * y, e * y * value, b, b * value)
        return tuple(map(jnp.add, sums, terms)), None

    slots = (learnt, keys, values, pi, pi_slope, seen.astype(float))
    sums, _ = jax.lax.scan(add, (jnp.zeros_like(query),) * 8, slots, unroll=UNROLL)
    copied, copied_slope, Z, of_value, of_key, of_both, target_Z, target = sums
    mean = of_value / Z
    return Heads(copied, copied_slope, mean, query * (of_both - of_key * mean) / Z, target / target_Z)


def residuals(weights: Weights, seen: Heads, batch: Batch, spec: Spec) -> tuple[Row, Row]:
    """How far both outputs are from the target."""
    return weights.g * seen.copied - spec.g_star * batch[-3], weights.h * seen.mean - spec.h_star * seen.wanted


def gradient(weights: Weights, batch: Batch, spec: Spec) -> Weights:
    """Of the loss over a batch, for a frozen first layer."""
    seen = heads(weights, batch, spec)
    four, induction = residuals(weights, seen, batch, spec)
    slope = weights.h * jnp.mean(induction * seen.mean_slope)
    return Weights(
        p=weights.g * jnp.mean(four * seen.copied_slope), g=jnp.mean(four * seen.copied),
        w_k=weights.w_q * slope, w_q=weights.w_k * slope, h=jnp.mean(induction * seen.mean),
    )  # fmt: skip


def losses(weights: Weights, batch: Batch, spec: Spec) -> Float[Array, "2"]:
    r"""$(\mathcal L_{G4}, \mathcal L_{IH})$ over a batch."""
    four, induction = residuals(weights, heads(weights, batch, spec), batch, spec)
    return 0.5 * jnp.stack([jnp.mean(four**2), jnp.mean(induction**2)])


def estimate(weights: Weights, key: Array, spec: Spec, sequences: int = 2**16) -> Float[Array, "2"]:
    """Both losses over a set of sequences that the key alone decides."""
    keys = jax.random.split(key, max(sequences // SHARE, 1))
    one = lambda key: losses(weights, draw(key, spec.tokens, spec.length, min(SHARE, sequences)), spec)
    return jax.lax.map(one, keys).mean(axis=0)
