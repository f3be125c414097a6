"""Arms of training: descent on fresh batches, for six scalars and for matrices of scores."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float

import phasescope as ps

from .data import draw
from .kernels import tabulated
from .model import four_gram, gradient, matrix
from .model.definition import Held, Weights, start
from .observables import MatrixObserved, Observed, loss_of_4_gram, see
from .spec import DESCENT, MATRIX, Spec
from .theory import check_table, softmax

RECORDS = 160
JUDGES = 2024  # the seed of the sequences on which losses without a closed form are estimated


@ps.arm(reads=(*DESCENT, "imbalance"))
def online_sgd(spec: Spec) -> ps.Plan:
    """Descent with a fresh batch each step, the first layer frozen (or trained too); time is eta times steps."""
    exact = spec.p_tilde is None and not spec.joint and spec.index_range == "L-1"
    if exact:
        check_table(spec, "online_sgd")
    elif spec.index_range == "L-2" and (spec.joint or spec.p_tilde is not None):
        raise ps.SpecError('index_range="L-2" is for a sharp first layer: leave joint and p_tilde alone.')

    def step(held: Held, t: Array, key: Array) -> Held:
        batch = draw(key, spec.tokens, spec.length, spec.batch)
        if spec.joint:
            slope = jax.grad(lambda w: gradient.losses(w, batch, spec).sum())(held.weights)
        else:
            slope = gradient.gradient(held.weights, batch, spec)
        return Held(jax.tree.map(lambda w, s: w - spec.eta * s, held.weights, slope), held.table)

    def measure(held: Held) -> Observed:
        if exact:
            return see(held.weights, spec, softmax(held, spec))
        return see(held.weights, spec, None, losses=_losses(held.weights, spec))

    return ps.Plan(
        init=lambda key: Held(
            start(spec, spec.joint), tabulated.tabulated(spec.w_star, spec.keys, spec.tokens) if exact else None
        ),
        stages=(ps.Stage("stage II", ps.iterate(step), ps.log_times(spec.steps, RECORDS), unit=spec.eta),),
        measure=measure,
    )


@ps.arm(reads=(*DESCENT, *MATRIX))
def high_dimensional(spec: Spec) -> ps.Plan:
    """Descent or Adam with tokens of many dimensions, on samples or in closed form; time is eta times steps."""
    optimiser = optax.adam(spec.eta) if spec.optimiser == "adam" else optax.sgd(spec.eta)
    if spec.tokens == "boolean" or spec.p_tilde is not None or spec.index_range == "L-2" or spec.joint:
        raise ps.SpecError("high_dimensional is for gaussian tokens behind a sharp first layer, with all keys.")
    if spec.sampled:
        judges = lambda: matrix.draw(jr.key(JUDGES), 4096, spec)
        learn = ps.descent(
            lambda w, batch: matrix.sampled_losses(w, batch, spec).sum(),
            optimiser,
            sample=lambda key, memory: matrix.draw(key, spec.batch, spec),
        )
        losses = lambda w: matrix.sampled_losses(w, judges(), spec)
    else:
        losses = lambda w: matrix.losses(w, spec)
        learn = ps.descent(lambda w, batch: losses(w).sum(), optimiser)
    return ps.Plan(
        init=lambda key: matrix.start(key, spec),
        stages=(ps.Stage("stage II", learn, ps.log_times(spec.steps, RECORDS), unit=spec.eta),),
        measure=lambda w: _see_matrix(w, spec, losses(w)),
    )


def _losses(weights: Weights, spec: Spec) -> Float[Array, "2"]:
    """The induction head's loss by Monte Carlo on a fixed set of sequences, the 4-gram's exactly."""
    estimated = gradient.estimate(weights, jr.key(JUDGES), spec)
    if spec.index_range == "L-1":
        return jnp.stack([loss_of_4_gram(weights, spec), estimated[1]])
    p, N = weights.p, spec.keys - 1  # what is to be copied is out of reach
    square = four_gram.partition(2 * p, N) / four_gram.partition(p, N) ** 2
    return jnp.stack([0.5 * spec.g_star**2 + 0.5 * weights.g**2 * square, estimated[1]])


def _see_matrix(w: matrix.MatrixWeights, spec: Spec, losses: Float[Array, "2"]) -> MatrixObserved:
    A, a = w.W_Q.T @ w.W_K, matrix.target_score(spec)
    off = jnp.linalg.norm(A - a * jnp.eye(spec.dim))
    return MatrixObserved(
        loss=losses.sum(), loss_g4=losses[0], loss_ih=losses[1], p=w.p, g=w.g, h=w.h,
        score_norm=jnp.linalg.norm(A), score_spread=jnp.linalg.norm(A, 2), score_error=off / (a * spec.dim**0.5),
    )  # fmt: skip
