"""Claims about the decoder of the experiments: Figures 1a, 2, 5, 6, 7, and what we found beside them.

Published: layer normalisation and no residual stream. Theory: neither, as in the theorems. Beyond: both. Every row stands on
five seeds at equal updates.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..decoder.observables import order
from . import recorded
from .comparing import ahead, concentration, fall_within, reach, solved

FAILS = ps.Outcome.FAILS
norm, plain, residual = (
    tuple(x.values()) for x in (recorded.norm, recorded.plain, recorded.residual)
)


@ps.claim(
    "Figure 1a",
    ps.published(*norm, expect=FAILS, because="at equal updates S5 reaches as far or further"),
    ps.theory(*plain, expect=FAILS, because="at equal updates both reach equally far"),
    ps.beyond(*residual, expect=FAILS, because="at equal updates S5 reaches as far or further"),
    id="F1a",
)
def the_cyclic_task_extrapolates_further(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """At equal updates on fresh chains of length 5, C6 is solved at greater lengths than S5: its accuracy over log
    length reaches half an octave further, a tenth of the five octaves that were tested."""
    a, b = (reach(run.accuracy.isel(time=-1)) for run in (cyclic, symmetric))
    return ahead(a, b, "reach of C6 - S5", by=0.1) & solved(cyclic, "C6") & solved(symmetric, "S5")


@ps.claim("ours, on Figure 1a", ps.published(*norm), id="F1a-updates")
def updates_move_the_curve_after_the_task_is_solved(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """From 10,000 to 20,000 updates the reach grows for both groups, though the training length was solved before."""
    found = []
    for name, run in (("C6", cyclic), ("S5", symmetric)):
        half = run.accuracy.sel(time=10_000)
        end = run.accuracy.sel(time=20_000)
        before = half.isel(test_length=0).mean("seed", skipna=False)
        found += [
            ahead(reach(end), reach(half), f"{name}: reach after 20,000 - 10,000 updates"),
            ps.within(before, 0.99, 1.0, f"{name}: accuracy at the training length after 10,000"),
        ]
    return ps.all_of(found)


@ps.claim(
    "Theorems 4.1 and 5.1, in the decoder",
    ps.published(*norm, expect=FAILS, because="trained end to end, S5 concentrates more than C6"),
    ps.theory(*plain, expect=FAILS, because="trained end to end, S5 concentrates more than C6"),
    ps.beyond(*residual, expect=FAILS, because="trained end to end, S5 concentrates more than C6"),
    id="separation-decoder",
)
def the_cyclic_task_concentrates_attention_more(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """Attention on the two right clauses, at four times the training length, is greater for C6 than for S5."""
    ours = concentration(cyclic, 20)
    theirs = concentration(symmetric, 20)
    shares = ps.within(ours, 0.0, 1.0, "C6") & ps.within(theirs, 0.0, 1.0, "S5")
    return ahead(ours, theirs, "attention on the right clauses, C6 - S5") & ps.guard(shares)


@ps.claim("Figure 2", ps.published(*norm), ps.theory(*plain), id="F2")
def attention_has_two_bands(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """Averaged over heads and seeds, answer l looks at predicate l + 1 and at itself; each of both gets at least 4
    times what any other clause gets."""
    found = []
    for name, run in (("C6", cyclic), ("S5", symmetric)):
        heat = run.heat.isel(stage_end=-1).mean(("seed", "head"), skipna=False)
        L = heat.sizes["query"]
        bands = (heat.clause == heat["query"]) | (heat.clause == L + heat["query"])
        least = heat.where(bands).min("clause")
        most = heat.where(~bands).max("clause")
        share = heat.sum("clause", skipna=False)
        found += [
            ps.at_least(least - 4 * most, 0.0, f"{name}: weaker band - 4 x strongest other clause"),
            ps.agree(share, xr.ones_like(share), atol=1e-5, what=f"{name}: attention in all"),
        ]
    return ps.all_of(found)


@ps.claim("Figure 5", ps.published(*norm), ps.theory(*plain), ps.beyond(*residual), id="F5")
def the_predicate_band_follows_the_order_of_the_predicates(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """With the predicates in another order, attention is that of Figure 2 with its columns in that order, exactly;
    so the band moves with them."""
    found = []
    for name, run in (("C6", cyclic), ("S5", symmetric)):
        L = run.sizes["query"]
        back = [*np.argsort(order(L)), *range(L, 2 * L)]
        undone = run.heat_permuted.isel(clause=back).assign_coords(clause=run.clause)
        found.append(
            ps.agree(undone, run.heat, atol=1e-6, what=f"{name}: attention after undoing the order")
        )
        moved = (
            abs(run.heat_permuted - run.heat).max(("clause", "query")).mean("head", skipna=False)
        )
        found.append(ps.at_least(moved, 0.3, f"{name}: largest change of an entry"))
    return ps.all_of(found)


@ps.claim("Figure 6", ps.published(norm[0]), id="F6-cyclic")
def predicate_attention_is_flat_for_the_cyclic_task(cyclic: xr.Dataset) -> ps.Verdict:
    """At length 20 the attention of C6 on the right predicate changes by less than a tenth along the chain."""
    return fall_within(cyclic, "predicate", -0.1, 0.1)


@ps.claim(
    "Figure 6",
    ps.published(norm[1], expect=FAILS, because="it is as flat as for C6"),
    id="F6-symmetric",
)
def predicate_attention_decays_for_the_symmetric_task(symmetric: xr.Dataset) -> ps.Verdict:
    """At length 20 the attention of S5 on the right predicate falls by more than a tenth along the chain."""
    return fall_within(symmetric, "predicate", 0.1, 1.0)


@ps.claim("Figure 6", ps.published(*norm), id="F6-length")
def predicate_attention_is_lower_on_longer_chains(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """In every seed the attention on the right predicate, mean over steps, falls from length 10 to length 20, by less
    than the half that even spreading would take."""
    found = []
    for name, run in (("C6", cyclic), ("S5", symmetric)):
        last = run.attention_predicate.isel(time=-1)
        ten, twenty = (
            last.sel(test_length=n).isel(step=slice(n)).mean("step", skipna=False) for n in (10, 20)
        )
        found += [
            ps.within(twenty / ten, 0.5, 0.99, f"{name}: attention at 20 over attention at 10"),
            ps.within(ten, 0.1, 0.6, f"{name}: attention at 10"),
        ]
    return ps.all_of(found)


@ps.claim("Figure 7", ps.published(norm[0]), id="F7-cyclic")
def answer_attention_decays_for_the_cyclic_task(cyclic: xr.Dataset) -> ps.Verdict:
    """At length 20 the attention of an answer of C6 on itself falls by more than a quarter along the chain."""
    return fall_within(cyclic, "answer", 0.25, 1.0)


@ps.claim(
    "Figure 7",
    ps.published(
        norm[1], expect=FAILS, because="it decays as for C6: earlier answers take their share"
    ),
    id="F7-symmetric",
)
def answer_attention_is_stable_for_the_symmetric_task(symmetric: xr.Dataset) -> ps.Verdict:
    """At length 20 the attention of an answer of S5 on itself changes by less than a tenth along the chain."""
    return fall_within(symmetric, "answer", -0.1, 0.1)


claims = (
    the_cyclic_task_extrapolates_further,
    updates_move_the_curve_after_the_task_is_solved,
    the_cyclic_task_concentrates_attention_more,
    attention_has_two_bands,
    the_predicate_band_follows_the_order_of_the_predicates,
    predicate_attention_is_flat_for_the_cyclic_task,
    predicate_attention_decays_for_the_symmetric_task,
    predicate_attention_is_lower_on_longer_chains,
    answer_attention_decays_for_the_cyclic_task,
    answer_attention_is_stable_for_the_symmetric_task,
)
