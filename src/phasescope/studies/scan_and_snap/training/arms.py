"""Arms of training: mini-batches, endless sequences, and the latter in the coordinates of the
class symmetry."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import phasescope as ps
from phasescope.networks import TextSpec, text_plan

from .. import model
from ..data import syn
from ..model import Weights
from ..observables import derive, measure_full, measure_symmetric
from ..reductions import class_symmetry
from ..spec import FLOW, MODEL, OPTIMISER, Spec
from . import sampling
from .flows import KAPPA, RECORDS, flow_times
from .updates import Training, begin, minibatches, settings, update


@ps.arm(reads=(*MODEL, *OPTIMISER, "batch", "seq_length", "precision", "steps"))
def sampled(spec: Spec) -> ps.Plan:
    """Mini-batches of finite sequences, drawn as token counts; stochastic gradient descent with momentum, or Adam."""
    _as_laid_out(spec, "sampled")
    if spec.optimiser == "flow":
        raise ps.SpecError(
            'sampled: mini-batches are taken in steps; choose optimiser="sgd" or "adam", or another arm.'
        )

    def measure(state: Training):
        exact = (state.weights, state.batch_loss)
        weights, batch_loss = jax.tree.map(lambda x: x.astype(float), exact)
        measured = measure_full(weights, spec, geometry=False)
        return dataclasses.replace(measured, batch_loss=batch_loss)

    return ps.Plan(
        init=lambda key: begin(start(key, spec), spec, jnp.log(1.0 * spec.M), spec.precision),
        stages=(ps.Stage("training", minibatches(spec), ps.linear_times(spec.steps)),),
        measure=measure,
        derive=derive,
    )


@ps.arm(reads=(*FLOW, *OPTIMISER))
def population(spec: Spec) -> ps.Plan:
    """Endless sequences and all classes at once: the full gradient of both tables, in steps or as a flow."""
    _as_laid_out(spec, "population")

    def ascent(weights: Weights) -> Weights:
        return model.gradient(weights, syn(spec))[0]

    return ps.Plan(
        init=lambda key: begin(start(key, spec), spec),
        stages=(_training(ascent, Weights, spec),),
        measure=lambda state: measure_full(state.weights, spec),
        derive=derive,
    )


@ps.arm(reads=(*FLOW, *OPTIMISER))
def symmetric(spec: Spec) -> ps.Plan:
    """The same in the coordinates of the class symmetry: 4D + 3C numbers, whatever K and M are (L0)."""
    if spec.init != "zero":
        raise ps.SpecError(
            'symmetric: classes are alike only from init="zero"; use population or sampled.'
        )
    data = class_symmetry.profile(spec)

    def ascent(state: class_symmetry.State) -> class_symmetry.State:
        return class_symmetry.gradient(state, data)

    return ps.Plan(
        init=lambda key: begin(class_symmetry.zeros(spec.distinct, spec.common), spec),
        stages=(_training(ascent, class_symmetry.by_table, spec, lanes_last=True),),
        measure=lambda state: measure_symmetric(state.weights, spec),
        derive=derive,
    )


def start(key: Array, spec: Spec) -> Weights:
    """The tables at the start."""
    if spec.init == "uniform":
        return sampling.uniform_start(key, spec)
    return model.zeros(spec.context, spec.num_last, spec.labels)


def _training(
    ascent: Callable[[Any], Any],
    by_table: Callable[[Any, Any], Any],
    spec: Spec,
    lanes_last: bool = False,
) -> ps.Stage:
    """Steps of the optimiser along `ascent` of the weights, or their limit; `by_table` as in `settings`."""
    rates, momenta = settings(by_table, spec)
    if spec.optimiser == "flow":

        def velocity(state: Training):
            return jax.tree.map(lambda g, eta: eta * g, ascent(state.weights), rates)

        moving = ps.flow(velocity, kappa=KAPPA, where=lambda state: state.weights)
        return ps.Stage("training", moving, flow_times(spec))

    def step(state: Training, t: Array, key: Array) -> Training:
        return update(state, ascent(state.weights), rates, momenta)

    moving = ps.iterate(step, lanes_last=lanes_last)
    return ps.Stage("training", moving, ps.log_times(spec.steps, RECORDS))


def _as_laid_out(spec: Spec, arm: str) -> None:
    """Refuse numbers of classes or outputs that the tables of these arms do not have."""
    if spec.classes is not None:
        raise ps.SpecError(
            f"{arm}: classes are laid out by num_last and per_last; leave `classes` out."
        )
    if spec.init == "uniform" and spec.vocabulary is not None:
        raise ps.SpecError(
            f'{arm}: init="uniform" gives every output a column of its own; leave `vocabulary` out.'
        )
    if spec.vocabulary is not None and isinstance(spec.vocabulary, float | np.floating):
        least = spec.context + spec.num_last + spec.labels
        if spec.vocabulary < least:
            raise ps.SpecError(
                f"{arm}: {least} tokens are laid out, more than vocabulary={spec.vocabulary:g}."
            )


@ps.arm(spec=TextSpec)
def text_attention(spec: TextSpec) -> ps.Plan:
    """A transformer in the ordinary parameterisation on a text (Figures 7 and 10); time counts updates."""
    return text_plan(spec)
