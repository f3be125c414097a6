"""Section 5.2: the chain of thought by itself, without even pairs as a regulariser, and run freely."""

from __future__ import annotations

from typing import Any

import numpy as np

import phasescope as ps

from ..phases import becomes_right, ran_to_the_end, spec_of
from ..training import exhaustive, handover, symmetric
from . import evidence, tables

ALONE: dict[str, Any] = {"task": "parity", "lengths": "cot"}
STILL = {**ALONE, "steps": 100, "at": [0, 1, 10, 100]}


@ps.claim(
    "Section 5.2, chain of thought alone",
    ps.published(ps.runs(symmetric, **STILL), ps.runs(exhaustive, **STILL)),
    id="C-cotonly",
)
def gradient_of_the_chain_of_thought_vanishes(reduced, full):
    """Trained on the chain of thought alone, from zero, nothing moves: the gradient is exactly 0 and the loss stays. (Over
    all strings, rounding leaves some 1e-16; it takes 2e4 steps to grow out of the saddle.)"""
    start = (full.sizes["length"] - spec_of(full).base_length + 1) * np.log(2)
    return (
        ps.agree(reduced.u_norm, 0.0, what="|u|")
        & ps.agree(reduced.W_norm, 0.0, what="|W|")
        & ps.agree(full.u_norm, 0.0, atol=1e-15, what="|u| over all strings")
        & ps.agree(full.loss, start, rtol=1e-12, what="loss")
        & ran_to_the_end(reduced, full)
    )


@ps.claim(
    "Section 5.2, chain of thought alone (ours)",
    ps.beyond(ps.tables(tables.saddle, base_length=4, lam=2.0)),
    id="C-saddle",
)
def zero_is_a_strict_saddle(table):
    """Zero is left at a finite rate, 0.0207314549 per unit of tau at L_0 = 4 and lam = 2: the growth rate of the
    linearisation, and minus the lowest eigenvalue of the Hessian."""
    rate = ps.agree(table.growth, 0.0207314549, atol=5e-11, what="growth rate")
    return rate & ps.agree(-table.lowest, table.growth, atol=1e-9, what="-lowest eigenvalue")


@ps.claim(
    "Section 5.2, chain of thought alone, from a random start",
    ps.beyond(
        ps.sweeps(exhaustive, **ALONE, steps=5000, init_scale=[0.1, 0.01], seeds=4, at=[0, 5000]),
        expect=ps.Outcome.FAILS,
        because="noise breaks the symmetry as regularisation does: the loss falls from 2.08 to 0.06..0.78 in 5000 steps",
    ),
    id="C-noise",
)
def chain_of_thought_alone_cannot_be_trained(runs):
    """Without even pairs as a regulariser the loss stays at its start, within 10%."""
    return ps.at_least(
        runs.loss.sel(time=5000) / runs.loss.sel(time=0), 0.9, "loss / loss at the start"
    )


@ps.claim(
    "Section 5.2, initialisation",
    ps.published(ps.runs(handover, steps=4000, at=[0, 1000, 2000, 3000, 4000])),
    id="C-init",
)
def even_pairs_prepare_the_chain_of_thought(run):
    """Trained on even pairs first, then on the chain of thought alone, the model gets every step right within 1000 more
    updates and keeps it; the loss is 0.0469 after 3000."""
    later = run.loss.sel(time=slice(1000, None))
    steps = run.accuracy.sel(time=slice(2000, None))
    return (
        ps.within(steps, 1.0, 1.0, "accuracy on the chain of thought")
        & ps.decreasing(later, "loss")
        & ps.agree(run.loss.sel(time=4000), 0.0469, atol=5e-5, what="loss")
        & ran_to_the_end(run)
    )


@ps.claim("Section 5.2, inference", ps.published(evidence.figure_3), id="par-free")
def teacher_forced_model_thinks_freely(run):
    """Run freely on inputs of length L_0, the trained model computes their parity: accuracy 1 from t = 629 on."""
    free = run.cot_accuracy.sel(input_length=spec_of(run).base_length)
    since = ps.agree(
        ps.sustained(free == 1), 629.0, what="parity of L_0 tokens right for good from t"
    )
    return since & ran_to_the_end(run)


@ps.claim(
    "Section 5.2, inference on other lengths",
    ps.beyond(
        evidence.figure_3,
        expect=ps.Outcome.FAILS,
        because="3, 5 and 6 tokens are at chance: a step's pivot depends on L_0",
    ),
    id="par-free-length",
)
def teacher_forced_model_thinks_at_any_length(run):
    """Run freely on inputs of any length from 2 to N, the trained model computes their parity."""
    free = run.cot_accuracy.sel(input_length=slice(2, run.sizes["length"]))
    return becomes_right(free, "parity accuracy")


claims = (
    gradient_of_the_chain_of_thought_vanishes,
    zero_is_a_strict_saddle,
    chain_of_thought_alone_cannot_be_trained,
    even_pairs_prepare_the_chain_of_thought,
    teacher_forced_model_thinks_freely,
    teacher_forced_model_thinks_at_any_length,
)
