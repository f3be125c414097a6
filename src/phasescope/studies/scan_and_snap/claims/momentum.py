"""Ours: momentum is what makes larger step sizes sparser in Figures 4 and 6."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..phases import entropy_of, top_logit
from . import evidence

_FLAT = "without momentum, at the same effective rate, the entropy moves by 0.001: 2.052, 2.051, 2.052, 2.053 for K = 20"


@ps.claim(
    "Figure 6, the cause (ours)",
    ps.published(evidence.with_momentum),
    ps.beyond(evidence.without_momentum, expect=ps.Outcome.FAILS, because=_FLAT),
    id="C33",
)
def larger_rates_make_attention_sparser_without_noise(sweep):
    """Endless sequences, 100 updates, ratio 2: entropy falls by more than 0.02 at every step of
    eta_Z through 0.5, 1, 2, 3 (times 10 without momentum: the same effective rate), for K = 6,
    10, 20."""
    rates = sweep.eta_Z[-4:].values
    entropy = entropy_of(sweep).sel(ratio=2.0, eta_Z=rates, classes=[6.0, 10.0, 20.0])
    return ps.at_least(-entropy.diff("eta_Z"), 0.02, "fall of the entropy") & ps.reached(sweep)


@ps.claim(
    "Figure 6, the cause (ours): numbers",
    ps.published(
        evidence.with_momentum,
        evidence.without_momentum,
        evidence.momentum_of_Y,
        evidence.momentum_of_Z,
    ),
    id="C33-momentum",
)
def momentum_makes_attention_sparser(inert, free, of_Y, of_Z):
    """K = 20, ratio 2: 2.033, 1.995, 1.918, 1.855 at eta_Z = 0.5, 1, 2, 3 with momentum 0.9;
    2.052, 2.051, 2.052, 2.053 at 5, 10, 20, 30 without. At the last, momentum on Y alone gives
    2.057, on Z alone 2.021: the two inertias must act together."""
    at = {"classes": 20.0, "ratio": 2.0}
    fastest = {"eta_Z": slice(-4, None)}
    with_it, without = (entropy_of(run).sel(at).isel(fastest) for run in (inert, free))
    alone = np.array([float(entropy_of(run)) for run in (of_Y, of_Z)])
    with_momentum = np.array([2.0328, 1.9950, 1.9182, 1.8547])
    without_momentum = np.array([2.0518, 2.0505, 2.0515, 2.0532])
    on_one_table = np.array([2.0572, 2.0210])
    return (
        ps.agree(with_it, with_momentum, atol=6e-5, what="entropy, momentum 0.9")
        & ps.agree(without, without_momentum, atol=6e-5, what="entropy, no momentum")
        & ps.agree(alone, on_one_table, atol=6e-5, what="entropy, momentum on Y or Z alone")
        & ps.all_of(map(ps.reached, (inert, free, of_Y, of_Z)))
    )


@ps.claim(
    "Figure 4, the cause (ours)",
    ps.published(evidence.small, *evidence.free_steps, *evidence.inert_steps),
    id="C33-small",
)
def momentum_and_not_the_step_moves_syn_small(flow, *runs):
    """Syn-Small at equal rates and the same effective time eta t / (1 - mu) = 1000: the top
    logit is 0.601 in flow, 0.597 and 0.579 in steps of 1 and 10 without momentum, but 0.589,
    0.738, 1.005, 1.506 in steps of 0.1, 0.3, 1, 3 with momentum 0.9."""
    smooth = top_logit(flow).sel(eta_Z=1.0).sel(time=1000.0, method="nearest", tolerance=1e-6)
    ends = np.array([float(top_logit(run).isel(time=-1)) for run in runs])
    expected = np.array([0.597, 0.579, 0.589, 0.738, 1.005, 1.506])
    return (
        ps.agree(smooth, 0.601, atol=6e-4, what="top logit in flow")
        & ps.agree(ends, expected, atol=6e-4, what="top logit in steps")
        & ps.all_of(map(ps.reached, runs))
    )


claims = (
    larger_rates_make_attention_sparser_without_noise,
    momentum_makes_attention_sparser,
    momentum_and_not_the_step_moves_syn_small,
)
