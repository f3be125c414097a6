r"""The gradient of the sampled loss by hand: one pass over the slots, all sequences at once.

With $e_s = e^{c z y_s}$, $z = x_L$, head 2 needs four sums over slots, $Z = \sum e$, $\sum e x_s$,
$\sum e y_s$, $\sum e x_s y_s$; then
$\partial_c(\sum a_sx_s) = z\,(\langle xy\rangle - \langle x\rangle\langle y\rangle)$ under the
attention. Head 1 is linear in the keys.
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
SHARE = 2048  # sequences that are evaluated together when losses are estimated


class Heads(NamedTuple):
    """What both heads and the target see of every sequence."""

    copied: Row  # sum of pi_s y_s
    copied_slope: Row  # its derivative in p
    mean: Row  # sum of a_s x_s
    mean_slope: Row  # its derivative in c
    wanted: Row  # the target's sum of b_s x_s


def heads(weights: Weights, batch: Batch, spec: Spec) -> Heads:
    """One pass over the slots s = 2..L-1."""
    N = spec.keys
    query = batch[-1].astype(float)
    keys = batch[:N]
    values = batch[1 : N + 1]
    if weights.p_tilde is None and spec.p_tilde is None:
        learnt = keys  # a sharp first layer copies them
    else:
        learnt = four_gram.layer_one(first_layer(weights, spec), spec.length) @ keys.astype(float)
    seen = np.arange(N) < (N if spec.index_range == "L-1" else N - 1)
    distance = np.arange(N)[::-1]
    pi = jnp.where(seen, jnp.exp(-weights.p * distance), 0.0)
    pi = pi / pi.sum()
    pi_slope = pi * (pi @ distance - distance)
    c = weights.w_k * weights.w_q

    def add(sums, slot):
        y, key, value, share, slope, here = slot
        y = y.astype(float)
        key = key.astype(float)
        value = value.astype(float)
        e = jnp.exp(c * (query * y))
        b = jnp.exp(spec.c_star * (query * key))
        if not seen.all():
            e = e * here
        terms = (share * y, slope * y, e, e * value, e * y, e * y * value, b, b * value)
        return tuple(map(jnp.add, sums, terms)), None

    slots = (learnt, keys, values, pi, pi_slope, seen.astype(float))
    sums, _ = jax.lax.scan(add, (jnp.zeros_like(query),) * 8, slots, unroll=UNROLL)
    copied, copied_slope, Z, of_value, of_key, of_both, target_Z, target = sums
    mean = of_value / Z
    return Heads(
        copied=copied,
        copied_slope=copied_slope,
        mean=mean,
        mean_slope=query * (of_both - of_key * mean) / Z,
        wanted=target / target_Z,
    )


def residuals(weights: Weights, seen: Heads, batch: Batch, spec: Spec) -> tuple[Row, Row]:
    """How far both outputs are from the target."""
    four = weights.g * seen.copied - spec.g_star * batch[-3]
    induction = weights.h * seen.mean - spec.h_star * seen.wanted
    return four, induction


def gradient(weights: Weights, batch: Batch, spec: Spec) -> Weights:
    """Of the loss over a batch, for a frozen first layer."""
    seen = heads(weights, batch, spec)
    four, induction = residuals(weights, seen, batch, spec)
    slope = weights.h * jnp.mean(induction * seen.mean_slope)
    return Weights(
        p=weights.g * jnp.mean(four * seen.copied_slope),
        g=jnp.mean(four * seen.copied),
        w_k=weights.w_q * slope,
        w_q=weights.w_k * slope,
        h=jnp.mean(induction * seen.mean),
    )


def losses(weights: Weights, batch: Batch, spec: Spec) -> Float[Array, "2"]:
    r"""$(\mathcal L_{G4}, \mathcal L_{IH})$ over a batch."""
    four, induction = residuals(weights, heads(weights, batch, spec), batch, spec)
    return 0.5 * jnp.stack([jnp.mean(four**2), jnp.mean(induction**2)])


def estimate(weights: Weights, key: Array, spec: Spec, sequences: int = 2**16) -> Float[Array, "2"]:
    """Both losses over a set of sequences that the key alone decides."""
    keys = jax.random.split(key, max(sequences // SHARE, 1))

    def over_a_share(key: Array) -> Float[Array, "2"]:
        return losses(weights, draw(key, spec.tokens, spec.length, min(SHARE, sequences)), spec)

    return jax.lax.map(over_a_share, keys).mean(axis=0)
