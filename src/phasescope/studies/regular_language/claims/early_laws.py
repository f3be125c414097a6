"""What Theorem 4.1 leaves open: the closed forms of phase 1 at small tau, and what its constants hide (ours)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..phases import ran_to_the_end, spec_of, training_time
from . import evidence
from .assumptions import theorem_4_1
from .parts import TAIL, told
from .theorem_4_1_attention import THIRD, second_key_leads


@ps.claim(
    "Theorem 4.1 (1), second line: the constant (ours)",
    ps.on("training", *evidence.for_tokens),
    id="ours-constant-of-vl",
    aliases=("4.1-ul-uniform",),
    kind="rate",
    whose="ours",
    tex=r"v_N = -\Theta(\eta^2 t^2 / N^2)",
    page="Section 4.1, Theorem 4.1 (1)",
    as_=("N", "inf"),
    assumes=theorem_4_1,
)
def the_quadratic_constant_is_not_uniform(*runs):
    """No constant serves all l: at l = N the ratio -v_l / (eta t)^2 falls like N^-2. The Theta hides the position."""
    ends = [run.isel(time=-1) for run in runs]
    sizes = np.array([float(spec_of(run).size) for run in runs])
    ratios = [-end.token_score[-1] / training_time(end) ** 2 for end in ends]
    law = ps.scales_like(
        np.array([float(r) for r in ratios]),
        sizes,
        ps.derived(-2.0, "closed_forms.early_token_scores"),
        ps.chosen(0.05, "what c_0 = 8 adds to the leading term: 2 to 3%"),
        "-v_N / (eta t)^2",
    )
    return law & ran_to_the_end(*runs)


def early_ratio(run, forecast):
    """A ratio to a closed form for each record from the second update on, by 1 / tau."""
    spec = spec_of(run)
    found = {}
    for t in run.time.values:
        if t >= 2:
            clock = closed_forms.step_clock(spec.eta, int(t))
            found[1 / (spec.eta * t)] = told(forecast(run.sel(time=t), clock))
    return found


@ps.claim(
    "Theorem 4.1 (1): the law (ours)",
    ps.on("training", evidence.early_even_pairs),
    id="ours-early-v",
    kind="limit",
    whose="ours",
    tex=r"v_1 \to \tau/4, \quad v_\ell \to -\tfrac{\tau^2}{64}\sum_{L=\ell}^{N} L^{-2}",
    page="Section 4.1, Theorem 4.1 (1)",
    as_=("tau", "0"),
    assumes=theorem_4_1,
)
def token_scores_follow_their_closed_form(run):
    """As tau falls to 0, v_1 tends to tau/4 and v_l to -(tau^2/64) sum_{L >= l} L^-2, for every l at N = 64."""

    def ratio(record, clock):
        return record.token_score / closed_forms.early_token_scores(spec_of(run).size, clock)

    found = ps.tends_to(early_ratio(run, ratio), 1.0, along="1/tau", what="v_l / closed form")
    return found & ran_to_the_end(run)


@ps.claim(
    "Theorem 4.1 (2): the laws (ours)",
    ps.on("training", evidence.early_even_pairs),
    id="ours-early-scores",
    kind="limit",
    whose="ours",
    tex=(
        r"p_L = -q_L \to \tfrac{\tau^2}{64 L}(1 - \tfrac1L), \quad "
        r"m_{L2} - m_{L\ell} \to \tfrac{\tau^4}{16384 L^2} \sum_{j=2}^{\ell-1} j^{-2}"
    ),
    page="Section 4.1, Theorem 4.1 (2)",
    as_=("tau", "0"),
    assumes=theorem_4_1,
)
def attention_scores_follow_their_closed_form(run):
    """As tau falls to 0, p_L and -q_L tend to (tau^2/64 L)(1 - 1/L), with a 1/L that the main text omits, and the lead of
    key 2 to (tau^4 / 16384 L^2) sum_{2 <= j < l} j^-2 for 3 <= l < L, stronger in t than eta^4 t."""
    spec = spec_of(run)
    places = {"length": run.length, "position": run.position}

    def pivots(record, clock):
        p, q = closed_forms.early_pivot_scores(spec.pivots, clock)[:, 1:]
        match = record.score_match.sel(length=TAIL) / p
        return xr.concat([match, record.score_differ.sel(length=TAIL) / q], "case")

    def leads(record, clock):
        shape = closed_forms.early_second_lead(spec.size, clock)
        forecast = xr.DataArray(shape, places, ("length", "position")).sel(position=THIRD)
        lead, keys = second_key_leads(record)
        before = keys & (keys.position < keys.length)
        ratio = lead / forecast.sel(length=lead.length)
        return xr.DataArray(told(ratio, before), dims="entry")

    later = run.sel(time=slice(3, None))
    return (
        ps.tends_to(early_ratio(run, pivots), 1.0, along="1/tau", what="p_L, q_L / closed form")
        & ps.tends_to(early_ratio(later, leads), 1.0, along="1/tau", what="lead / closed form")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Theorem 4.1 (2), first line: the constant (ours)",
    ps.on("training", evidence.phase_1_sizes[256]),
    id="ours-constant-of-pL",
    kind="rate",
    whose="ours",
    tex=r"p_L = \Theta(\eta^2 t^2 / L)",
    page="Section 4.1, Theorem 4.1 (2)",
    as_=("L", "inf"),
    assumes=theorem_4_1,
)
def the_pivot_constant_falls_with_the_length(run):
    """No constant serves all L: p_L / (eta t)^2 falls like 1/L, which the main text leaves out."""
    end = run.isel(time=-1).score_match.sel(length=slice(32, None))
    law = ps.scales_like(
        end,
        end.length,
        ps.derived(-1.0, "closed_forms.early_pivot_scores"),
        ps.chosen(0.05, "1 - 1/L bends the law by 0.02 from L = 32 on"),
        "p_L",
    )
    return law & ran_to_the_end(run)


claims = (
    the_quadratic_constant_is_not_uniform,
    token_scores_follow_their_closed_form,
    attention_scores_follow_their_closed_form,
    the_pivot_constant_falls_with_the_length,
)
