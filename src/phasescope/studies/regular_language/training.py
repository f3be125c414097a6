"""Arms of training: gradient descent on all strings, in full coordinates and in those of the symmetry reduction."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

import phasescope as ps
from phasescope.networks import TextSpec, text_plan

from . import model
from .observables import derive, measure_full, measure_reduced
from .reductions import packed, symmetry
from .spec import TRAINING, Spec


@ps.arm(reads=(*TRAINING, "init_scale"))
def exhaustive(spec: Spec) -> ps.Plan:
    """Gradient descent on u and W, over all strings of all lengths."""
    batch = model.exhaustive(spec.pivots, spec.weights)
    return ps.Plan(
        init=lambda key: random_start(key, spec),
        stages=two_phases(spec, lambda speed: full_descent(spec, batch, speed)),
        measure=lambda params: measure_full(params, batch, spec),
        derive=lambda ds: derive(ds, spec, spec.switch, from_zero=spec.init_scale == 0),
        coords=coordinates(spec),
    )


@ps.arm(reads=TRAINING)
def symmetric(spec: Spec) -> ps.Plan:
    """The same descent in the coordinates of the exact symmetry reduction: O(N^2) numbers instead of 2^N strings."""

    def descend(speed: Array | float) -> ps.Dynamics:
        # The scores' gradient contains 1/lam: a step of eta * speed on W is a net step of eta * speed / lam.
        k = speed / spec.lam
        return packed.descent(spec.pivots, spec.eta, spec.lam, k, spec.weights)

    return ps.Plan(
        init=lambda key: symmetry.zeros(spec.size),
        stages=two_phases(spec, descend),
        measure=lambda state: measure_reduced(state, spec),
        derive=lambda ds: derive(ds, spec, spec.switch),
        coords=coordinates(spec),
    )


@ps.arm(reads=("max_length", "base_length", "lam", "eta", "switch", "steps", "handover"))
def handover(spec: Spec) -> ps.Plan:
    """Even pairs first, then the steps of parity's chain of thought alone, without the shorter strings."""
    even_pairs = spec.replace(task="even_pairs", lengths="all")
    parity = spec.replace(task="parity", lengths="cot")
    even = model.exhaustive(even_pairs.pivots, even_pairs.weights)
    thought = model.exhaustive(parity.pivots, parity.weights)
    fast = full_descent(spec, even, spec.lam)
    plain = full_descent(spec, even, 1.0)
    on_thought = full_descent(spec, thought, 1.0)
    return ps.Plan(
        init=lambda key: model.zeros(parity.size),
        stages=(
            ps.Stage("phase 1", fast, ps.log_times(spec.switch, 30)),
            ps.Stage("even pairs", plain, ps.log_times(spec.handover - spec.switch, 50)),
            ps.Stage("chain of thought", on_thought, ps.log_times(spec.steps - spec.handover, 70)),
        ),
        measure=lambda params: measure_full(params, thought, parity),
        coords=coordinates(parity),
    )


def two_phases(spec: Spec, descend: Callable[[Array | float], ps.Dynamics]) -> tuple[ps.Stage, ...]:
    """Phase 1 up to `switch`, with the attention's step times lam unless the schedule is vanilla; then phase 2.

    `descend(speed)` is the dynamics whose step on W is `speed` times that on u.
    """
    fast = spec.lam if spec.schedule == "two_phase" else 1.0
    first = _smaller(spec.switch, spec.steps)
    return (
        ps.Stage("phase 1", descend(fast), ps.log_times(first, 50)),
        ps.Stage("phase 2", descend(1.0), ps.log_times(spec.steps - first, 50)),
    )


def full_descent(spec: Spec, batch: model.Batch, speed: Array | float) -> ps.Dynamics:
    """Full-batch gradient descent with step eta on u and eta * speed on W."""
    rates = optax.partition(
        {"u": optax.sgd(spec.eta), "W": optax.sgd(spec.eta * speed)},
        {"u": "u", "W": "W"},
    )
    return ps.descent(lambda params, _: model.loss(params, batch, spec.lam), rates)


def random_start(key: Array, spec: Spec) -> model.Params:
    """Zero, plus Gaussian noise of size `init_scale`."""
    zeros = model.zeros(spec.size)
    keys = dict(zip(zeros, jax.random.split(key, len(zeros)), strict=True))
    return {
        name: x + spec.init_scale * jax.random.normal(keys[name], x.shape)
        for name, x in zeros.items()
    }


def coordinates(spec: Spec) -> dict[str, np.ndarray]:
    """Lengths and positions count from 1."""
    numbers = np.arange(1, spec.size + 1)
    return {"length": numbers, "position": numbers}


def _smaller(a, b):
    """The minimum of two numbers, plain ones on the host and traced ones in the program."""
    return jnp.minimum(a, b) if isinstance(a, jax.Array) else min(a, b)


@ps.arm(spec=TextSpec)
def text_gpt(spec: TextSpec) -> ps.Plan:
    """A small GPT on characters (Figure 7); time counts updates."""
    return text_plan(spec)
