"""Arms of the decoder: end to end by Adam, with self-training on longer and longer chains, and its control.

Every stage starts the optimiser anew. In self-training the decoder as it was when the stage began labels the chains of
the stage by its own greedy rollout; it waits in the memory of the run as long as the stage lasts.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, PRNGKeyArray

import phasescope as ps

from ...plan.dynamics import State
from ...plan.plan import keep
from .data import check_length
from .decoder import network
from .decoder.network import Decoder, Shape
from .decoder.observables import Learner, coordinates, inspect, measure
from .decoder.rollout import relabelled
from .decoder.sampling import training_chains
from .spec import CHAINS, DECODER, Spec

ETA, STEPS = 1e-3, 3000  # where the spec leaves them open


class Memory(eqx.Module):
    """Held fixed during a stage: the key of the training set, and the teacher if there is one."""

    data: PRNGKeyArray
    teacher: Decoder | None = None


@ps.arm(reads=(*CHAINS, *DECODER), continuous=("dataset",))
def decoder(spec: Spec) -> ps.Plan:
    """Adam on chains of one length with true labels."""
    return _plan(spec, _base(spec))


@ps.arm(reads=(*CHAINS, *DECODER, "stages", "stage_steps"))
def self_training(spec: Spec) -> ps.Plan:
    """The decoder, then stages on chains of twice the length each, labelled by the decoder of the stage before."""
    lengths = [spec.length * 2**k for k in range(1, spec.stages + 1)]
    check_length(lengths[-1], spec.variables)
    later = [_stage(spec, f"length {length}", length, spec.stage_steps, _teach) for length in lengths]
    return _plan(spec, _base(spec), *later)


@ps.arm(reads=(*CHAINS, *DECODER, "stages", "stage_steps"))
def control(spec: Spec) -> ps.Plan:
    """As many updates in as many stages as self-training, all at the first length with true labels."""
    names = [f"control {k}" for k in range(1, spec.stages + 1)]
    later = [_stage(spec, name, spec.length, spec.stage_steps) for name in names]
    return _plan(spec, _base(spec), *later)


def shape_of(spec: Spec) -> Shape:
    """The sizes and parts of a decoder."""
    if spec.width % spec.heads:
        raise ps.SpecError(
            f"width={spec.width} cannot be cut into heads={spec.heads}: take a multiple of {spec.heads}."
        )
    return Shape(spec.tokens, spec.width, spec.hidden, spec.heads, spec.residual, spec.layer_norm)


def _plan(spec: Spec, *stages: ps.Stage) -> ps.Plan:
    def begin(key: Array) -> State:
        weights, data = jr.split(key)
        net = network.initial(weights, shape_of(spec), jnp.dtype(spec.precision), spec.embedding_scale)
        return State(Learner(net, data), Memory(data))

    return ps.Plan(
        init=begin,
        stages=stages,
        measure=lambda learner: measure(spec, learner),
        inspect=lambda learner: inspect(spec, learner),
        coords=coordinates(spec),
    )


def _base(spec: Spec) -> ps.Stage:
    check_length(spec.length, spec.variables)
    return _stage(spec, f"length {spec.length}", spec.length, STEPS if spec.steps is None else spec.steps)


def _stage(spec: Spec, name: str, length: int, steps, enter=keep) -> ps.Stage:
    return ps.Stage(name, _descent(spec, length), ps.linear_times(steps, spec.records), enter)


def _teach(key: Array, state: State) -> State:
    """The decoder as it is becomes the teacher."""
    return State(state.params, Memory(state.memory.data, state.params.net), state.carry)


def _descent(spec: Spec, length: int) -> ps.descent:
    eta = ETA if spec.eta is None else spec.eta
    if isinstance(eta, jax.Array):  # of 64 bits it would turn 32-bit parameters into 64-bit ones
        eta = eta.astype(spec.precision)
    optimiser = {"adam": optax.adam, "sgd": optax.sgd}[spec.optimiser](eta)

    def sample(key, memory):
        chains = training_chains(spec, length, spec.batch, key, memory.data)
        return chains if memory.teacher is None else relabelled(memory.teacher, chains)

    return ps.descent(lambda net, chains: network.loss(net.net, chains), optimiser, sample, lambda learner: learner.net)
