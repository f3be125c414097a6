"""Ours: momentum and the clock, in what Figures 4 and 6 show of larger step sizes."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import entropy_of, top_logit
from . import evidence
from .bounds import last_digit

MANY_CLASSES = [6.0, 10.0, 20.0]
OWN_RATES = [0.5, 1.0, 2.0, 3.0]
FROZEN_RATES = [5.0, 10.0, 20.0, 30.0]
PAGE = "Section 8, Figure 6: the entropy goes down with larger eta_Z"


def entropies(sweep: xr.Dataset, rates: list[float]) -> xr.DataArray:
    """At ratio 2, over these rates, for K = 6, 10, 20."""
    return entropy_of(sweep).sel(ratio=2.0, eta_Z=rates, classes=MANY_CLASSES)


@claim(
    "Figure 6: the cause, with momentum (ours)",
    on("training", evidence.with_momentum),
    id="ours-momentum",
    aliases=("C33",),
    kind="monotone",
    whose="ours",
    tex=r"\mu = 0.9:\ \eta_Z \uparrow\ \Rightarrow\ H \downarrow",
    page=PAGE,
)
def larger_rates_make_attention_sparser_without_noise(sweep):
    """Endless sequences, 100 updates with momentum 0.9, ratio 2: the entropy falls by more than 0.02 at
    every step of eta_Z through 0.5, 1, 2, 3, for K = 6, 10, 20."""
    step = ps.chosen(0.02, "twenty times what it moves without momentum once frozen")
    fall = -entropies(sweep, OWN_RATES).diff("eta_Z")
    return ps.positive(fall - step, "fall of the entropy, less 0.02") & ps.reached(sweep)


@claim(
    "Figure 6: the cause, without momentum at its own rates (ours)",
    on("training", evidence.without_momentum),
    id="ours-no-momentum-early",
    kind="monotone",
    whose="ours",
    tex=r"\mu = 0,\ \eta_Z t \le 300:\ \eta_Z \uparrow\ \Rightarrow\ H \downarrow",
    page=PAGE,
)
def without_momentum_larger_rates_are_sparser_until_frozen(sweep):
    """Without momentum, at the paper's own rates 0.5, 1, 2, 3 and 100 updates, the entropy falls with eta_Z
    as well, for K = 6, 10, 20: the run has come further."""
    entropy = entropies(sweep, OWN_RATES)
    return ps.decreasing(entropy, "entropy", along="eta_Z") & ps.reached(sweep)


@claim(
    "Figure 6: the cause, without momentum once frozen (ours)",
    on("training", evidence.without_momentum),
    id="ours-no-momentum-frozen",
    kind="approx",
    whose="ours",
    tex=r"\mu = 0,\ \eta_Z t \ge 500:\ H \simeq \mathrm{const}",
    page=PAGE,
)
def without_momentum_a_frozen_attention_stays(sweep):
    """Without momentum, at rates 5, 10, 20, 30, the same effective rates as with momentum 0.9, the entropy
    after 100 updates is the same within 0.02 for K = 6, 10, 20, which with momentum is less than one step:
    the attention is frozen."""
    little = ps.chosen(0.02, "what momentum takes off at every step (ours-momentum)")
    entropy = entropies(sweep, FROZEN_RATES)
    start = sweep.dt_entropy.isel(time=0).mean("class")
    moved = start.sel(ratio=2.0, eta_Z=FROZEN_RATES, classes=MANY_CLASSES) - entropy
    some = ps.guard(
        ps.at_least(moved, ps.chosen(0.02, "it had moved before"), "fall from the start")
    )
    first = entropy.isel(eta_Z=0, drop=True)
    digit = last_digit(1e-3)
    uniform = ps.guard(ps.agree(start, 2.151, atol=digit, what="entropy at the start"))
    return (
        ps.agree(entropy, first, atol=little, what="entropy") & some & uniform & ps.reached(sweep)
    )


@claim(
    "Figure 6: the cause, numbers (ours)",
    on(
        "training",
        evidence.with_momentum,
        evidence.without_momentum,
        evidence.momentum_of_Y,
        evidence.momentum_of_Z,
    ),
    id="ours-momentum-numbers",
    aliases=("C33-momentum",),
    kind="regression",
    whose="ours",
    tex=r"2.033, 1.995, 1.918, 1.855;\ 2.052, 2.051, 2.052, 2.053;\ 2.133, 2.084, 2.060, 2.055",
    page=PAGE,
)
def momentum_makes_attention_sparser(inert, free, of_Y, of_Z):
    """K = 20, ratio 2: 2.033, 1.995, 1.918, 1.855 at eta_Z = 0.5, 1, 2, 3 with momentum 0.9; 2.052, 2.051,
    2.052, 2.053 at 5, 10, 20, 30 without, and 2.133, 2.084, 2.060, 2.055 at 0.5, 1, 2, 3. At 30, momentum
    on Y alone gives 2.057, on Z alone 2.021: the two inertias must act together."""
    at = {"classes": 20.0, "ratio": 2.0}
    with_it = entropy_of(inert).sel(at).sel(eta_Z=OWN_RATES)
    frozen = entropy_of(free).sel(at).sel(eta_Z=FROZEN_RATES)
    early = entropy_of(free).sel(at).sel(eta_Z=OWN_RATES)
    alone = np.array([float(entropy_of(run)) for run in (of_Y, of_Z)])
    digit = last_digit(1e-4)
    inert_before = np.array([2.0328, 1.9950, 1.9182, 1.8547])
    frozen_before = np.array([2.0518, 2.0505, 2.0515, 2.0532])
    early_before = np.array([2.1333, 2.0836, 2.0596, 2.0548])
    return (
        ps.agree(with_it, inert_before, atol=digit, what="entropy, momentum 0.9")
        & ps.agree(frozen, frozen_before, atol=digit, what="entropy, no momentum, frozen")
        & ps.agree(early, early_before, atol=digit, what="entropy, no momentum")
        & ps.agree(alone, np.array([2.0572, 2.0210]), atol=digit, what="entropy, one momentum")
        & ps.all_of(map(ps.reached, (inert, free, of_Y, of_Z)))
    )


@claim(
    "Figure 4: the cause (ours)",
    on("training", evidence.small, *evidence.free_steps, *evidence.inert_steps),
    id="ours-momentum-small",
    aliases=("C33-small",),
    kind="regression",
    whose="ours",
    tex=r"0.601;\ 0.597, 0.579;\ 0.589, 0.738, 1.005, 1.506",
    page="Section 8, Figure 4",
)
def momentum_and_not_the_step_moves_syn_small(flow, *runs):
    """Syn-Small at equal rates and the same effective time eta t / (1 - mu) = 1000: the top
    logit is 0.601 in flow, 0.597 and 0.579 in steps of 1 and 10 without momentum, but 0.589,
    0.738, 1.005, 1.506 in steps of 0.1, 0.3, 1, 3 with momentum 0.9."""
    smooth = top_logit(flow).sel(eta_Z=1.0).sel(time=1000.0, method="nearest", tolerance=1e-6)
    ends = np.array([float(top_logit(run).isel(time=-1)) for run in runs])
    expected = np.array([0.597, 0.579, 0.589, 0.738, 1.005, 1.506])
    digit = last_digit(1e-3)
    return (
        ps.agree(smooth, 0.601, atol=digit, what="top logit in flow")
        & ps.agree(ends, expected, atol=digit, what="top logit in steps")
        & ps.all_of(map(ps.reached, runs))
    )


claims = (
    larger_rates_make_attention_sparser_without_noise,
    without_momentum_larger_rates_are_sparser_until_frozen,
    without_momentum_a_frozen_attention_stays,
    momentum_makes_attention_sparser,
    momentum_and_not_the_step_moves_syn_small,
)
