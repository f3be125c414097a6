"""Section 5.2: the chain of thought by itself, without even pairs as a regulariser, and run freely."""

from __future__ import annotations

from typing import Any

import numpy as np

import phasescope as ps

from ..phases import ran_to_the_end, spec_of
from ..training import exhaustive, handover, symmetric
from . import evidence, tables
from .parts import EXACT

ALONE: dict[str, Any] = {"task": "parity", "lengths": "cot"}
STILL = {**ALONE, "steps": 100, "at": [0, 1, 10, 100]}
ROUNDING = ps.chosen(1e-15, "rounding over all strings; it takes some 10^4 updates to leave zero")


@ps.claim(
    "Section 5.2, chain of thought alone",
    ps.on("training", ps.runs(symmetric, **STILL), ps.runs(exhaustive, **STILL)),
    id="sec5.2-vanishing-gradient",
    aliases=("C-cotonly",),
    kind="identity",
    tex=r"\nabla \mathcal{L}_{CoT}(0, 0) = 0",
    page="Section 5.2, training design",
)
def gradient_of_the_chain_of_thought_vanishes(reduced, full):
    """Trained on the chain of thought alone, from zero, nothing moves: the gradient is exactly 0 and the loss stays."""
    start = (full.sizes["length"] - spec_of(full).base_length + 1) * np.log(2)
    return (
        ps.agree(reduced.u_norm, 0.0, what="|u|")
        & ps.agree(reduced.W_norm, 0.0, what="|W|")
        & ps.agree(full.u_norm, 0.0, atol=ROUNDING, what="|u| over all strings")
        & ps.agree(full.loss, start, rtol=EXACT, what="loss")
        & ran_to_the_end(reduced, full)
    )


@ps.claim(
    "Section 5.2, chain of thought alone: the saddle (ours)",
    ps.on("closed form", ps.tables(tables.saddle, base_length=4, lam=2.0)),
    id="ours-saddle",
    aliases=("C-saddle",),
    kind="identity",
    whose="ours",
    tex=r"\text{growth rate at } 0 = -\lambda_{\min}(\nabla^2 \mathcal{L}_{CoT}(0)) > 0",
    page="Section 5.2, training design",
)
def zero_is_a_strict_saddle(table):
    """Zero is left at a finite rate: that of the linearisation, which is minus the lowest eigenvalue of the Hessian."""
    tolerance = ps.chosen(1e-9, "rounding of an eigenvalue of a matrix of size 156")
    moves = ps.guard(ps.within(table.growth, 1e-4, 0.5, "growth rate"))
    return (
        ps.agree(-table.lowest, table.growth, atol=tolerance, what="-lowest eigenvalue")
        & ps.positive(table.growth, "growth rate")
        & moves
    )


@ps.claim(
    "Section 5.2, chain of thought alone, from a random start (ours)",
    ps.on(
        "training",
        ps.sweeps(exhaustive, **ALONE, steps=5000, init_scale=[0.1, 0.01], seeds=4, at=[0, 5000]),
        breaks="the start is zero",
    ),
    id="ours-noise-trains",
    aliases=("C-noise",),
    kind="sign",
    whose="ours",
    tex=r"\mathcal{L}_{CoT,0} > 2\, \mathcal{L}_{CoT,5000}",
    page="Section 5.2, training design",
)
def chain_of_thought_alone_can_be_trained(runs):
    """From a random start of size 0.1 or 0.01 the chain of thought alone is trained: after 5000 updates the loss is below
    half of its start, for each of four seeds. Noise breaks the symmetry as regularisation does."""
    start = runs.loss.sel(time=0)
    end = runs.loss.sel(time=5000)
    chance = 3 * np.log(2)
    near = ps.guard(
        ps.within(start / chance, 0.9, 1.1, "loss at the start / 3 log 2")
    )  # three lengths at chance
    return ps.positive(start - 2 * end, "loss at the start - 2 loss at the end") & near


@ps.claim(
    "Section 5.2, initialisation",
    ps.on("training", ps.runs(handover, steps=4000, at=[0, 1000, 2000, 3000, 4000])),
    id="sec5.2-initialisation",
    aliases=("C-init",),
    kind="monotone",
    tex=r"\theta_0 = \theta_{EP}: \quad \mathcal{L}_{CoT} \downarrow",
    page="Section 5.2, training design",
)
def even_pairs_prepare_the_chain_of_thought(run):
    """Trained on even pairs first, then on the chain of thought alone, the loss of the thought falls from the change on, and
    every step of it is right 1000 updates later and stays so."""
    later = run.loss.sel(time=slice(1000, None))
    steps = run.accuracy.sel(time=slice(2000, None))
    return (
        ps.decreasing(later, "loss of the chain of thought")
        & ps.agree(steps, 1.0, what="accuracy on the chain of thought")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Section 5.2, inference",
    ps.on("training", evidence.figure_3),
    id="sec5.2-inference",
    kind="identity",
    tex=r"w_{2L_0 - 1} = \text{parity of } X, \quad X \in \{a, b\}^{L_0}",
    page="Section 5.2; Section 1",
)
def teacher_forced_model_thinks_freely(run):
    """Run freely on inputs of length L_0, the trained model computes their parity, in the second half of the run; at its start
    it does not."""
    free = run.cot_accuracy.sel(input_length=spec_of(run).base_length)
    late = free.sel(time=slice(float(run.time[-1]) / 2, None))
    wrong = ps.guard(ps.at_most(free.isel(time=0), 0.5, "accuracy at the start"))
    return ps.agree(late, 1.0, what="parity of L_0 tokens") & wrong & ran_to_the_end(run)


@ps.claim(
    "Section 5.2, inference on other lengths (ours)",
    ps.on("training", evidence.figure_3),
    id="ours-inference-other-lengths",
    aliases=("par-free-length",),
    kind="identity",
    whose="ours",
    tex=r"\mathrm{accuracy} = \tfrac12, \quad L \ne 2, L_0",
    page="Section 5.2",
)
def teacher_forced_model_thinks_at_its_length_only(run):
    """Run freely on 3, 5 or 6 tokens the trained model is right for exactly half of the strings: a step's pivot depends on
    L_0 = 4. On 4 it is right."""
    late = run.cot_accuracy.sel(time=slice(float(run.time[-1]) / 2, None))
    others = late.sel(input_length=[3, 5, 6])
    own = late.sel(input_length=spec_of(run).base_length)
    return (
        ps.agree(others, 0.5, what="parity accuracy")
        & ps.guard(ps.at_least(own, 1.0, "parity of L_0 tokens"))
        & ran_to_the_end(run)
    )


claims = (
    gradient_of_the_chain_of_thought_vanishes,
    zero_is_a_strict_saddle,
    chain_of_thought_alone_can_be_trained,
    even_pairs_prepare_the_chain_of_thought,
    teacher_forced_model_thinks_freely,
    teacher_forced_model_thinks_at_its_length_only,
)
