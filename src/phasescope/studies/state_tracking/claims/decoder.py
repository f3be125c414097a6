"""Claims about the decoder of the experiments on fresh chains: all ours, for the paper trains on a fixed set (`section_7`).

Three variants: with layer normalisation, without, and with a residual stream as well; five seeds and 20,000 updates each.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..decoder.observables import order
from . import recorded
from .comparing import (
    HALF_OCTAVE,
    SHARED,
    SOME,
    ahead,
    concentration,
    ends_somewhere,
    is_a_band,
    not_ahead,
    reach,
    relative_fall,
    solved,
)
from .premises import theorems

norm = tuple(recorded.norm.values())
plain = tuple(recorded.plain.values())
residual = tuple(recorded.residual.values())
VARIANTS = ("layer normalisation", "plain", "residual stream")
GROUPS = ("C6", "S5")
PAGE = "Section 7; fresh chains at every update in place of a fixed set"
ROUNDING = ps.chosen(1e-6, "rounding of 32-bit numbers")


def _pairs(runs) -> list[tuple[str, xr.Dataset, xr.Dataset]]:
    """Variant, C6 and S5."""
    return list(zip(VARIANTS, runs[0::2], runs[1::2], strict=False))


@claim(
    "ours, on Figure 1a: fresh chains",
    on("training", *norm, *plain, *residual),
    id="ours-fresh-contrast",
    aliases=("F1a",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{C_6} - \mathrm{Acc}_{S_5} < \tfrac12 \text{ octave}",
    page=PAGE,
    assumes=theorems,
)
def on_fresh_chains_the_cyclic_task_is_not_ahead(*runs: xr.Dataset) -> ps.Verdict:
    """At equal updates on fresh chains of length 5, C6 reaches less than half an octave further than S5, in each of the three
    variants: the area under accuracy over log length, last record."""
    found = []
    for name, cyclic, symmetric in _pairs(runs):
        a = reach(cyclic.accuracy.isel(time=-1))
        b = reach(symmetric.accuracy.isel(time=-1))
        found += [
            not_ahead(a, b, f"{name}: reach of S5 - C6", HALF_OCTAVE),
            ends_somewhere(a, b),
            solved(cyclic, "C6"),
            solved(symmetric, "S5"),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Figure 1a: updates",
    on("training", *norm),
    id="ours-fresh-updates",
    aliases=("F1a-updates",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}(L; 20\,000) > \mathrm{Acc}(L; 10\,000)",
    page=PAGE,
    assumes=theorems,
)
def updates_move_the_curve_after_the_task_is_solved(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """From 10,000 to 20,000 updates the reach grows for both groups, though the training length was solved before."""
    almost = ps.chosen(0.99, "solved")
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        half = run.accuracy.sel(time=10_000)
        end = run.accuracy.sel(time=20_000)
        before = half.isel(test_length=0).mean("seed", skipna=False)
        found += [
            ahead(reach(end), reach(half), f"{name}: reach after 20,000 - 10,000 updates"),
            ps.guard(ps.within(before, almost, 1.0, f"{name}: accuracy at L = 5 after 10,000")),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Theorems 4.1 and 5.1: the decoder's attention",
    on("training", *norm, *plain, *residual),
    id="ours-fresh-attention",
    aliases=("separation-decoder",),
    kind="order",
    whose="ours",
    tex=r"\epsilon_{S_5} < \epsilon_{C_6}",
    page=PAGE + "; the theorems are about another model",
    assumes=theorems,
)
def trained_end_to_end_the_symmetric_task_concentrates_more(*runs: xr.Dataset) -> ps.Verdict:
    """Attention on the two right clauses, at four times the training length, is greater for S5 than for C6, in each of the three
    variants."""
    found = []
    for name, cyclic, symmetric in _pairs(runs):
        ours = concentration(cyclic, 20)
        theirs = concentration(symmetric, 20)
        found += [
            ahead(theirs, ours, f"{name}: attention on the right clauses, S5 - C6"),
            ps.guard(ps.within(ours, 0.0, 1.0, "C6") & ps.within(theirs, 0.0, 1.0, "S5")),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Figure 2: fresh chains",
    on("training", *norm, *plain),
    id="ours-fresh-bands",
    aliases=("F2",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Attn}_{\ell \to \mathrm{pred},\ell+1}, \mathrm{Attn}_{\ell \to \mathrm{ans},\ell} \ge 4 \times \text{others}",
    page=PAGE,
    assumes=theorems,
)
def attention_has_two_bands(*runs: xr.Dataset) -> ps.Verdict:
    """Averaged over heads and seeds, answer l looks at predicate l + 1 and at itself; each of both gets at least 4 times what any
    other clause gets, with and without layer normalisation."""
    found = []
    for name, run in zip(GROUPS * 2, runs, strict=False):
        heat = run.heat.isel(stage_end=-1).mean(("seed", "head"), skipna=False)
        L = heat.sizes["query"]
        bands = (heat.clause == heat["query"]) | (heat.clause == L + heat["query"])
        least = heat.where(bands).min("clause")
        most = heat.where(~bands).max("clause")
        share = heat.sum("clause", skipna=False)
        found += [
            ps.positive(least - 4 * most, f"{name}: weaker band - 4 x strongest other clause"),
            ps.guard(
                ps.agree(share, xr.ones_like(share), atol=10 * ROUNDING, what="attention in all")
            ),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Figure 5: fresh chains",
    on("training", *norm, *plain, *residual),
    id="ours-fresh-order",
    aliases=("F5",),
    kind="approx",
    whose="ours",
    tex=r"\mathrm{Attn}(\pi Z) = \pi\, \mathrm{Attn}(Z)",
    page=PAGE,
    assumes=theorems,
)
def the_predicate_band_follows_the_order_of_the_predicates(*runs: xr.Dataset) -> ps.Verdict:
    """With the predicates in another order, attention is that of Figure 2 with its columns in that order, exactly; so the band
    moves with them."""
    seen = ps.chosen(0.3, "most of what a band of one half can move")
    found = []
    for name, run in zip(GROUPS * 3, runs, strict=False):
        L = run.sizes["query"]
        back = [*np.argsort(order(L)), *range(L, 2 * L)]
        undone = run.heat_permuted.isel(clause=back).assign_coords(clause=run.clause)
        moved = abs(run.heat_permuted - run.heat).max(("clause", "query"))
        found += [
            ps.agree(undone, run.heat, atol=ROUNDING, what=f"{name}: after undoing the order"),
            ps.guard(
                ps.at_least(moved.mean("head", skipna=False), seen, f"{name}: largest change")
            ),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Figures 6 and 7: fresh chains",
    on("training", *norm),
    id="ours-fresh-falls",
    aliases=("F6-cyclic", "F6-symmetric", "F7-cyclic", "F7-symmetric"),
    kind="order",
    whose="ours",
    tex=r"\text{fall of } \mathrm{Attn}_{\mathrm{ans},\ell} > 2 \times \text{fall of } \mathrm{Attn}_{\mathrm{pred},\ell+1}",
    page=PAGE,
    assumes=theorems,
)
def answer_attention_falls_more_than_predicate_attention(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """Along chains of length 20 attention on the answer falls by more than twice the part by which that on the predicate falls,
    for C6 and for S5 alike."""
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        on_answers = relative_fall(run, "answer")
        on_predicates = relative_fall(run, "predicate")
        found += [
            ps.positive(
                on_answers - 2 * abs(on_predicates), f"{name}: fall, answer - 2 x predicate"
            ),
            is_a_band(run, "answer"),
            is_a_band(run, "predicate"),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Figure 6: length",
    on("training", *norm),
    id="ours-fresh-length",
    aliases=("F6-length",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Attn}^{L=20}_{\mathrm{pred}} < \mathrm{Attn}^{L=10}_{\mathrm{pred}}",
    page=PAGE,
    assumes=theorems,
)
def predicate_attention_is_lower_on_longer_chains(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """In every seed the attention on the right predicate, mean over steps, falls from length 10 to length 20, by less than the
    half that even spreading would take."""
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        last = run.attention_predicate.isel(time=-1)
        ten, twenty = (
            last.sel(test_length=n).isel(step=slice(n)).mean("step", skipna=False) for n in (10, 20)
        )
        found += [
            ps.positive(ten - twenty, f"{name}: attention at 10 - at 20"),
            ps.positive(twenty - ten / 2, f"{name}: attention at 20 - half of that at 10"),
            ps.guard(ps.within(ten, SOME, SHARED, f"{name}: attention at 10")),
        ]
    return ps.all_of(found)


claims = (
    on_fresh_chains_the_cyclic_task_is_not_ahead,
    updates_move_the_curve_after_the_task_is_solved,
    trained_end_to_end_the_symmetric_task_concentrates_more,
    attention_has_two_bands,
    the_predicate_band_follows_the_order_of_the_predicates,
    answer_attention_falls_more_than_predicate_attention,
    predicate_attention_is_lower_on_longer_chains,
)
