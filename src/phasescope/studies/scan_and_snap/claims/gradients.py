"""Section 3: the gradient of one sequence, and endless sequences (Lemmas 1, 2 and 18)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from . import evidence, tables
from .bounds import EXACT, kept, last_digit

LENGTHS = [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
FINITE = ps.tables(tables.gradients.finite_length, lengths=LENGTHS, samples=20_000)
FREQUENCIES = ps.tables(
    tables.gradients.frequencies, lengths=[128, 1024], draws=4000, probability=[0.03, 0.1, 0.5]
)


@claim(
    "Lemma 1",
    on(
        "closed form",
        ps.tables(tables.gradients.batch_1_gradients, tokens=12, length=20, samples=6),
    ),
    id="lem1-gradient",
    aliases=("C1",),
    kind="identity",
    tex=r"\dot Y = \eta_Y \mathrm{LN}(X^\top b_T)(x_{T+1} - \alpha)^\top,\ "
    r"\dot Z = \eta_Z x_T (x_{T+1} - \alpha)^\top Y^\top P^\perp X^\top \mathrm{diag}(b_T) X / \|X^\top b_T\|,\ "
    r"\dot Y 1 = \dot Z 1 = 0",
    page="Section 3.2, Lemma 1, (3) and (4)",
)
def gradients_are_as_written(table):
    """The gradients of Y and Z from one sequence are the lemma's; only the query's row of Z
    moves, and every row of both sums to zero."""
    elsewhere = table.by_hand.sel(table="Z").where(table.row != table["query"], 0.0)
    size = abs(table.automatic).max(("row", "column"))
    seen = ps.chosen(1e-3, "far above rounding: there is a gradient")
    return (
        ps.agree(table.by_hand, table.automatic, atol=EXACT, what="gradient")
        & ps.agree(table.automatic.sum("column"), 0.0, atol=EXACT, what="sum of a row")
        & ps.agree(elsewhere, 0.0, what="other rows of Z")
        & ps.guard(ps.at_least(size, seen, "largest entry"))
    )


@claim(
    "Lemma 2",
    on("closed form", FINITE),
    id="lem2-limit",
    aliases=("C2",),
    kind="limit",
    tex=r"X^\top b_T \to c_{m,n},\ X^\top \mathrm{diag}(b_T) X \to \mathrm{diag}(c_{m,n})",
    page="Section 3.3, Lemma 2, (6)",
    as_=("T", "inf"),
)
def long_sequences_have_the_population_gradient(table):
    """As sequences grow, the attention's gradient of one sequence tends to that of endless ones:
    the root mean square over draws of the deviation, and its mean, tend to 0."""
    return (
        ps.tends_to(table.rms, along="length", what="rms deviation")
        & ps.tends_to(table.bias, along="length", what="mean deviation")
        & ps.guard(ps.positive(table.rms - table.bias, "rms - mean deviation"))
    )


@claim(
    "Lemma 2: how fast (ours)",
    on("closed form", FINITE),
    id="ours-lem2-rates",
    kind="rate",
    whose="ours",
    tex=r"\mathrm{rms} \propto T^{-1/2},\ \mathrm{mean} \propto T^{-1}",
    page="Section 3.3, Lemma 2",
    as_=("T", "inf"),
)
def finite_sequences_deviate_like_one_over_the_length(table):
    """From T = 512 on the gradient of a sequence of length T is off by T^-1/2 (root mean square), its
    mean by 1/T; at T = 128 that is 5% or more of the gradient."""
    noise = ps.chosen(0.06, "noise of 20,000 draws, and the next order at T = 512")
    curved = ps.chosen(0.1, "the next order at T = 512")
    visible = ps.chosen(0.05, "5% of the gradient")
    late = table.sel(length=slice(512, None))  # shorter ones have not reached it
    return (
        ps.scales_like(late.rms, late.length, -0.5, noise, "rms deviation")
        & ps.scales_like(late.bias, late.length, -1.0, curved, "mean deviation")
        & ps.at_least(table.bias.sel(length=128), visible, "mean deviation at T = 128, relative")
    )


@claim(
    "Lemma 18",
    on("closed form", FREQUENCIES),
    id="lem18-frequencies",
    kind="upper",
    tex=r"|q_{l|m,n} - P(l|m,n)| \le \sqrt{\ln(2/\delta) / (2(T-1))}",
    page="Appendix F, Lemma 18, (134)",
    whp=0.05,
)
def shares_of_tokens_concentrate(table):
    """With probability 0.95 the share of a token in a sequence is as near to its probability as
    Hoeffding's inequality says."""
    delta = ps.chosen(0.05, "a usual level; the lemma is for all")
    one = ps.stated(1.0, "Lemma 18")
    ratio = table.off / np.sqrt(np.log(2 / delta) / (2 * (table.length - 1)))
    found = []
    for T in table.length.values:
        for p in table.probability.values:
            lane = ratio.sel(length=T, probability=p).reset_coords(drop=True)
            name = f"deviation / bound, T = {T:g}, P = {p:g}"
            found.append(ps.share(lane <= one, delta, along="draw", what=name))
    quantile = ratio.quantile(1 - float(delta), "draw", skipna=False)
    moved = ps.guard(ps.at_least(ratio.std("draw"), ps.chosen(0.05, "draws differ"), "spread"))
    not_negative = ps.guard(ps.at_least(ratio, 0.0, "deviation"))
    bounded = ps.at_most(quantile, one, "95% quantile / bound")
    return bounded & ps.all_of(found) & moved & not_negative


@claim(
    "Lemma 2 along training (ours)",
    on("training", evidence.short_sequences, evidence.endless_sequences),
    id="ours-short-sequences",
    aliases=("C2-path",),
    kind="regression",
    whose="ours",
    tex=r"z_{l_0}(T) - z_{l_0}(\infty) = 0.276, 0.081, 0.003\ (T = 16, 128, 4096)",
    page="Section 3.3, Lemma 2",
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
    draws = kept(0.02)
    return (
        ps.agree(limit.mean("class"), 0.690, atol=last_digit(1e-3), what="top logit, endless")
        & ps.at_most(off, draws, "deviation from the expected lead")
        & ps.decreasing(mean, "lead of the top logit", along="seq_length")
        & ps.positive(mean.sel(seq_length=[16, 128]), "lead at T = 16 and 128")
        & ps.agree(
            endless.corr.mean(("class", "other_class")), endless.rho / 2, rtol=EXACT, what="rho"
        )
        & ps.agree(endless.lambda1, endless.rho, rtol=EXACT, what="lambda_1 of two classes")
        & ps.reached(endless)
    )


claims = (
    gradients_are_as_written,
    long_sequences_have_the_population_gradient,
    finite_sequences_deviate_like_one_over_the_length,
    shares_of_tokens_concentrate,
    short_sequences_make_attention_sparser,
)
