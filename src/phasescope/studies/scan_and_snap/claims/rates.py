"""Section 6 (b), (c) and Figure 6: how the two step sizes set the sparsity."""

from __future__ import annotations

from itertools import chain

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import entropy_of, over_seeds
from . import evidence


def mean_entropy(sweep: xr.Dataset) -> xr.DataArray:
    """Entropy among distinct tokens at the end, over classes and, if there are some, seeds."""
    found = entropy_of(sweep)
    return over_seeds(found)[0] if "seed" in found.dims else found


def at_equal_clock(sweep: xr.Dataset, clock: float = 256.0) -> xr.DataArray:
    """Entropy at one eta_Z t, for each eta_Z."""
    lanes = []
    for eta in sweep.eta_Z.values:
        lane = sweep.sel(eta_Z=eta).sel(time=clock / eta)
        lanes.append(lane.drop_vars(["time", "stage"], errors="ignore"))
    return xr.concat(lanes, "eta_Z").dt_entropy.mean("class", skipna=False)


@ps.claim(
    "Section 6 (b)",
    ps.published(*evidence.figure_6.values()),
    ps.theory(
        evidence.rescaled,
        expect=ps.Outcome.FAILS,
        because="in flow it is a change of clock: the same path, passed sooner",
    ),
    ps.beyond(
        evidence.twin,
        expect=ps.Outcome.FAILS,
        because="endless sequences from zero, K = 2, ratio 10: 2.117 at eta_Z = 0.5, but 2.125 at 3",
    ),
    id="C24",
)
def larger_rates_make_attention_sparser(*sweeps):
    """At a fixed ratio of rates the entropy among distinct tokens falls from each eta_Z to the
    next larger one, in every column (K, ratio). In flow it is compared at equal eta_Y t, since
    the theory is about the attention that remains."""

    def judge(sweep):
        if sweep.sizes["time"] > 10:
            fall = -at_equal_clock(sweep).diff("eta_Z")
            return ps.at_least(fall, 1e-3, "fall of the entropy at equal eta_Y t")
        return ps.decreasing(mean_entropy(sweep), "entropy", along="eta_Z")

    return ps.all_of(map(judge, sweeps)) & ps.all_of(map(ps.reached, sweeps))


@ps.claim("Section 6 (b) (ours)", ps.theory(evidence.rescaled), id="C24-clock")
def in_flow_larger_rates_are_a_faster_clock(sweep):
    """The entropy at equal eta_Y t is the same for eta_Z = 0.25, 0.5, 1, 2 within 1e-7, while at
    equal t it is not."""
    same = at_equal_clock(sweep)
    spread = sweep.dt_entropy.sel(time=128.0).mean("class")
    width = spread.max() - spread.min()
    first = same.isel(eta_Z=0, drop=True)
    equal = ps.agree(same, first, atol=1e-7, what="entropy at equal eta_Y t")
    return equal & ps.at_least(width, 0.01, "spread of the entropy at equal t")


def best_ratio(sweep: xr.Dataset, along: str) -> xr.DataArray:
    """The ratio eta_Y / eta_Z with the sparsest attention."""
    entropy = sweep.dt_entropy.mean("class", skipna=False)
    return entropy.idxmin(along, skipna=False)


@ps.claim("Section 6 (c), Figure 6", ps.published(*evidence.figure_6.values()), id="C25")
def the_sparsest_ratio_is_near_two(two, *more):
    """In Figure 6 the entropy is smallest at eta_Y / eta_Z = 2 for K = 6, 10, 20 and every
    eta_Z, or within 0.01 of that, and rises from there to 10; for K = 2 it rises from 1 on."""

    def judge(sweep):
        entropy = mean_entropy(sweep)
        at_one, at_two = (entropy.sel(ratio=ratio) for ratio in (1.0, 2.0))
        upwards = entropy.sel(ratio=[2.0, 10.0])
        least = entropy.min("ratio", skipna=False)
        yield ps.at_most(at_two - least, 0.01, "entropy at 2 less the least")
        yield ps.increasing(upwards, "entropy from 2 to 10", along="ratio")
        yield ps.positive(at_one - at_two, "entropy at 1 less that at 2")

    upwards = mean_entropy(two).sel(ratio=[1.0, 10.0])
    rise = ps.increasing(upwards, "entropy from 1 to 10, K = 2", along="ratio")
    ended = ps.all_of(map(ps.reached, (two, *more)))
    return ps.all_of(chain(*map(judge, more))) & rise & ended


_MINIMUM = "the decoder's memory gives the entropy a minimum: at eta_Z t = 10^6 it lies at a ratio of 10 for all K"


