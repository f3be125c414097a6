"""Section 6 (b), (c): how the two step sizes set the sparsity."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import entropy_of, snap_time
from . import evidence
from .bounds import kept, last_digit
from .premises import one_common_token


def at_equal_clock(sweep: xr.Dataset, clock: float = 256.0) -> xr.DataArray:
    """Entropy at one eta_Z t, for each eta_Z."""
    lanes = []
    for eta in sweep.eta_Z.values:
        lane = sweep.sel(eta_Z=eta).sel(time=clock / eta)
        lanes.append(lane.drop_vars(["time", "stage"], errors="ignore"))
    return xr.concat(lanes, "eta_Z").dt_entropy.mean("class", skipna=False)


@claim(
    "Section 6 (b)",
    on("population", evidence.inside_rescaled),
    on(
        "population",
        evidence.rescaled,
        expect="outside",
        because="in Syn-Small at equal rates the entropy turns round in the end: {measured}",
    ),
    id="sec6-b",
    aliases=("C24",),
    kind="monotone",
    tex=r"\eta_Y, \eta_Z \uparrow\ \Rightarrow\ B_n(t) \uparrow,\ H \downarrow",
    page="Section 6 (b); Appendix D, (131) (a): fix eta_Y / eta_Z, larger eta_Z result in sparser attention map",
    assumes=one_common_token,
)
def larger_rates_make_attention_sparser(sweep):
    """At a fixed ratio of rates and equal times the entropy among distinct tokens falls from each eta_Z
    to the next larger one, at every record of the flow."""
    entropy = sweep.dt_entropy.isel({"class": 0})
    early = ps.guard(ps.decreasing(entropy.isel(time=slice(8, 16)), "entropy at first"))
    return ps.decreasing(entropy, "entropy", along="eta_Z") & early & ps.reached(sweep)


@claim(
    "Section 6 (b) in Syn-Small: until frozen (ours)",
    on("population", evidence.rescaled),
    id="ours-rates-until-frozen",
    kind="monotone",
    whose="ours",
    tex=r"\eta_Z t \le 200:\ \eta_Z \uparrow\ \Rightarrow\ H(t) \downarrow",
    page="Section 6 (b)",
    assumes=one_common_token,
)
def larger_rates_make_attention_sparser_until_frozen(sweep):
    """In Syn-Small at equal rates the entropy at equal times falls with eta_Z as long as eta_Z t is 200
    or less for all of them, and later it moves by less than 0.03."""
    entropy = sweep.dt_entropy.isel({"class": 0})
    early = entropy.sel(time=slice(None, 100.0))
    late = entropy.sel(time=slice(800.0, None))
    little = ps.chosen(0.03, "an eighth of what it fell")
    moves = late.max() - late.min()
    first = ps.guard(ps.decreasing(entropy.isel(time=slice(8, 16)), "entropy at first"))
    fell = ps.guard(
        ps.positive(entropy.isel(time=0) - entropy.isel(time=-1), "fall of the entropy")
    )
    return (
        ps.decreasing(early, "entropy", along="eta_Z")
        & ps.at_most(moves, little, "range of the entropy, late")
        & first
        & fell
        & ps.reached(sweep)
    )


@claim(
    "Section 6 (b): a change of clock (ours)",
    on("population", evidence.rescaled),
    id="ours-rates-clock",
    aliases=("C24-clock",),
    kind="identity",
    whose="ours",
    tex=r"H(t; a\eta_Y, a\eta_Z) = H(at; \eta_Y, \eta_Z)",
    page="Section 6 (b)",
)
def in_flow_larger_rates_are_a_faster_clock(sweep):
    """The entropy at equal eta_Y t is the same for eta_Z = 0.25, 0.5, 1, 2, while at equal t it is
    not."""
    same = at_equal_clock(sweep)
    spread = sweep.dt_entropy.sel(time=128.0).mean("class")
    width = spread.max() - spread.min()
    first = same.isel(eta_Z=0, drop=True)
    solved = ps.derived(1e-7, "the tolerance of the solver")
    equal = ps.agree(same, first, atol=solved, what="entropy at equal eta_Y t")
    differ = ps.chosen(0.01, "far above that")
    return equal & ps.guard(ps.at_least(width, differ, "spread of the entropy at equal t"))


@claim(
    "Figure 6 without noise: columns (ours)",
    on("training", evidence.twin),
    id="ours-twin-columns",
    kind="regression",
    whose="ours",
    tex=r"22/24",
    page="Section 8, Figure 6",
)
def nearly_all_columns_fall(sweep):
    """Endless sequences from zero, momentum 0.9, 100 updates: the entropy falls from each eta_Z to the
    next larger one in 22 of 24 columns (K, ratio); at K = 20, ratio 2, eta_Z = 3 it is 1.8547."""
    entropy = entropy_of(sweep)
    fall = (entropy.diff("eta_Z") < 0).all("eta_Z")
    share = float(fall.where(entropy.notnull().all("eta_Z")).mean(skipna=False))
    one = entropy.sel(classes=20.0, ratio=2.0, eta_Z=3.0)
    return (
        ps.agree(share * fall.size, 22.0, what="columns in which the entropy falls")
        & ps.agree(one, 1.8547, atol=last_digit(1e-4), what="entropy of one cell")
        & ps.reached(sweep)
    )


def best_ratio(sweep: xr.Dataset, along: str) -> xr.DataArray:
    """The ratio eta_Y / eta_Z with the sparsest attention."""
    entropy = sweep.dt_entropy.mean("class", skipna=False)
    return entropy.idxmin(along, skipna=False)


@claim(
    "Section 6 (c)",
    on("closed form", evidence.speeds),
    id="sec6-c-growth",
    kind="monotone",
    tex=r"\eta_Y \downarrow\ \Rightarrow\ B_n(t) \uparrow,\quad t \ge t_0",
    page="Section 6 (c)",
)
def a_slower_decoder_grows_further(sweep):
    """Given eta_Z, Theorem 4's B_n is larger for a smaller eta_Y, at all times from the latest t_0 on."""
    late = sweep.B_n.sel(time=slice(float(snap_time(sweep).max()), None))
    return (
        ps.decreasing(late, "B_n after t_0", along="eta_Y")
        & ps.guard(ps.increasing(sweep.B_n, "B_n"))
        & ps.reached(sweep)
    )


