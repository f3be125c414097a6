"""Section 7: the attention of Figures 2, 5, 6 and 7 at the paper's own protocol; see `section_7_reach`."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..decoder.observables import order
from .paired import (
    band_mean,
    converged,
    fall,
    is_a_band,
    more,
)
from .section_7_reach import C6, GROUPS, S5, SPIKE


@claim(
    "Figure 2",
    on("training", C6, S5, expect="undecided", because=SPIKE),
    id="fig2",
    kind="figure",
    tex=r"\mathrm{Attn}_{\mathrm{ans},\ell \to \mathrm{pred},\ell+1},\ "
    r"\mathrm{Attn}_{\mathrm{ans},\ell \to \mathrm{ans},\ell} \gg \text{all others}",
    page="Section 7, Figure 2: two clear diagonals with concentrated mass",
)
def attention_has_two_diagonals(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """Averaged over heads and seeds, answer l looks at predicate l + 1 and at itself; each of both gets at least 4 times what
    any other clause gets."""
    times = ps.chosen(4.0, "a diagonal that is seen")
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        heat = run.heat.isel(stage_end=-1).mean(("seed", "head"), skipna=False)
        L = heat.sizes["query"]
        bands = (heat.clause == heat["query"]) | (heat.clause == L + heat["query"])
        least = heat.where(bands).min("clause")
        most = heat.where(~bands).max("clause")
        in_all = heat.sum("clause", skipna=False)
        rounding = ps.chosen(1e-5, "rounding of 32-bit numbers")
        found += [
            ps.at_least(least / most, times, f"{name}: weaker diagonal / strongest other clause"),
            ps.guard(
                ps.agree(
                    in_all, xr.ones_like(in_all), atol=rounding, what=f"{name}: attention in all"
                )
            ),
        ]
    return ps.all_of(found) & converged(cyclic, symmetric)


@claim(
    "Figure 5",
    on("training", C6, S5, expect="undecided", because=SPIKE),
    id="fig5",
    kind="figure",
    tex=r"\mathrm{Attn}(\pi Z) = \pi\, \mathrm{Attn}(Z)",
    page="Section 7, Figure 5: retrieval is keyed to the shared variable rather than absolute position",
)
def attention_follows_the_order_of_the_predicates(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """With the predicates in another order, attention is that of Figure 2 with its columns in that order; so the band moves
    with them."""
    rounding = ps.chosen(1e-5, "rounding of 32-bit numbers")
    seen = ps.chosen(0.3, "most of what a band of one half can move")
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        L = run.sizes["query"]
        back = [*np.argsort(order(L)), *range(L, 2 * L)]
        undone = run.heat_permuted.isel(clause=back).assign_coords(clause=run.clause)
        moved = abs(run.heat_permuted - run.heat).max(("clause", "query"))
        found += [
            ps.agree(
                undone, run.heat, atol=rounding, what=f"{name}: attention after undoing the order"
            ),
            ps.guard(
                ps.at_least(
                    moved.mean("head", skipna=False), seen, f"{name}: largest change of an entry"
                )
            ),
        ]
    return ps.all_of(found) & converged(cyclic, symmetric)


@claim(
    "Figures 6 and 7: length",
    on("training", C6, S5, expect="undecided", because=SPIKE),
    id="fig6-fig7-length",
    kind="figure",
    tex=r"\mathrm{Attn}^{L=20} < \mathrm{Attn}^{L=10}",
    page="Section 7: both decrease as the task length increases from 10 to 20",
)
def both_bands_are_lower_on_longer_chains(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """Attention on the right predicate and on the right answer, mean over steps, is lower at L = 20 than at L = 10, for both
    groups, in the mean over seeds."""
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        for band in ("predicate", "answer"):
            ten = band_mean(run, band, 10).mean("seed", skipna=False)
            twenty = band_mean(run, band, 20).mean("seed", skipna=False)
            found += [
                ps.positive(ten - twenty, f"{name}: attention on the {band}, 10 - 20"),
                is_a_band(run, band, 10),
            ]
    return ps.all_of(found) & converged(cyclic, symmetric)


@claim(
    "Figure 6: the contrast",
    on("training", C6, S5, expect="undecided", because="both are flat: {parts[0].measured}"),
    id="fig6-contrast",
    kind="figure",
    tex=r"\text{fall of } \mathrm{Attn}_{\mathrm{pred},\ell+1} \text{ along the chain}: S_5 > C_6",
    page="Section 7, Figure 6: decays with position for the symmetry group; the cyclic group shows no comparable decay",
)
def predicate_attention_falls_more_for_the_symmetric_task(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """Along chains of L = 20 attention on the right predicate falls by a greater part for S5 than for C6, by the interval of
    paired seeds."""
    return _falls_more(symmetric, cyclic, "predicate", "S5 - C6")


@claim(
    "Figure 6: the cyclic task",
    on("training", C6),
    id="fig6-cyclic",
    kind="figure",
    tex=r"\mathrm{Attn}_{\mathrm{pred},\ell+1} \approx \text{const in } \ell",
    page="Section 7, Figure 6: attention remaining fairly uniform across lengths and positions",
)
def predicate_attention_is_even_for_the_cyclic_task(cyclic: xr.Dataset) -> ps.Verdict:
    """Along chains of L = 20 attention on the right predicate changes by less than a tenth for C6, mean over seeds."""
    tenth = ps.chosen(0.1, "fairly uniform: a tenth")
    falls = fall(cyclic, "predicate", 20).mean("seed", skipna=False)
    even = ps.within(falls, -tenth, tenth, "relative fall along the chain")
    return even & is_a_band(cyclic, "predicate", 20) & converged(cyclic)


@claim(
    "Figure 6: the symmetric task",
    on(
        "training",
        S5,
        expect="undecided",
        because="it is flat with these guesses: falls by {value:.2g}",
    ),
    id="fig6-symmetric",
    kind="figure",
    tex=r"\mathrm{Attn}_{\mathrm{pred},\ell+1} \text{ falls with } \ell",
    page="Section 7, Figure 6: a visible drop at later predicate locations",
)
def predicate_attention_drops_visibly_for_the_symmetric_task(symmetric: xr.Dataset) -> ps.Verdict:
    """Along chains of L = 20 attention on the right predicate falls by more than a tenth for S5, mean over seeds."""
    tenth = ps.chosen(0.1, "a visible drop: a tenth")
    falls = fall(symmetric, "predicate", 20).mean("seed", skipna=False)
    drops = ps.within(falls, tenth, 1.0, "relative fall along the chain")
    return drops & is_a_band(symmetric, "predicate", 20) & converged(symmetric)


@claim(
    "Figure 7: the contrast",
    on("training", C6, S5, expect="undecided", because=SPIKE),
    id="fig7-contrast",
    kind="figure",
    tex=r"\text{fall of } \mathrm{Attn}_{\mathrm{ans},\ell} \text{ along the chain}: C_6 > S_5",
    page="Section 7, Figure 7: more stable for the symmetry group, the cyclic case is more sensitive",
)
def answer_attention_falls_more_for_the_cyclic_task(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """Along chains of L = 20 the attention of an answer on itself falls by a greater part for C6 than for S5, by the interval
    of paired seeds."""
    return _falls_more(cyclic, symmetric, "answer", "C6 - S5")


def _falls_more(a: xr.Dataset, b: xr.Dataset, band: str, names: str) -> ps.Verdict:
    apart = more(fall(a, band, 20), fall(b, band, 20), f"fall of attention on the {band}, {names}")
    bands = is_a_band(a, band, 20) & is_a_band(b, band, 20)
    return apart & ps.guard(bands) & converged(a, b)


claims = (
    attention_has_two_diagonals,
    attention_follows_the_order_of_the_predicates,
    both_bands_are_lower_on_longer_chains,
    predicate_attention_falls_more_for_the_symmetric_task,
    predicate_attention_is_even_for_the_cyclic_task,
    predicate_attention_drops_visibly_for_the_symmetric_task,
    answer_attention_falls_more_for_the_cyclic_task,
)