@ps.claim(
    "Section 6 (c)",
    ps.theory(evidence.medium_memoryless),
    ps.published(evidence.medium, expect=ps.Outcome.FAILS, because=_MINIMUM),
    id="C25-ratio",
)
def a_slower_decoder_makes_attention_sparser(sweep):
    """Late, at eta_Z t = 10^5 and 10^6, the entropy rises with eta_Y / eta_Z from 0.03 to 100,
    for every K up to 20."""
    entropy = sweep.dt_entropy.isel({"class": 0}).sel(
        time=[1e5, 1e6], classes=[2.0, 6.0, 10.0, 20.0]
    )
    return ps.increasing(entropy, "entropy", along="eta_Y") & ps.reached(sweep)


@ps.claim("Section 6 (c) (ours): the minimum", ps.published(evidence.medium), id="C25-drift")
def the_sparsest_ratio_drifts_with_the_logarithm_of_time(sweep):
    """In flow the sparsest ratio is inside the range at every horizon and drifts upwards: 2 or 3
    at eta_Z t = 10^2 (K up to 20), then 3 at 10^3, 5 at 10^4, 10 at 10^6 for all K."""
    best = best_ratio(sweep, "eta_Y")
    few = best.sel(classes=[2.0, 6.0, 10.0, 20.0])
    return (
        ps.within(few.sel(time=1e2), 2.0, 3.0, "sparsest ratio at 10^2")
        & ps.agree(few.sel(time=1e3), 3.0, what="sparsest ratio at 10^3")
        & ps.agree(best.sel(time=1e4), 5.0, what="sparsest ratio at 10^4")
        & ps.agree(best.sel(time=1e6), 10.0, what="sparsest ratio at 10^6")
        & ps.increasing(few, "sparsest ratio", along="time", strictly=False)
        & ps.reached(sweep)
    )


@ps.claim(
    "Section 6 (c) (ours): control",
    ps.theory(evidence.medium, evidence.medium_memoryless),
    id="C25-memory",
)
def memory_makes_the_minimum(true, forgetful):
    """K = 20, eta_Z t = 10^6, ratios 0.03, 0.1, 0.3, 1, 3, 10, 100: entropy 2.118, 2.103, 2.086,
    2.061, 2.037, 2.022, 2.087 in training and 0.91, 1.12, 1.31, 1.52, 1.72, 1.92, 2.09 without
    memory."""
    at = {"classes": 20.0, "time": 1e6, "eta_Y": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]}
    trained, without = (run.dt_entropy.isel({"class": 0}).sel(at) for run in (true, forgetful))
    in_training = np.array([2.118, 2.103, 2.086, 2.061, 2.037, 2.022, 2.087])
    without_memory = np.array([0.91, 1.12, 1.31, 1.52, 1.72, 1.92, 2.09])
    return ps.agree(trained, in_training, atol=6e-4, what="entropy, training") & ps.agree(
        without, without_memory, atol=6e-3, what="entropy, no memory"
    )


@ps.claim(
    "Section 6 (c) (ours): longer training", ps.published(evidence.longer_twin), id="C25-longer"
)
def the_minimum_is_not_a_matter_of_training_time(sweep):
    """Endless sequences, momentum 0.9, eta_Z = 0.5: the sparsest ratio is 1, 1, 2 for K = 2; 2,
    3, 3 for K = 6; 2, 3, 5 for K = 10; 3, 5, 5 for K = 20, after 100, 1000, 4000 updates. Below
    it entropy rises with time (K = 2, ratio 0.5: 2.063, 2.098, 2.108)."""
    best = best_ratio(sweep, "ratio").sel(time=[100, 1000, 4000]).transpose("classes", "time")
    expected = best.copy(data=np.array([[1, 1, 2], [2, 3, 3], [2, 3, 5], [3, 5, 5]], float))
    low = sweep.dt_entropy.isel({"class": 0}).sel(classes=2.0, ratio=0.5, time=[100, 1000, 4000])
    return (
        ps.agree(best, expected, what="sparsest ratio")
        & ps.agree(
            low, np.array([2.0630, 2.0984, 2.1082]), atol=6e-5, what="entropy, K = 2, ratio 0.5"
        )
        & ps.reached(sweep)
    )


claims = (
    larger_rates_make_attention_sparser,
    in_flow_larger_rates_are_a_faster_clock,
    the_sparsest_ratio_is_near_two,
    a_slower_decoder_makes_attention_sparser,
    the_sparsest_ratio_drifts_with_the_logarithm_of_time,
    memory_makes_the_minimum,
    the_minimum_is_not_a_matter_of_training_time,
)
