"""Arms of training: full-batch gradient descent, on the weights and on their Gram matrices; and what arms share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array

import phasescope as ps

from . import data, model
from .model import descent
from .model.forces import forces
from .model.invariants import Invariants, invariants, sizes, violation
from .observables import Observed, at_end, coordinates, derive, measure_grams
from .one_by_one import StepsOneByOne
from .reductions import gram_matrices
from .spec import DRAWN, MOTION, Spec

RECORDS = 240
MATRICES_UP_TO = 512  # beyond this width the conserved m x m matrices are left out of the records


class Run(NamedTuple):
    """A state that moves, what it started from, and the samples where they are random."""

    moving: Any
    begin: Any
    tokens: Array | None


@ps.arm(reads=(*MOTION, *DRAWN))
def weights(spec: Spec) -> ps.Plan:
    """Gradient descent on W_Q, W_K, W_V and W, with W collapsed to b = W^T a, which is exact; time is t = eta * step."""
    data.check(spec)
    model.check_orthogonal(spec)

    def init(key):
        begin, tokens = random_start(spec, key)
        return Run(descent.collapse(begin, spec.dim), begin, tokens)

    def now(run):
        return model.Start(descent.expand(run.moving, run.begin), run.begin.a)

    return ps.Plan(
        init=init,
        stages=descend(spec, descent.step),
        measure=lambda run: measure_weights(now(run), run, spec),
        inspect=lambda run: at_end(
            gram_matrices.from_start(now(run)), gram_matrices.from_start(run.begin)
        ),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(spec.dim),
    )


@ps.arm(reads=(*MOTION, *DRAWN), continuous=("width", "neurons"))
def gram_descent(spec: Spec) -> ps.Plan:
    """The same descent in the Gram matrices of the words, exactly; its cost does not depend on the widths."""
    data.check(spec)
    return ps.Plan(
        init=lambda key: gram_start(spec, key),
        stages=descend(spec, gram_matrices.step),
        measure=lambda run: measure_grams(run.moving, run.begin, batch_of(run, spec), spec),
        inspect=lambda run: at_end(run.moving, run.begin),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(spec.dim),
    )


def descend(spec: Spec, step: Callable[[Any, data.Batch, Spec], Any]) -> tuple[ps.Stage, ...]:
    """One stage of descent; `step(run.moving, samples, spec)` is one step."""

    def steps(spec: Spec) -> ps.Dynamics:
        def one_step(run, t, key):
            return run._replace(moving=step(run.moving, batch_of(run, spec), spec))

        return ps.iterate(one_step)

    times = ps.log_times(spec.steps, RECORDS)
    return (ps.Stage("training", StepsOneByOne(steps, spec), times, unit=step_unit(spec)),)


def random_start(spec: Spec, key: Array) -> tuple[model.Start, Array | None]:
    """Weights, output signs and, where they are random, samples. One seed gives the same ones to all arms."""
    of_weights, of_words = jr.split(key)
    return model.start(spec, of_weights), random_words(spec, of_words)


def random_words(spec: Spec, key: Array) -> Array | None:
    """The samples, where they are random."""
    batch = data.training_set(spec, key)
    return jnp.asarray(batch.tokens) if spec.words == "shared" else None


def gram_start(spec: Spec, key: Array) -> Run:
    """The Gram matrices of that start, whatever the widths are."""
    of_weights, of_words = jr.split(key)
    if spec.init == "orthogonal":
        state = gram_matrices.orthogonal_start(spec)
    else:
        state = gram_matrices.random_start(spec, of_weights)
    return Run(state, state, random_words(spec, of_words))


def batch_of(run: Run, spec: Spec) -> data.Batch:
    """The training set of a run."""
    distinct = data.training_set(spec.replace(words="distinct", dim=spec.smallest_dim), jr.key(0))
    if run.tokens is None:
        return distinct
    return distinct._replace(tokens=run.tokens)


def measure_weights(now: model.Start, run: Run, spec: Spec) -> Observed:
    """Measure the weights: their Grams, what flow conserves, and what one step of descent would do to that."""
    state = gram_matrices.from_start(now)
    begin = gram_matrices.from_start(run.begin)
    batch = batch_of(run, spec)
    more = {"N_change": _change_of_neurons(now, run.begin)}
    if spec.width <= MATRICES_UP_TO:
        more |= _conserved(now, run.begin, state, batch, spec)
    return measure_grams(state, begin, batch, spec, **more)


def _change_of_neurons(now: model.Start, begin: model.Start) -> Array:
    """The largest change of an overlap of two neurons since the start."""
    W = now.weights.W
    W_begin = begin.weights.W
    return jnp.abs(W @ W.T - W_begin @ W_begin.T).max()


def _conserved(
    now: model.Start,
    begin: model.Start,
    state: gram_matrices.Grams,
    batch: data.Batch,
    spec: Spec,
) -> dict[str, Any]:
    """How far the conserved matrices have drifted, and what the next step of descent adds, measured and by formula."""
    weights, a = now
    c, M = forces(state.G, state.S, batch, spec.width)[:2]
    rate = descent.velocity(weights, a, batch, spec)
    after = model.Weights(*(x + spec.eta * v for x, v in zip(weights, rate, strict=True)))
    here = invariants(weights, a)
    there = invariants(after, a)
    change = Invariants(*(y - x for x, y in zip(here, there, strict=True)))
    expected = violation(weights, a, c, spec.attention * M, spec.eta)
    return {
        "drift": sizes(here, invariants(begin.weights, a)),
        "violation": sizes(there, here),
        "violation_error": sizes(change, expected),
    }


def step_unit(spec: Spec) -> Any:
    """How much of the dataset's `time` one step is."""
    return spec.eta if spec.clock == "training" else spec.eta * spec.kappa
