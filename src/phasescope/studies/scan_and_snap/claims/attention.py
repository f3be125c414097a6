"""Section 5: which tokens gain attention and which lose it (Theorem 2)."""

from __future__ import annotations

import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import after_start, moving
from . import evidence, tables
from .bounds import MOVED, kept
from .premises import slow_attention, slow_compared

_random = {"sets": 60, "classes": 4, "distinct": 2, "eta_Z": 0.1, "steps": 400}
MIXTURES = ps.tables(tables.mixtures.random_mixtures, common=5, shape=0.5, **_random)
SINGLE = ps.tables(tables.mixtures.random_mixtures, common=1, shape=0.5, **_random)
ALIKE = ps.tables(tables.mixtures.random_mixtures, common=5, shape=None, **_random)
STRONG = "Assumption 2: classes overlap strongly"


def have_moved(logits: xr.DataArray) -> ps.Verdict:
    """The logits are not all the same."""
    return ps.guard(ps.at_least(logits.std(), MOVED, "spread of the logits"))


@claim(
    "Theorem 2 (a)",
    on("printed equations", *evidence.inside_theory),
    on("population", *evidence.inside_true),
    on("population", evidence.small, MIXTURES, breaks=STRONG),
    on(
        "training",
        evidence.figure_5_later,
        expect="outside",
        breaks="gradient descent: this is Adam",
        because="Adam takes logits away from the frequent distinct tokens: {measured}",
    ),
    id="thm2-a",
    aliases=("C16",),
    kind="sign",
    tex=r"\dot z_l > 0,\ l \in G_{DT}(n)",
    page="Section 5, Theorem 2 (a)",
    assumes=slow_attention,
    varies=("eta_Z",),
)
def distinct_tokens_gain_attention(*datasets):
    """Every distinct token's logit is above its start: at every record of a run, at the end of
    training on each of 60 random mixtures."""
    logits = [moving(ds).z_dt for ds in datasets]
    runs = [ds for ds in datasets if "time" in ds.dims]
    return (
        ps.all_of(ps.positive(after_start(z), "z of distinct tokens") for z in logits)
        & ps.all_of(map(have_moved, logits))
        & ps.all_of(map(ps.reached, runs))
    )


@claim(
    "Theorem 2 (b)",
    on("printed equations", *evidence.inside_theory),
    on("population", *evidence.inside_true),
    on("population", evidence.one, SINGLE, breaks=STRONG),
    id="thm2-b",
    aliases=("C17",),
    kind="sign",
    tex=r"\dot z_l < 0,\ G_{CT} = \{l\}",
    page="Section 5, Theorem 2 (b)",
    assumes=slow_attention,
    varies=("eta_Z",),
)
def a_single_common_token_loses_attention(*datasets):
    """If there is one common token, its logit falls below its start: at every record of a run, at
    the end of training on 60 random mixtures of four classes whose frequencies of it differ."""
    logits = [moving(ds).z_ct for ds in datasets]
    falls = ps.all_of(ps.negative(after_start(z), "z of the common token") for z in logits)
    return falls & ps.all_of(map(have_moved, logits))


@claim(
    "Corollary 2",
    on("printed equations", *evidence.inside_several_theory),
    on("population", *evidence.inside_several),
    on(
        "population",
        MIXTURES,
        expect="outside",
        breaks="shared conditional probability of common tokens",
        because="with different frequencies in different classes some common tokens gain: {measured}",
    ),
    id="cor2",
    aliases=("C18",),
    kind="sign",
    tex=r"\dot z_l < 0,\ l \in G_{CT},\ P(l|n) = \rho_l",
    page="Appendix C, Corollary 2",
    assumes=slow_attention,
    varies=("eta_Z",),
)
def alike_common_tokens_lose_attention(*datasets):
    """Several common tokens, each as frequent in every class as the others, all lose attention."""
    later = [after_start(moving(ds).z_ct) for ds in datasets]
    return ps.all_of(ps.negative(z, "z of common tokens") & have_moved(z) for z in later)


@claim(
    "Corollary 2 outside its conditions (ours)",
    on("population", evidence.small, evidence.small_theory, ALIKE),
    id="ours-cor2-wider",
    kind="sign",
    whose="ours",
    tex=r"\dot z_l < 0,\ l \in G_{CT}",
    page="Appendix C, Corollary 2",
    assumes=slow_compared,
)
def alike_common_tokens_lose_attention_more_widely(*datasets):
    """Common tokens that are equally frequent in all classes lose attention in strong correlation,
    too, and where the distinct tokens of the classes differ."""
    later = [after_start(moving(ds).z_ct) for ds in datasets]
    return ps.all_of(ps.negative(z, "z of common tokens") & have_moved(z) for z in later)


@claim(
    "Corollary 2: its boundary (ours)",
    on("population", MIXTURES),
    id="ours-cor2-boundary",
    aliases=("C18-share",),
    kind="regression",
    whose="ours",
    tex=r"\#\{z_l > 0\}/\#G_{CT} = 0.09 \text{ to } 0.13",
    page="Appendix C, Corollary 2",
)
def some_common_tokens_gain_attention(table):
    """With Gamma(1/2) frequencies of five common tokens and two distinct tokens with Gamma(1)
    ones in four classes, 9% to 13% of the common logits grow, and none of the distinct ones
    falls. Other mixtures have other shares: 6% to 23%."""
    share = (table.z_ct > 0).mean()
    low = kept(0.09)
    high = kept(0.13)
    some_grow = ps.within(share, low, high, "share of common logits that grow")
    top = ps.agree(table.z_dt.max(), 0.6375, rtol=kept(1e-3), what="largest logit")
    return some_grow & ps.positive(table.z_dt, "z of distinct tokens") & top


claims = (
    distinct_tokens_gain_attention,
    a_single_common_token_loses_attention,
    alike_common_tokens_lose_attention,
    alike_common_tokens_lose_attention_more_widely,
    some_common_tokens_gain_attention,
)
