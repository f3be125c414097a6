"""The arm of the full theory model: Algorithms 1 and 2 over every chain, for sizes small enough to list them."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.special import perm

import phasescope as ps

from .. import data
from ..observables import DenseObserved
from ..spec import NEURONS, STAGES, Spec, end_of_stage
from . import dense, feature_model
from .dense import Dense

MOST_CHAINS = 100_000
VALUE_SLOT = 4


@ps.arm(reads=("group", "variables", *NEURONS, *STAGES, "slot", "eta", "steps"))
def theory_model(spec: Spec) -> ps.Plan:
    """Full W and Q by gradient descent over every chain: stage 1 on W at length 1, then Q at lengths 2, 4, ..., 2^K."""
    singles = listed(spec, 1)
    learn = ps.iterate(lambda model, t, key: _train_W(model, spec, singles))
    stages = [ps.Stage("features", learn, ps.log_times(spec.feature_steps, 60))]
    if spec.slot in (0, VALUE_SLOT + 1):
        last = spec.stages if spec.algorithm == 2 else 1
        stages += [_attention_stage(spec, listed(spec, 2**k)) for k in range(1, last + 1)]
    return ps.Plan(
        init=lambda key: ps.State(dense.start(key, spec, feature_model.scale(spec, float(spec.tokens.size)))),
        stages=tuple(stages),
        measure=lambda model: look(model, spec, singles),
        coords={
            "output_slot": np.array(dense.slots(spec)) + 1,
            "step": [1, 2],
            "place": np.arange(1, 6),
            "block": [43, 44],
        },
    )


def listed(spec: Spec, length: int) -> data.Chains:
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


def frozen(spec: Spec) -> np.ndarray:
    """1 where W trains: the value slot ignores variables (Assumption B.1)."""
    mask = np.ones((len(dense.slots(spec)), 1, 1, data.SLOTS, 1))
    for index, slot in enumerate(dense.slots(spec)):
        if slot == VALUE_SLOT:
            mask[index, ..., list(dense.VARIABLE_PLACES), :] = 0.0
    return mask


def _train_W(model: Dense, spec: Spec, chain: data.Chains) -> Dense:
    eta = 0.5 * spec.action.table.size if spec.eta is None else spec.eta
    slope = jax.grad(lambda W: _single_losses(W, spec, chain).sum())(model.W)
    return dataclasses.replace(model, W=model.W - eta * frozen(spec) * slope)


def constants(spec: Spec) -> feature_model.Constants:
    """With the size of the real vocabulary; called inside, since a plan is also built for columns of floats."""
    return feature_model.constants(spec, float(spec.tokens.size))


def _single_losses(W, spec: Spec, chain: data.Chains):
    slots, numbers = enumerate(dense.slots(spec)), constants(spec)
    return jnp.stack([dense.single_loss(W[i], slot, chain, spec.tokens, numbers) for i, slot in slots])


def _attention_stage(spec: Spec, chain: data.Chains) -> ps.Stage:
    """Q on the value slot: both steps of T^2 (Algorithm 1), or step 2 with the answers of the last stage's model."""
    length, steps = chain.length, (1, 2) if spec.algorithm == 1 else (2,)
    index = len(dense.slots(spec)) - 1

    def loss(model: Dense, labelled: data.Chains):
        numbers = constants(spec)
        parts = [dense.answer_loss(model, index, VALUE_SLOT, labelled, spec.tokens, numbers, s) for s in steps]
        return jnp.stack(parts).sum()

    def enter(key: Any, state: ps.State) -> ps.State:
        values = jnp.asarray(chain.values)
        if length > 2:
            own = dense.greedy_values(state.params, index, chain, spec.tokens, constants(spec), 2)
            values = values.at[:, :3].set(own)
        return dataclasses.replace(
            state, memory=data.Chains(jnp.asarray(chain.names), jnp.asarray(chain.actions), values)
        )

    rate = spec.attention_eta * spec.variables
    descend = ps.descent(
        loss, optax.sgd(rate), sample=lambda key, memory: memory, where=lambda model: (model.Q43, model.Q44)
    )
    ending = {}
    if spec.algorithm == 2 and length == 2:  # later stages take all their steps: records hold the loss at length 2 only
        ending["until"] = lambda seen: jnp.log(seen.pair_loss[1]) < -end_of_stage(spec) * jnp.log(spec.tokens.size)
    steps_of_stage = 200 if spec.steps is None else spec.steps
    return ps.Stage(f"length {length}", descend, ps.log_times(steps_of_stage, 40), enter, **ending)


def look(model: Dense, spec: Spec, singles: data.Chains) -> DenseObserved:
    """All that is recorded."""
    chosen, numbers = dense.slots(spec), constants(spec)
    seen: dict[str, Any] = dict.fromkeys(
        ("pair_loss", "copy_sum", "copy_best", "strongest", "off_variable", "diagonal", "off_diagonal", "spread")
    )
    if 3 in chosen:
        found = dense.copying(model.W[chosen.index(3)], spec.tokens, numbers.bias)
        seen |= dict(zip(("copy_sum", "copy_best", "strongest", "off_variable"), found, strict=True))
    if VALUE_SLOT in chosen:
        pairs = listed(spec, 2)
        index = chosen.index(VALUE_SLOT)
        losses = [dense.answer_loss(model, index, VALUE_SLOT, pairs, spec.tokens, numbers, s) for s in (1, 2)]
        seen |= {"pair_loss": jnp.stack(losses)} | _blocks(model)
    return DenseObserved(slot_loss=_single_losses(model.W, spec, singles), **seen)


def _blocks(model: Dense) -> dict[str, Any]:
    blocks = jnp.stack([model.Q43, model.Q44])
    N = blocks.shape[-1]
    on = np.eye(N, dtype=bool)
    diagonal = jnp.trace(blocks, axis1=1, axis2=2) / N
    off = (blocks.sum(axis=(1, 2)) - N * diagonal) / (N * (N - 1))
    departure = jnp.abs(blocks - jnp.where(on, diagonal[:, None, None], off[:, None, None]))
    return {"diagonal": diagonal, "off_diagonal": off, "spread": departure.max(axis=(1, 2))}
