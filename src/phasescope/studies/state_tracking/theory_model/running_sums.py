r"""The reduced model on chains of any length: the sums over clauses are kept running, so that a chain costs O(L).

For the query before answer l, with $S_g = \sum_k V(g_k)$ and $S_y$ the running sum of earlier answers' features,
$\Lambda = b + \frac1Z [e^{q_{43}} V(g_l) + e^{o_{43}} (S_g - V(g_l)) + e^{q_{44}} V(y_{l-1}) + e^{o_{44}} S_y]$.
One program serves all lengths: chains are drawn at the longest, and only the first L moves of each are looked at.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..actions import Action
from ..data import follow
from . import limits
from .feature_model import Constants, Features
from .routing_model import Routing


class Accuracy(eqx.Module):
    """Means over random chains, one for each length."""

    rollout: Float[Array, "chain_length"]  # all answers of the greedy rollout are right
    forced: Float[
        Array, "chain_length"
    ]  # probability of the right value, mean over steps, true answers fed
    last: Float[Array, "chain_length"]  # the same at the last step


def chain_logits(
    V: Features,
    routing: Routing,
    numbers: Constants,
    moves: Int[Array, "move"],
    values: Int[Array, "step"],
    own: Bool[Array, ""] | bool = False,
    length: Int[Array, ""] | int | None = None,
) -> Float[Array, "move image"]:
    """Clipped logits of every answer of one chain, of which only the first `length` moves are shown.

    The true answers are fed back, or with `own` the model's.
    """
    shown = moves.shape[0] if length is None else length
    of_g = jnp.moveaxis(V.g, -1, 0)
    of_y = jnp.moveaxis(V.y, -1, 0)
    counts = jnp.zeros(V.g.shape[-1]).at[moves].add(jnp.arange(len(moves)) < shown)
    total = V.g @ counts
    q43, o43, q44, o44 = (jnp.exp(s) for s in routing.scalars())

    def step(carry, now):
        earlier, last = carry
        ell, g, truth = now
        Z = limits.partition(*routing.scalars(), shown, ell)
        seen = q43 * of_g[g] + o43 * (total - of_g[g]) + q44 * of_y[last] + o44 * earlier
        F = numbers.logits(numbers.activation(seen / Z + numbers.bias).sum(axis=1))
        answer = jnp.where(own, jnp.argmax(F).astype(truth.dtype), truth)
        return (earlier + of_y[last], answer), F

    start = (jnp.zeros_like(total), values[0])
    return jax.lax.scan(step, start, (jnp.arange(1, len(moves) + 1), moves, values[1:]))[1]


def greedy_steps(
    F: Float[Array, "move image"], values: Int[Array, "step"], numbers: Constants, neurons: int
) -> Bool[Array, "move"]:
    """Which answers are right: the value leads all others and the classes that are no value.

    Where attention is spread thin all neurons are off and all classes tie: a tie is no answer.
    """
    right = jnp.take_along_axis(F, values[1:, None], axis=1)[:, 0]
    others = jnp.where(jnp.arange(F.shape[1]) == values[1:, None], -jnp.inf, F).max(axis=1)
    idle = numbers.logits(neurons * numbers.activation(jnp.asarray(numbers.bias)))
    return right > jnp.maximum(others, idle)


def right_probability(
    F: Float[Array, "move image"], values: Int[Array, "step"], numbers: Constants, neurons: int
) -> Float[Array, "move"]:
    """Probability of the right value among all d classes."""
    right = jnp.take_along_axis(F, values[1:, None], axis=1)[:, 0]
    return jnp.exp(right - jnp.logaddexp(logsumexp(F, axis=1), numbers.rest(F.shape[1], neurons)))


@eqx.filter_jit
def accuracies(
    key: PRNGKeyArray,
    V: Features,
    routing: Routing,
    action: Action,
    numbers: Constants,
    lengths: tuple[int, ...],
    count: int,
) -> Accuracy:
    """Over `count` random chains of each length."""
    longest = max(lengths)
    neurons = V.g.shape[1]
    for_start, for_moves = jr.split(key)
    start = jr.randint(for_start, (count,), 0, action.values)
    moves = jr.randint(for_moves, (count, longest), 0, action.actions)
    values = follow(action, start, moves)
    within = np.arange(longest) < np.array(lengths)[:, None]

    def one(moves, values, length, own):
        F = chain_logits(V, routing, numbers, moves, values, own=own, length=length)
        return greedy_steps(F, values, numbers, neurons), right_probability(
            F, values, numbers, neurons
        )

    over_chains = jax.vmap(one, in_axes=(0, 0, None, None))
    over_lengths = jax.vmap(over_chains, in_axes=(None, None, 0, None))
    both = jax.vmap(over_lengths, in_axes=(None, None, None, 0))
    right, probability = both(moves, values, jnp.array(lengths), jnp.array([True, False]))
    solved = jnp.where(within[:, None], right[0], True).all(axis=-1)
    sampled = probability[1].mean(axis=1)
    return Accuracy(
        solved.mean(axis=-1, dtype=float),
        jnp.where(within, sampled, 0.0).sum(axis=-1) / np.array(lengths),
        sampled[np.arange(len(lengths)), np.array(lengths) - 1],
    )