@claim(
    "Section 6 (c): sparser attention",
    on("printed equations", evidence.inside_ratios_theory),
    on("population", evidence.inside_ratios),
    on(
        "population",
        evidence.medium,
        expect="outside",
        because="in Syn-Medium the decoder's memory gives the entropy a minimum: {measured}",
    ),
    id="sec6-c",
    aliases=("C25-ratio",),
    kind="monotone",
    tex=r"\eta_Y \downarrow\ \Rightarrow\ H(t) \downarrow,\quad t \ge t_0",
    page="Section 6 (c); Appendix D, (131) (b)",
    assumes=one_common_token,
)
def a_slower_decoder_makes_attention_sparser(sweep):
    """Late, from eta_Z t = 10^4 on, the entropy among distinct tokens rises with eta_Y at fixed eta_Z."""
    entropy = sweep.dt_entropy.isel({"class": 0}).sel(time=slice(0.999e4, None))
    first = sweep.dt_entropy.isel({"class": 0, "time": 0})
    fell = ps.guard(ps.positive(first - entropy.isel(time=-1), "fall of the entropy"))
    return ps.increasing(entropy, "entropy", along="eta_Y") & fell & ps.reached(sweep)


@claim(
    "Section 6 (c) without memory (ours)",
    on("population", evidence.medium_memoryless),
    id="ours-ratio-memoryless",
    kind="monotone",
    whose="ours",
    tex=r"\eta_Y \downarrow\ \Rightarrow\ H(t) \downarrow",
    page="Section 6 (c)",
)
def without_memory_a_slower_decoder_is_sparser(sweep):
    """Without the decoder's memory the entropy of Syn-Medium rises with eta_Y / eta_Z from 0.03 to 100 at
    eta_Z t = 10^5 and 10^6, for every K up to 20: there is no minimum."""
    entropy = sweep.dt_entropy.isel({"class": 0}).sel(
        time=[1e5, 1e6], classes=[2.0, 6.0, 10.0, 20.0]
    )
    return ps.increasing(entropy, "entropy", along="eta_Y") & ps.reached(sweep)


@claim(
    "Section 6 (c): the minimum (ours)",
    on("population", evidence.medium),
    id="ours-ratio-minimum",
    kind="monotone",
    whose="ours",
    tex=r"\arg\min_{\eta_Y/\eta_Z} H(t) \uparrow",
    page="Section 6 (c), Figure 6",
    assumes=one_common_token,
)
def the_sparsest_ratio_drifts_upwards(sweep):
    """In the flow of Syn-Medium the sparsest ratio is inside the range of 0.03 to 100 at every horizon
    from eta_Z t = 10^2 to 10^6, and does not fall with it; it is higher at the end (K up to 20)."""
    few = best_ratio(sweep, "eta_Y").sel(classes=[2.0, 6.0, 10.0, 20.0])
    ratios = sweep.eta_Y
    return (
        ps.increasing(few, "sparsest ratio", along="time", strictly=False)
        & ps.increasing(few.isel(time=[0, -1]), "sparsest ratio", along="time")
        & ps.positive(few - ratios.min(), "sparsest ratio less the first")
        & ps.positive(ratios.max() - few, "the last less the sparsest ratio")
        & ps.reached(sweep)
    )


