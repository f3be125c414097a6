"""The full theory model in training: Algorithms 1 and 2 over every chain, for sizes small enough to list them."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from scipy.special import perm

import phasescope as ps

from .. import data
from ..observables import DenseObserved
from ..spec import TheorySpec, end_of_stage
from . import dense, feature_model, features
from .dense import Dense

MOST_CHAINS = 100_000
NAME_SLOT = 3
VALUE_SLOT = 4
ATTENTION_STEPS = 200  # of a stage, where the spec leaves them open


def listed(spec: TheorySpec, length: int) -> data.Chains:
    """Every chain of this length, if they are few enough."""
    data.check_length(length, spec.variables)
    action = spec.action
    count = perm(spec.variables, length + 1, exact=True) * action.values * action.actions**length
    if count > MOST_CHAINS:
        raise ps.SpecError(
            f"theory_model lists every chain: {count} of length {length} with variables={spec.variables} and "
            f"group={spec.group}, more than {MOST_CHAINS}. Take fewer variables or a smaller group, or the arms features "
            "and routing."
        )
    return data.every_chain(action, spec.variables, length)


def initial(key: Array, spec: TheorySpec) -> Dense:
    """W at its starting size for the real vocabulary, Q zero."""
    return dense.start(key, spec, feature_model.scale(spec, float(spec.tokens.size)))


def constants(spec: TheorySpec) -> feature_model.Constants:
    """With the size of the real vocabulary; called inside, since a plan is also built for columns of floats."""
    return feature_model.constants(spec, float(spec.tokens.size))


def frozen(spec: TheorySpec) -> np.ndarray:
    """1 where W trains: the value slot ignores variables (Assumption B.1)."""
    mask = np.ones((len(dense.slots(spec)), 1, 1, data.SLOTS, 1))
    for index, slot in enumerate(dense.slots(spec)):
        if slot == VALUE_SLOT:
            mask[index, ..., list(dense.VARIABLE_PLACES), :] = 0.0
    return mask


def feature_stage(spec: TheorySpec, singles: data.Chains) -> ps.Stage:
    """W by gradient descent over every chain of length 1."""

    def step(model: Dense, t: Array, key: Array) -> Dense:
        slope = jax.grad(lambda W: _single_losses(W, spec, singles).sum())(model.W)
        return dataclasses.replace(
            model, W=model.W - features.step_size(spec) * frozen(spec) * slope
        )

    return ps.Stage("features", ps.iterate(step), ps.log_times(spec.feature_steps, 60))


def _single_losses(W: Array, spec: TheorySpec, singles: data.Chains) -> Float[Array, "output_slot"]:
    numbers = constants(spec)
    losses = [
        dense.single_loss(W[index], slot, singles, spec.tokens, numbers)
        for index, slot in enumerate(dense.slots(spec))
    ]
    return jnp.stack(losses)


def attention_stage(spec: TheorySpec, chain: data.Chains) -> ps.Stage:
    """Q on the value slot: both steps of T^2 (Algorithm 1), or step 2 with the answers of the last stage's model."""
    length = chain.length
    steps = (1, 2) if spec.algorithm == 1 else (2,)

    def loss(model: Dense, labelled: data.Chains) -> Float[Array, ""]:
        return jnp.stack([_value_loss(model, spec, labelled, step) for step in steps]).sum()

    def enter(key: Array, state: ps.State) -> ps.State:
        values = jnp.asarray(chain.values)
        if length > 2:
            values = values.at[:, :3].set(_own_values(state.params, spec, chain, last=2))
        labelled = data.Chains(jnp.asarray(chain.names), jnp.asarray(chain.actions), values)
        return dataclasses.replace(state, memory=labelled)

    dynamics = ps.descent(
        loss,
        optax.sgd(spec.attention_eta * spec.variables),
        sample=lambda key, memory: memory,
        where=lambda model: (model.Q43, model.Q44),
    )
    times = ps.log_times(ATTENTION_STEPS if spec.steps is None else spec.steps, 40)
    return ps.Stage(f"length {length}", dynamics, times, enter, **_ending(spec, length))


def _ending(spec: TheorySpec, length: int) -> dict[str, Any]:
    """Algorithm 2 ends its first stage at loss d^-E_1; later ones take all their steps, since
    records hold the loss at length 2 only."""
    if spec.algorithm == 1 or length > 2:
        return {}
    return {
        "until": lambda seen: (
            jnp.log(seen.pair_loss[1]) < -end_of_stage(spec) * jnp.log(spec.tokens.size)
        )
    }


def _value_loss(model: Dense, spec: TheorySpec, chain: data.Chains, step: int) -> Float[Array, ""]:
    return dense.answer_loss(
        model=model,
        index=dense.slots(spec).index(VALUE_SLOT),
        slot=VALUE_SLOT,
        chain=chain,
        tokens=spec.tokens,
        numbers=constants(spec),
        step=step,
    )


def _own_values(model: Dense, spec: TheorySpec, chain: data.Chains, last: int) -> Array:
    return dense.greedy_values(
        model=model,
        index=dense.slots(spec).index(VALUE_SLOT),
        chain=chain,
        tokens=spec.tokens,
        numbers=constants(spec),
        last=last,
    )


def measure(model: Dense, spec: TheorySpec, singles: data.Chains) -> DenseObserved:
    """All that is recorded; what belongs to a slot that is not trained is left out."""
    chosen = dense.slots(spec)
    found: dict[str, Array] = {}
    if NAME_SLOT in chosen:
        found |= _copying(model, spec)
    if VALUE_SLOT in chosen:
        pairs = listed(spec, 2)
        found["pair_loss"] = jnp.stack([_value_loss(model, spec, pairs, step) for step in (1, 2)])
        found |= _blocks(model)
    return DenseObserved(slot_loss=_single_losses(model.W, spec, singles), **found)


def _copying(model: Dense, spec: TheorySpec) -> dict[str, Array]:
    W = model.W[dense.slots(spec).index(NAME_SLOT)]
    copy_sum, copy_best, strongest, off_variable = dense.copying(
        W, spec.tokens, constants(spec).bias
    )
    return {
        "copy_sum": copy_sum,
        "copy_best": copy_best,
        "strongest": strongest,
        "off_variable": off_variable,
    }


def _blocks(model: Dense) -> dict[str, Array]:
    blocks = jnp.stack([model.Q43, model.Q44])
    N = blocks.shape[-1]
    on = np.eye(N, dtype=bool)
    diagonal = jnp.trace(blocks, axis1=1, axis2=2) / N
    off = (blocks.sum(axis=(1, 2)) - N * diagonal) / (N * (N - 1))
    departure = jnp.abs(blocks - jnp.where(on, diagonal[:, None, None], off[:, None, None]))
    return {"diagonal": diagonal, "off_diagonal": off, "spread": departure.max(axis=(1, 2))}
