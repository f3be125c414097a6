"""Section 3: the gradient of one sequence, and endless sequences (Lemmas 1 and 2)."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from . import evidence, tables

EXACT = 1e-12


@ps.claim(
    "Lemma 1",
    ps.theory(ps.tables(tables.gradients.batch_1_gradients, tokens=12, length=20, samples=6)),
    id="C1",
)
def gradients_are_as_written(table):
    """The gradients of Y and Z from one sequence are the lemma's; only the query's row of Z
    moves, and every row of both sums to zero."""
    elsewhere = table.by_hand.sel(table="Z").where(table.row != table["query"], 0.0)
    size = abs(table.automatic).max(("row", "column"))
    return (
        ps.agree(table.by_hand, table.automatic, atol=EXACT, what="gradient")
        & ps.agree(table.automatic.sum("column"), 0.0, atol=EXACT, what="sum of a row")
        & ps.agree(elsewhere, 0.0, what="other rows of Z")
        & ps.at_least(size, 1e-3, "largest entry")
    )


@ps.claim(
    "Lemmas 2 and 18",
    ps.theory(
        ps.tables(
            tables.gradients.finite_length,
            lengths=[32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
            samples=20_000,
        )
    ),
    id="C2",
)
def long_sequences_have_the_population_gradient(table):
    """The gradient of a sequence of length T is off by T^-0.49 (rms over 20,000 draws), its mean
    by T^-0.97: log-log slopes in [-0.55, -0.43] and [-1.1, -0.85]. The mean is off by 5% or more
    of the gradient at T = 128."""
    of_rms = ps.exponent(table.length, table.rms).value
    of_mean = ps.exponent(table.length, table.bias).value
    return (
        ps.within(of_rms, -0.55, -0.43, "slope of the rms deviation")
        & ps.within(of_mean, -1.1, -0.85, "slope of the mean deviation")
        & ps.at_least(table.bias.sel(length=128), 0.05, "mean deviation at T = 128, relative")
        & ps.positive(table.rms - table.bias, "rms - mean deviation")
    )


@ps.claim(
    "Lemma 2, along training",
    ps.published(evidence.short_sequences, evidence.endless_sequences),
    id="C2-path",
)
def short_sequences_make_attention_sparser(finite, endless):
    """After 60 updates on Syn-Small (both rates 0.3, momentum 0.9) the top logit is 0.690 for
    endless sequences, and ahead of that by 0.276, 0.081, 0.003 for T = 16, 128, 4096, within
    three standard errors over 8 seeds and 0.02."""
    limit = endless.z_dt.isel(time=-1, distinct_token=-1)
    top = finite.z_dt.isel(time=-1, distinct_token=-1)
    ahead = (top - limit).mean("class")
    mean = ahead.mean("seed")
    error = ahead.std("seed", ddof=1) / np.sqrt(ahead.sizes["seed"])
    forecast = ahead.seq_length.copy(data=np.array([0.276, 0.081, 0.0033]))
    off = abs(mean - forecast) - 3 * error
    return (
        ps.agree(limit.mean("class"), 0.690, atol=6e-4, what="top logit, endless")
        & ps.at_most(off, 0.02, "deviation from the expected lead")
        & ps.decreasing(mean, "lead of the top logit", along="seq_length")
        & ps.positive(mean.sel(seq_length=[16, 128]), "lead at T = 16 and 128")
        & ps.reached(endless)
    )


claims = (
    gradients_are_as_written,
    long_sequences_have_the_population_gradient,
    short_sequences_make_attention_sparser,
)