@claim(
    "Section 6 (c): the minimum, numbers (ours)",
    on("population", evidence.medium, evidence.medium_memoryless),
    id="ours-ratio-numbers",
    aliases=("C25-drift", "C25-memory"),
    kind="regression",
    whose="ours",
    tex=r"\eta_Y/\eta_Z = 2 \text{ or } 3, 3, 5, 10",
    page="Section 6 (c), Figure 6",
)
def the_sparsest_ratio_drifts_with_the_logarithm_of_time(sweep, forgetful):
    """In flow the sparsest ratio is 2 or 3 at eta_Z t = 10^2 (K up to 20), then 3 at 10^3, 5 at 10^4, 10 at
    10^6 for all K. At K = 20, 10^6 and ratios 0.03, 0.1, 0.3, 1, 3, 10, 100 the entropy is 2.118, 2.103,
    2.086, 2.061, 2.037, 2.022, 2.087, and 0.91, 1.12, 1.31, 1.52, 1.72, 1.92, 2.09 without memory."""
    best = best_ratio(sweep, "eta_Y")
    few = best.sel(classes=[2.0, 6.0, 10.0, 20.0])
    at = {"classes": 20.0, "time": 1e6, "eta_Y": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]}
    trained = sweep.dt_entropy.isel({"class": 0}).sel(at)
    without = forgetful.dt_entropy.isel({"class": 0}).sel(at)
    in_training = np.array([2.118, 2.103, 2.086, 2.061, 2.037, 2.022, 2.087])
    without_memory = np.array([0.91, 1.12, 1.31, 1.52, 1.72, 1.92, 2.09])
    low = kept(2.0)
    high = kept(3.0)
    return (
        ps.within(few.sel(time=1e2), low, high, "sparsest ratio at 10^2")
        & ps.agree(few.sel(time=1e3), 3.0, what="sparsest ratio at 10^3")
        & ps.agree(best.sel(time=1e4), 5.0, what="sparsest ratio at 10^4")
        & ps.agree(best.sel(time=1e6), 10.0, what="sparsest ratio at 10^6")
        & ps.agree(trained, in_training, atol=last_digit(1e-3), what="entropy, training")
        & ps.agree(without, without_memory, atol=last_digit(0.01), what="entropy, no memory")
        & ps.reached(sweep)
    )


@claim(
    "Section 6 (c): longer training (ours)",
    on("training", evidence.longer_twin),
    id="ours-ratio-longer",
    aliases=("C25-longer",),
    kind="regression",
    whose="ours",
    tex=r"1, 1, 2;\ 2, 3, 3;\ 2, 3, 5;\ 3, 5, 5",
    page="Section 6 (c), Figure 6",
)
def the_minimum_is_not_a_matter_of_training_time(sweep):
    """Endless sequences, momentum 0.9, eta_Z = 0.5: the sparsest ratio is 1, 1, 2 for K = 2; 2,
    3, 3 for K = 6; 2, 3, 5 for K = 10; 3, 5, 5 for K = 20, after 100, 1000, 4000 updates. Below
    it entropy rises with time (K = 2, ratio 0.5: 2.063, 2.098, 2.108)."""
    best = best_ratio(sweep, "ratio").sel(time=[100, 1000, 4000]).transpose("classes", "time")
    expected = best.copy(data=np.array([[1, 1, 2], [2, 3, 3], [2, 3, 5], [3, 5, 5]], float))
    low = sweep.dt_entropy.isel({"class": 0}).sel(classes=2.0, ratio=0.5, time=[100, 1000, 4000])
    before = np.array([2.0630, 2.0984, 2.1082])
    return (
        ps.agree(best, expected, what="sparsest ratio")
        & ps.agree(low, before, atol=last_digit(1e-4), what="entropy, K = 2, ratio 0.5")
        & ps.reached(sweep)
    )


claims = (
    larger_rates_make_attention_sparser,
    larger_rates_make_attention_sparser_until_frozen,
    in_flow_larger_rates_are_a_faster_clock,
    nearly_all_columns_fall,
    a_slower_decoder_grows_further,
    a_slower_decoder_makes_attention_sparser,
    without_memory_a_slower_decoder_is_sparser,
    the_sparsest_ratio_drifts_upwards,
    the_sparsest_ratio_drifts_with_the_logarithm_of_time,
    the_minimum_is_not_a_matter_of_training_time,
)
