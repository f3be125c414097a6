"""How a decoder is trained: its plan, its stages, and the teacher of self-training.

Every stage starts the optimiser anew. In self-training the decoder as it was when the stage began
labels the chains of the stage by its own greedy rollout; it waits in the memory of the run as long
as the stage lasts.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float, PRNGKeyArray

import phasescope as ps

from ..data import Chains, check_length
from ..spec import DecoderSpec
from . import network
from .network import Decoder, Shape
from .observables import DecoderState, coordinates, inspect, measure
from .rollout import relabelled
from .sampling import training_chains

ETA = 1e-3  # where the spec leaves it open
STEPS = 3000


class Memory(eqx.Module):
    """Held fixed during a stage: the key of the training set, and the teacher if there is one."""

    data: PRNGKeyArray
    teacher: Decoder | None = None


def shape_of(spec: DecoderSpec) -> Shape:
    """The sizes and parts of a decoder."""
    if spec.width % spec.heads:
        raise ps.SpecError(
            f"width={spec.width} cannot be cut into heads={spec.heads}: take a multiple of {spec.heads}."
        )
    return Shape(
        tokens=spec.tokens,
        width=spec.width,
        hidden=spec.hidden,
        heads=spec.heads,
        residual=spec.residual,
        layer_norm=spec.layer_norm,
    )


def plan(spec: DecoderSpec, *stages: ps.Stage) -> ps.Plan:
    """A decoder from its start through these stages."""

    def initial(key: Array) -> ps.State:
        for_weights, for_data = jr.split(key)
        net = network.initial(
            for_weights, shape_of(spec), jnp.dtype(spec.precision), spec.embedding_scale
        )
        return ps.State(DecoderState(net, for_data), Memory(for_data))

    return ps.Plan(
        init=initial,
        stages=stages,
        measure=lambda state: measure(spec, state),
        inspect=lambda state: inspect(spec, state),
        coords=coordinates(spec),
    )


def first_stage(spec: DecoderSpec) -> ps.Stage:
    """Chains of the training length with true labels."""
    check_length(spec.length, spec.variables)
    steps = STEPS if spec.steps is None else spec.steps
    return stage(spec, f"length {spec.length}", spec.length, steps)


def stage(
    spec: DecoderSpec,
    name: str,
    length: int,
    steps: Array | int,
    enter: Callable[[Array, ps.State], ps.State] = ps.keep,
) -> ps.Stage:
    """So many updates on chains of one length."""
    return ps.Stage(name, _descent(spec, length), ps.linear_times(steps, spec.records), enter)


def become_teacher(key: Array, state: ps.State) -> ps.State:
    """Enter a stage with the decoder as it is for a teacher."""
    return ps.State(state.params, Memory(state.memory.data, state.params.net), state.carry)


def _descent(spec: DecoderSpec, length: int) -> ps.Dynamics:
    def sample(key: PRNGKeyArray, memory: Memory) -> Chains:
        chains = training_chains(spec, length, spec.batch, key, memory.data)
        return chains if memory.teacher is None else relabelled(memory.teacher, chains)

    def loss(state: DecoderState, chains: Chains) -> Float[Array, ""]:
        return network.loss(state.net, chains)

    return ps.descent(loss, _optimiser(spec), sample, lambda state: state.net)


def _optimiser(spec: DecoderSpec) -> optax.GradientTransformation:
    eta = ETA if spec.eta is None else spec.eta
    if isinstance(eta, jax.Array):  # of 64 bits it would turn 32-bit parameters into 64-bit ones
        eta = eta.astype(spec.precision)
    return {"adam": optax.adam, "sgd": optax.sgd}[spec.optimiser](eta)
