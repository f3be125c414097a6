"""What is measured of a decoder in training: losses, accuracies of greedy rollouts, and attention along the chain."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

import phasescope as ps

from ..actions import named
from ..data import Chains
from ..spec import DecoderSpec
from . import attention, network, rollout
from .network import Decoder
from .sampling import training_chains

field = ps.field
TEST_SEED = 6  # of the test chains, which are the same for all runs
ATTENTION_CHAINS = 100  # that attention is averaged over
TRAINING_CHAINS = 256  # that the two losses are estimated on


class DecoderState(eqx.Module):
    """A decoder and the key of its training data: what is measured may depend on both."""

    net: Decoder
    data: PRNGKeyArray


class DecoderObserved(ps.Observables):
    """Recorded during training; `time` counts updates, `test_length` is the length of the chains that are tested.

    Attention is a mean over heads and chains, answers given.
    """

    loss: Float[Array, ""] = field(symbol=r"\mathcal{L}", doc="loss on training data")
    test_loss: Float[Array, ""] = field(doc="loss on fresh chains of the training length")
    accuracy: Float[Array, "test_length"] = field(
        doc="chains with all values right, names given (mode val)"
    )
    accuracy_full: Float[Array, "test_length"] = field(
        doc="chains with all values right, own names fed back (mode full)"
    )
    step_accuracy: Float[Array, "test_length"] = field(
        doc="right next values, all earlier answers given"
    )
    attention_predicate: Float[Array, "test_length step"] = field(
        doc="weight on the predicate that holds the variable"
    )
    attention_answer: Float[Array, "test_length step"] = field(doc="weight of an answer on itself")


class HeatMaps(ps.Observables):
    """Measured at the end of a stage: mean weights of answers 0..L-1 on predicates 1..L, then answers 0..L-1."""

    heat: Float[Array, "head query clause"] = field(doc="at the training length")
    heat_permuted: Float[Array, "head query clause"] = field(
        doc="the same, predicates in another order"
    )
    heat_double: Float[Array, "query_double clause_double"] | None = field(
        doc="at twice the length, mean over heads"
    )
    heat_quadruple: Float[Array, "query_quadruple clause_quadruple"] | None = field(
        doc="at four times the length"
    )


def lengths_of(spec: DecoderSpec) -> tuple[int, ...]:
    """L, 2L, ..., 32L, as far as there are variables to name them."""
    return tuple(dict.fromkeys(min(spec.length * 2**k, spec.variables - 1) for k in range(6)))


@functools.cache
def chains_to_test(group: str, variables: int, length: int, count: int) -> Chains:
    """Chains that no training ever depends on, made on the host: a prefix of one is a test chain too."""
    table = named(group).table
    rng = np.random.default_rng(TEST_SEED)
    names = np.argsort(rng.random((count, variables)), axis=1)[:, : length + 1].astype(np.int32)
    moves = rng.integers(table.shape[0], size=(count, length))
    values = np.empty((count, length + 1), np.int32)
    values[:, 0] = rng.integers(table.shape[1], size=count)
    for n in range(length):
        values[:, n + 1] = table[moves[:, n], values[:, n]]
    return Chains(names, moves.astype(np.int32), values)


def first(chains: Chains, count: int, length: int) -> Chains:
    """Some of the chains, cut to a length."""
    return Chains(
        chains.names[:count, : length + 1],
        chains.actions[:count, :length],
        chains.values[:count, : length + 1],
    )


@functools.cache
def order(length: int) -> np.ndarray:
    """The fixed order in which Figure 5 writes the predicates: none stands where it was, if that can be."""
    rng = np.random.default_rng(TEST_SEED)
    for _ in range(100):
        found = rng.permutation(length)
        if (found != np.arange(length)).all():
            break
    return found


def measure(spec: DecoderSpec, state: DecoderState) -> DecoderObserved:
    """All that is recorded; every length is measured on prefixes of the same test chains."""
    net = state.net
    lengths = lengths_of(spec)
    tests = chains_to_test(spec.group, spec.variables, lengths[-1], spec.samples)
    val, full = rollout.accuracies(net, tests, lengths)
    few = first(tests, ATTENTION_CHAINS, lengths[-1])
    predicate, answer, share = attention.at_lengths(net, few, lengths)
    trained = training_chains(
        spec, spec.length, TRAINING_CHAINS, jr.fold_in(state.data, 1), state.data
    )
    both = jax.tree.map(
        lambda a, b: jnp.concatenate([a, b]), trained, first(tests, TRAINING_CHAINS, spec.length)
    )
    losses = network.losses(net, both)
    return DecoderObserved(
        loss=losses[:TRAINING_CHAINS].mean(),
        test_loss=losses[TRAINING_CHAINS:].mean(),
        accuracy=val,
        accuracy_full=full,
        step_accuracy=share,
        attention_predicate=predicate,
        attention_answer=answer,
    )


def inspect(spec: DecoderSpec, state: DecoderState) -> HeatMaps:
    """The heat maps of Figures 2, 5, 6 and 7."""
    L = spec.length
    tests = chains_to_test(spec.group, spec.variables, lengths_of(spec)[-1], spec.samples)
    short = first(tests, ATTENTION_CHAINS, L)

    def mean_over_heads(length: int) -> Float[Array, "query clause"] | None:
        if length > spec.variables - 1:
            return None
        return attention.heat(state.net, first(tests, ATTENTION_CHAINS, length)).mean(0)

    return HeatMaps(
        heat=attention.heat(state.net, short),
        heat_permuted=attention.heat(state.net, short, order(L)),
        heat_double=mean_over_heads(2 * L),
        heat_quadruple=mean_over_heads(4 * L),
    )


def coordinates(spec: DecoderSpec) -> dict[str, np.ndarray]:
    """Lengths; steps, queries and clauses count from 0 (clause n < L is predicate n + 1, clause L + n answer n)."""
    lengths = lengths_of(spec)
    return {"test_length": np.array(lengths), "step": np.arange(lengths[-1])}
