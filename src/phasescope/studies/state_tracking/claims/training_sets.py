"""Claims about fixed training sets: at which size the contrast of Figure 1a appears, and with what.

All sets are fitted (20,000 updates, training loss below 1e-3); they differ in nothing but their size.
"""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from . import recorded
from .comparing import ahead, concentration, reach, solved

UNDECIDED = ps.Outcome.UNDECIDED
both = tuple(recorded.fixed.values())
SMALL = (2_000, 10_000)
MIDDLE = 50_000
LARGE = 500_000


def _further(cyclic: xr.Dataset, symmetric: xr.Dataset, size: int, by: float = 0.0) -> ps.Verdict:
    """C6 reaches further than S5 on sets of this size."""
    a, b = (reach(run.accuracy.isel(time=-1).sel(dataset=size)) for run in (cyclic, symmetric))
    return ahead(a, b, f"{size:,} chains: reach of C6 - S5", by)


def _sharper(cyclic: xr.Dataset, symmetric: xr.Dataset, size: int) -> ps.Verdict:
    """C6 is more concentrated than S5 on sets of this size."""
    a, b = (concentration(run.sel(dataset=size), 20) for run in (cyclic, symmetric))
    return ahead(a, b, f"{size:,} chains: attention on the right clauses, C6 - S5")


def _fitted(*runs: xr.Dataset) -> ps.Verdict:
    last = [run.loss.isel(time=-1).mean("seed", skipna=False) for run in runs]
    return ps.all_of([ps.within(loss, 0.0, 1e-3, "training loss") for loss in last])


@ps.claim(
    "ours, on Figure 1a",
    ps.published(recorded.fixed["sets_C6"], recorded.norm["norm_C6"]),
    id="F1a-set-cyclic",
)
def a_set_of_50000_serves_the_cyclic_task_as_well_as_fresh_chains(
    sets: xr.Dataset, fresh: xr.Dataset
) -> ps.Verdict:
    """C6 trained on 50,000 chains reaches within half an octave of what fresh chains give; on 2,000 it falls behind at twice
    the training length already."""
    from_fresh = fresh.accuracy.isel(time=-1)
    from_sets = sets.accuracy.isel(time=-1)
    lost = reach(from_fresh).mean("seed", skipna=False) - reach(from_sets).mean(
        "seed", skipna=False
    )
    ten = from_sets.sel(test_length=10).mean("seed", skipna=False)
    return (
        ps.within(lost.sel(dataset=50_000), -0.1, 0.1, "reach lost on 50,000 chains")
        & ps.within(ten.sel(dataset=50_000), 0.99, 1.0, "accuracy at length 10 on 50,000 chains")
        & ps.within(ten.sel(dataset=2000), 0.0, 0.95, "accuracy at length 10 on 2,000 chains")
    )


@ps.claim("ours, on Figure 1a", ps.published(*both), id="F1a-sets-small")
def on_small_training_sets_the_contrast_appears(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """On 2,000 and on 10,000 training chains C6 reaches half an octave further than S5, though both fit them."""
    found = [_further(cyclic, symmetric, size, by=0.1) for size in SMALL]
    return ps.all_of(found) & _fitted(cyclic, symmetric)


@ps.claim("ours, on Figure 1a", ps.published(*both), id="F1a-sets-picture")
def on_50000_chains_the_published_picture_is_there(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """On 50,000 training chains both groups solve the training length, and S5 falls behind C6 on longer ones: over all
    lengths, and at eight times the training length."""
    a, b = (run.sel(dataset=MIDDLE) for run in (cyclic, symmetric))
    far_a, far_b = (run.accuracy.isel(time=-1).sel(test_length=40) for run in (a, b))
    longer = ahead(far_a, far_b, "accuracy of C6 - S5 at length 40")
    return _further(cyclic, symmetric, MIDDLE) & longer & solved(a, "C6") & solved(b, "S5")


@ps.claim(
    "ours, on Figure 1a",
    ps.published(
        *both,
        expect=UNDECIDED,
        because="by 0.12 in the mean, but the interval of five seeds is 0.01 to 0.23",
    ),
    id="F1a-sets-half-octave",
)
def on_50000_chains_it_is_half_an_octave(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """On 50,000 training chains C6 reaches half an octave further than S5, the margin asked of fresh chains."""
    return _further(cyclic, symmetric, MIDDLE, by=0.1)


@ps.claim("ours, on Figure 1a", ps.published(*both), id="F1a-sets-large")
def on_500000_chains_the_contrast_is_reversed(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """On 500,000 training chains S5 reaches further than C6, and both solve the training length."""
    a, b = (run.sel(dataset=LARGE) for run in (cyclic, symmetric))
    reach_a, reach_b = (reach(run.accuracy.isel(time=-1)) for run in (a, b))
    return ahead(reach_b, reach_a, "reach of S5 - C6") & solved(a, "C6") & solved(b, "S5")


@ps.claim("ours, on Figure 1a", ps.published(both[1]), id="F1a-sets-overfits")
def the_symmetric_task_overfits_where_it_falls_behind(symmetric: xr.Dataset) -> ps.Verdict:
    """Up to 50,000 training chains the loss of S5 on fresh chains of the same length is at least 10 times that on its own
    chains; at 500,000 it is less than twice."""
    last = symmetric.isel(time=-1).mean("seed", skipna=False)
    ratio = last.test_loss / last.loss
    return (
        ps.at_least(
            ratio.sel(dataset=[*SMALL, MIDDLE]),
            10.0,
            "loss on fresh chains over training loss, to 50,000",
        )
        & ps.within(ratio.sel(dataset=LARGE), 0.5, 2.0, "the same at 500,000")
        & _fitted(symmetric)
    )


@ps.claim("Theorems 4.1 and 5.1, in the decoder", ps.published(*both), id="sets-attention-small")
def on_small_sets_attention_differs_too(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """On 2,000 and on 10,000 training chains attention at length 20 is more concentrated for C6 than for S5."""
    return ps.all_of([_sharper(cyclic, symmetric, size) for size in SMALL])


@ps.claim(
    "Theorems 4.1 and 5.1, in the decoder",
    ps.published(
        *both,
        expect=UNDECIDED,
        because="S5 is the more concentrated in the mean (0.67 against 0.61), within the spread of seeds",
    ),
    id="sets-attention-picture",
)
def where_the_picture_is_there_attention_explains_it(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """On 50,000 training chains, where C6 reaches further, its attention at length 20 is more concentrated than that of S5."""
    return _sharper(cyclic, symmetric, MIDDLE)


claims = (
    a_set_of_50000_serves_the_cyclic_task_as_well_as_fresh_chains,
    on_small_training_sets_the_contrast_appears,
    on_50000_chains_the_published_picture_is_there,
    on_50000_chains_it_is_half_an_octave,
    on_500000_chains_the_contrast_is_reversed,
    the_symmetric_task_overfits_where_it_falls_behind,
    on_small_sets_attention_differs_too,
    where_the_picture_is_there_attention_explains_it,
)
