"""Theorem 4.1 where it stands: the first moments of training, at the theorems' own scale."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..closed_forms import early_pivot_scores, early_second_lead, early_token_scores, flow_clock
from ..phases import key_scores, spec_of, training_time
from . import panels
from .panels import BLUE, GREEN, PURPLE, VERMILION


@ps.figure("Theorem 4.1", evidence.early_even_pairs, panels=(1, 2), size=(6.8, 3.4))
def early_laws(run, axes):
    """The start of phase 1 at N = 64, lam = N^2, and the closed forms upon it (dotted). (a) v_1 = tau / 4; the others
    fall like tau^2, but not uniformly: position 64 is at {last:.1g} of position 2. (b) The pivot's score grows like tau^2
    / L, where the main text leaves out 1 / L; the lead of key 2 over key 4 like tau^4, where the theorem has eta^4 t.
    The theorems end phase 1 at tau_0 = 1 / N."""
    spec = spec_of(run)
    left, right = axes
    draw_token_scores(run, left)
    draw_attention_scores(run, right)
    for panel in axes:
        panel.set(xscale="log", yscale="log", xlabel=r"training time $\tau = \eta t$")
    left.set(ylabel="size of token score", ylim=(1e-10, 3))
    right.set(ylabel="attention score", ylim=(1e-15, 0.1))
    for panel in axes:
        ps.mark(panel, 1 / spec.size, r"$\tau_0 = 1/N$")
        panels.legend(panel, "formula", ncols=3, **panels.BENEATH)
    sizes = abs(run.token_score.isel(time=-1))
    return {"last": float(sizes.sel(position=spec.size) / sizes.sel(position=2))}


def draw_token_scores(run, axes) -> None:
    """The sizes of some token scores over tau, and their closed forms."""
    N = spec_of(run).size
    tau = training_time(run).values
    forms = np.stack([early_token_scores(N, flow_clock(x)) for x in tau])
    for position, color in ((1, BLUE), (2, GREEN), (8, VERMILION), (N, PURPLE)):
        size = abs(run.token_score.sel(position=position))
        sign = "" if position == 1 else "-"
        axes.plot(tau, size, color=color, label=rf"${sign}v_{{{position}}}$", **panels.DATA)
        axes.plot(tau, abs(forms[:, position - 1]), **panels.FORMULA)


def draw_attention_scores(run, axes) -> None:
    """The pivot's score at some lengths, the lead of key 2 over key 4, and their closed forms."""
    spec = spec_of(run)
    tau = training_time(run).values
    scores = np.stack([early_pivot_scores(spec.pivots, flow_clock(x))[0] for x in tau])
    leads = np.stack([early_second_lead(spec.size, flow_clock(x)) for x in tau])
    for length, color in ((3, BLUE), (8, GREEN), (spec.size, VERMILION)):
        score = run.score_match.sel(length=length)
        axes.plot(tau, score, color=color, label=rf"$p_{{{length}}}$", **panels.DATA)
        axes.plot(tau, scores[:, length - 1], **panels.FORMULA)
    keys = key_scores(run).sel(length=8)
    lead = keys.sel(position=2) - keys.sel(position=4)
    axes.plot(tau, lead, color=PURPLE, label=r"$m_{82} - m_{84}$", **panels.DATA)
    axes.plot(tau, leads[:, 7, 3], **panels.FORMULA)


figures = (early_laws,)
