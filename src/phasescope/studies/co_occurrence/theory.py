r"""Arms of theory: gradient flow, in the weights and in every exact reduction of them.

All flows run in natural time $\tau = \kappa t$ and the solver works in $s = \log(1 + \tau)$, in which the motion is smooth at
all times: $\kappa t = 10^8$ is some two hundred steps away. Sizes that shape nothing are `continuous`: they may be
swept as lanes, and another value compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.random as jr

import phasescope as ps

from . import data, model
from .model import descent
from .observables import (
    at_end,
    coordinates,
    derive,
    measure_grams,
    measure_neurons,
    measure_population,
    measure_symmetric_words,
)
from .one_by_one import OneByOne
from .reductions import gram_matrices, overlap_families, population_flow, symmetric_words
from .spec import DRAWN, FLOW, SIZES, TOLERANCES, Spec
from .training import (
    RECORDS,
    Run,
    batch_of,
    gram_start,
    measure_weights,
    random_start,
    random_words,
)

FIRST = 1e-2  # first record, in natural time


@ps.arm(reads=(*FLOW, *DRAWN))
def weight_flow(spec: Spec) -> ps.Plan:
    """Gradient flow of W_Q, W_K, W_V and W."""
    data.check(spec)
    model.check_orthogonal(spec)

    def init(key):
        begin, tokens = random_start(spec, key)
        return Run(begin.weights, begin, tokens)

    def velocity(run, spec):
        return descent.velocity(run.moving, run.begin.a, batch_of(run, spec), spec)

    def now(run):
        return model.Start(run.moving, run.begin.a)

    return ps.Plan(
        init=init,
        stages=follow(spec, velocity),
        measure=lambda run: measure_weights(now(run), run, spec),
        inspect=lambda run: at_end(
            gram_matrices.from_start(now(run)), gram_matrices.from_start(run.begin)
        ),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(spec.dim),
    )


@ps.arm(reads=(*FLOW, *DRAWN), continuous=("width",))
def six_families(spec: Spec) -> ps.Plan:
    """Gradient flow in the six families of overlaps of the paper's Appendix C."""
    data.check(spec)

    def init(key):
        of_weights, of_words = jr.split(key)
        state, a = overlap_families.random_start(spec, of_weights)
        if spec.init == "orthogonal":
            state = overlap_families.orthogonal_start(spec)
        return Run(state, (state, a), random_words(spec, of_words))

    def velocity(run, spec):
        return overlap_families.velocity(run.moving, run.begin[1], batch_of(run, spec), spec)

    def now(run):
        return overlap_families.to_grams(run.moving, run.begin[1])

    def begin(run):
        return overlap_families.to_grams(*run.begin)

    def measure(run):
        batch = batch_of(run, spec)
        first, a = run.begin
        neurons = measure_neurons(run.moving, first, a, batch, spec)
        return measure_grams(now(run), begin(run), batch, spec, **neurons)

    return ps.Plan(
        init=init,
        stages=follow(spec, velocity),
        measure=measure,
        inspect=lambda run: at_end(now(run), begin(run)),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(spec.dim),
    )


@ps.arm(reads=(*FLOW, *DRAWN), continuous=("width", "neurons"))
def gram(spec: Spec) -> ps.Plan:
    """Gradient flow in the Gram matrices of the words, exactly; its cost does not depend on the widths."""
    data.check(spec)
    return ps.Plan(
        init=lambda key: gram_start(spec, key),
        stages=follow(
            spec, lambda run, spec: gram_matrices.velocity(run.moving, batch_of(run, spec), spec)
        ),
        measure=lambda run: measure_grams(run.moving, run.begin, batch_of(run, spec), spec),
        inspect=lambda run: at_end(run.moving, run.begin),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(spec.dim),
    )


@ps.arm(reads=FLOW, continuous=SIZES)
def orthogonal(spec: Spec) -> ps.Plan:
    """Gradient flow from an orthogonal start with distinct words: 149 numbers, whatever the sizes are."""
    return ps.Plan(
        init=lambda key: Run(symmetric_words.start(spec), None, None),
        stages=follow(
            spec, lambda run, spec: symmetric_words.velocity(run.moving, spec), large=False
        ),
        measure=lambda run: measure_symmetric_words(run.moving, spec),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(7),
    )


@ps.arm(reads=FLOW, continuous=("samples", "dim", "width", "neurons"))
def population(spec: Spec) -> ps.Plan:
    """Gradient flow of the population loss from an orthogonal start, exactly: words are drawn with replacement."""
    return ps.Plan(
        init=lambda key: Run(population_flow.start(spec), None, None),
        stages=follow(
            spec, lambda run, spec: population_flow.velocity(run.moving, spec), large=False
        ),
        measure=lambda run: measure_population(run.moving, spec),
        derive=lambda ds: derive(ds, spec),
        coords=coordinates(4),
    )


def follow(
    spec: Spec, velocity: Callable[[Any, Spec], Any], large: bool = True
) -> tuple[ps.Stage, ...]:
    """One stage of gradient flow in natural time; `velocity(run, spec)` is the rate of `run.moving` in training time."""

    def flow(spec: Spec) -> ps.Dynamics:
        def in_natural_time(run):
            return jax.tree.map(lambda rate: rate / spec.kappa, velocity(run, spec))

        rtol = TOLERANCES[spec.accuracy]
        return ps.flow(
            in_natural_time, rtol=rtol, atol=1e-3 * rtol, kappa=1.0, where=lambda run: run.moving
        )

    dynamics = OneByOne(flow, spec) if large else flow(spec)
    times = ps.log_times(spec.end, RECORDS, first=FIRST)
    return (ps.Stage("training", dynamics, times, unit=spec.tick),)
