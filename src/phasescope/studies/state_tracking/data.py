"""Sentences of the task: a bag of predicate clauses "x_n = g_n(x_{n-1})", then answer clauses "x_n = y_n".

Everything here works without a trainer: `data.chains(key, actions.named("S5"), variables=60, length=5, count=128)`.
A clause is five tokens: (x_n, g_n, x_{n-1}, blank, blank) or (blank, blank, blank, x_n, y_n).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

import phasescope as ps

from .actions import Action

SLOTS = 5


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Token numbers: variables first, then actions, then values, then the blank."""

    variables: int
    actions: int
    values: int

    @property
    def first_action(self) -> int:
        return self.variables

    @property
    def first_value(self) -> int:
        return self.variables + self.actions

    @property
    def blank(self) -> int:
        return self.variables + self.actions + self.values

    @property
    def size(self) -> int:
        """$d = N + n_g + n_y + 1$."""
        return self.blank + 1


class Chains(eqx.Module):
    """y_0 -> y_1 -> ... -> y_L under g_1, ..., g_L, with the variable that carries each value."""

    names: Int[Array | np.ndarray, "... step"]
    actions: Int[Array | np.ndarray, "... move"]
    values: Int[Array | np.ndarray, "... step"]

    @property
    def length(self) -> int:
        """$L$, the number of moves."""
        return self.actions.shape[-1]


def vocabulary(action: Action, variables: int) -> Vocabulary:
    """The tokens of a task."""
    return Vocabulary(variables, action.actions, action.values)


def check_length(length: int, variables: int) -> None:
    """A chain of L moves names L + 1 different variables."""
    if length < 1:
        raise ps.SpecError(f"a chain has at least one move, got length={length}.")
    if length + 1 > variables:
        raise ps.SpecError(
            f"a chain of length {length} needs {length + 1} different variables, but variables={variables}. "
            f"Take variables={length + 1} or more, or length={variables - 1} or less."
        )


def chains(key: PRNGKeyArray, action: Action, variables: int, length: int, count: int) -> Chains:
    """`count` independent chains: names without replacement, the first value and all moves uniform."""
    check_length(length, variables)
    names_key, start_key, moves_key = jr.split(key, 3)
    # The L + 1 largest of N uniform numbers stand at a uniform random choice of places, in uniform random order.
    names = jax.lax.top_k(jr.uniform(names_key, (count, variables)), length + 1)[1]
    start = jr.randint(start_key, (count,), 0, action.values)
    moves = jr.randint(moves_key, (count, length), 0, action.actions)
    return Chains(names, moves, follow(action, start, moves))


def follow(
    action: Action, start: Int[Array, "*batch"], moves: Int[Array, "*batch move"]
) -> Int[Array, "*batch step"]:
    """The values along a chain, the start among them."""
    table = jnp.asarray(action.table)

    def step(y, g):
        after = table[g, y].astype(y.dtype)
        return after, after

    _, after = jax.lax.scan(step, start, jnp.moveaxis(moves, -1, 0))
    return jnp.concatenate([start[..., None], jnp.moveaxis(after, 0, -1)], axis=-1)


def every_chain(action: Action, variables: int, length: int) -> Chains:
    """All chains of a small task, each once: the population as an exact sum."""
    check_length(length, variables)
    names = np.array(list(itertools.permutations(range(variables), length + 1)))
    starts_and_moves = _starts_and_moves(action, length)
    pairs = np.array(list(itertools.product(range(len(names)), range(len(starts_and_moves)))))
    chosen = starts_and_moves[pairs[:, 1]]
    values = [chosen[:, 0]]
    for g in chosen[:, 1:].T:
        values.append(action.table[g, values[-1]])
    return Chains(names[pairs[:, 0]], chosen[:, 1:], np.stack(values, axis=1))


def _starts_and_moves(action: Action, length: int) -> Int[np.ndarray, "case entry"]:
    counts: Iterator[range] = iter([range(action.values), *[range(action.actions)] * length])
    return np.array(list(itertools.product(*counts)))


def predicates(chain: Chains, tokens: Vocabulary) -> Int[Array, "... clause slot"]:
    """Clauses 1..L: (x_n, g_n, x_{n-1}, blank, blank)."""
    names = jnp.asarray(chain.names)
    moves = jnp.asarray(chain.actions)
    blank = jnp.full_like(moves, tokens.blank)
    return jnp.stack(
        [names[..., 1:], moves + tokens.first_action, names[..., :-1], blank, blank], axis=-1
    )


def answers(chain: Chains, tokens: Vocabulary) -> Int[Array, "... clause slot"]:
    """Clauses 0..L: (blank, blank, blank, x_n, y_n)."""
    names = jnp.asarray(chain.names)
    values = jnp.asarray(chain.values)
    blank = jnp.full_like(names, tokens.blank)
    return jnp.stack([blank, blank, blank, names, values + tokens.first_value], axis=-1)


def sentence(
    chain: Chains, tokens: Vocabulary, answered: int | None = None
) -> Int[Array, "... clause slot"]:
    """All predicates in order, then the answers 0..`answered` (by default all)."""
    last = chain.length if answered is None else answered
    if not 0 <= last <= chain.length:
        raise ps.SpecError(
            f"a chain of length {chain.length} has answers 0 to {chain.length}, asked for {answered}."
        )
    return jnp.concatenate(
        [predicates(chain, tokens), answers(chain, tokens)[..., : last + 1, :]], axis=-2
    )


def truncated(
    clauses: Int[Array, "... clause slot"], length: int, answered: int
) -> Int[Array, "... kept slot"]:
    """A full sentence of a chain of `length` moves, cut off after answer `answered`."""
    if not 0 <= answered <= length or clauses.shape[-2] < length + answered + 1:
        raise ps.SpecError(
            f"a sentence of {clauses.shape[-2]} clauses has no answer {answered} at length={length}."
        )
    return clauses[..., : length + answered + 1, :]


def permuted(
    clauses: Int[Array, "... clause slot"], order: Int[Array | np.ndarray, " predicate"]
) -> Int[Array, "... clause slot"]:
    """The sentence with its predicates in another order: place i holds predicate `order[i]`; answers stay."""
    length = len(order)
    if (
        not np.array_equal(np.sort(np.asarray(order)), np.arange(length))
        or length > clauses.shape[-2]
    ):
        raise ps.SpecError(
            f"an order of predicates is a permutation of 0..{length - 1}, got {np.asarray(order).tolist()}."
        )
    return jnp.concatenate([clauses[..., jnp.asarray(order), :], clauses[..., length:, :]], axis=-2)
