"""Arms of training: descent on fresh batches, for six scalars and for matrices of scores."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float

import phasescope as ps
from phasescope.networks import TextSpec, text_plan, with_filled_types

from .data import draw
from .kernels import tabulated
from .model import four_gram, gradient, matrix
from .model.definition import Held, Weights, start
from .model.matrix import MatrixWeights
from .observables import Observed, loss_of_4_gram, measure, measure_matrices
from .spec import DESCENT, MATRIX, Spec
from .theory import check_table, softmax

RECORDS = 160
EVALUATION_SEED = 2024  # of the sequences on which losses without a closed form are estimated
EVALUATION_SEQUENCES = 4096  # of many dimensions


@ps.arm(reads=(*DESCENT, "imbalance"))
def online_sgd(spec: Spec) -> ps.Plan:
    """Descent with a fresh batch each step, the first layer frozen (or trained too); time is eta times steps."""
    exact = spec.p_tilde is None and not spec.joint and spec.index_range == "L-1"
    if exact:
        check_table(spec, "online_sgd")
    elif spec.index_range == "L-2" and (spec.joint or spec.p_tilde is not None):
        raise ps.SpecError(
            'index_range="L-2" is for a sharp first layer: leave joint and p_tilde alone.'
        )

    def init(key: Array, *made: tabulated.Table) -> Held:
        return Held(start(spec, spec.joint), *made)

    def table() -> tabulated.Table:
        return tabulated.table_for(spec.w_star, spec.keys, spec.tokens)

    def step(held: Held, t: Array, key: Array) -> Held:
        batch = draw(key, spec.tokens, spec.length, spec.batch)
        if spec.joint:
            slope = jax.grad(lambda w: gradient.losses(w, batch, spec).sum())(held.weights)
        else:
            slope = gradient.gradient(held.weights, batch, spec)
        return Held(jax.tree.map(lambda w, s: w - spec.eta * s, held.weights, slope), held.table)

    def measured(held: Held) -> Observed:
        if exact:
            return measure(held.weights, spec, softmax(held, spec))
        return measure(held.weights, spec, None, losses=_losses(held.weights, spec))

    return ps.Plan(
        init=init,
        stages=(_stage(ps.iterate(step), spec),),
        measure=measured,
        tables=table if exact else None,
    )


@ps.arm(reads=(*DESCENT, *MATRIX))
def high_dimensional(spec: Spec) -> ps.Plan:
    """Descent or Adam with tokens of many dimensions, on samples or in closed form; time is eta times steps."""
    if (
        spec.tokens == "boolean"
        or spec.p_tilde is not None
        or spec.index_range == "L-2"
        or spec.joint
    ):
        raise ps.SpecError(
            "high_dimensional is for gaussian tokens behind a sharp first layer, with all keys."
        )
    optimiser = optax.adam(spec.eta) if spec.optimiser == "adam" else optax.sgd(spec.eta)

    def losses(weights: MatrixWeights) -> Float[Array, "2"]:
        if not spec.sampled:
            return matrix.losses(weights, spec)
        batch = matrix.draw(jr.key(EVALUATION_SEED), EVALUATION_SEQUENCES, spec)
        return matrix.sampled_losses(weights, batch, spec)

    if spec.sampled:
        learn = ps.descent(
            lambda w, batch: matrix.sampled_losses(w, batch, spec).sum(),
            optimiser,
            sample=lambda key, memory: matrix.draw(key, spec.batch, spec),
        )
    else:
        learn = ps.descent(lambda w, batch: matrix.losses(w, spec).sum(), optimiser)
    return ps.Plan(
        init=lambda key: matrix.start(key, spec),
        stages=(_stage(learn, spec),),
        measure=lambda w: measure_matrices(w, spec, losses(w)),
    )


@ps.arm(spec=TextSpec)
def text_two_layer(spec: TextSpec) -> ps.Plan:
    """A standard transformer with ALiBi on a text, all layers together (Figure 2); time counts updates."""
    return with_filled_types(text_plan(spec), spec)


def _stage(dynamics: ps.Dynamics, spec: Spec) -> ps.Stage:
    return ps.Stage("stage II", dynamics, ps.log_times(spec.steps, RECORDS), unit=spec.eta)


def _losses(weights: Weights, spec: Spec) -> Float[Array, "2"]:
    """The induction head's loss by Monte Carlo on a fixed set of sequences, the 4-gram's exactly."""
    induction = gradient.estimate(weights, jr.key(EVALUATION_SEED), spec)[1]
    if spec.index_range == "L-1":
        return jnp.stack([loss_of_4_gram(weights, spec), induction])
    return jnp.stack([_loss_out_of_reach(weights, spec), induction])


def _loss_out_of_reach(weights: Weights, spec: Spec) -> Float[Array, ""]:
    """The loss of the 4-gram where head 1 does not see the token that it is to copy."""
    keys = spec.keys - 1
    square = four_gram.partition(2 * weights.p, keys) / four_gram.partition(weights.p, keys) ** 2
    return 0.5 * spec.g_star**2 + 0.5 * weights.g**2 * square
