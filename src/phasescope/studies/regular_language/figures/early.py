"""Theorem 4.1 where it stands: the first moments of training, at the theorems' own scale."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..closed_forms import early_pivot_scores, early_second_lead, early_token_scores, flow_clock
from ..phases import key_scores, spec_of, training_time
from . import panels
from .panels import BLUE, GREEN, PURPLE, VERMILION


@ps.figure("Theorem 4.1", evidence.early_even_pairs, panels=(1, 2), size=(6.4, 2.7))
def early_laws(run, axes):
    """The start of phase 1 at N = 64, lam = N^2, and the closed forms upon it (dotted). Left: v_1 = tau / 4; the others
    fall like tau^2, but not uniformly: position 64 is at 4e-4 of position 2. Right: the pivot's score grows like tau^2
    / L, where the main text leaves out 1 / L; the lead of key 2 over key 4 like tau^4, where the theorem has eta^4 t.
    The theorems end phase 1 at tau_0 = 1 / N."""
    spec, tau = spec_of(run), training_time(run).values
    left, right = axes
    tokens = np.stack([early_token_scores(spec.size, flow_clock(x)) for x in tau])
    for position, color in ((1, BLUE), (2, GREEN), (8, VERMILION), (spec.size, PURPLE)):
        label = rf"$v_{{{position}}}$" if position == 1 else rf"$-v_{{{position}}}$"
        left.plot(tau, abs(run.token_score.sel(position=position)), color=color, label=label, **panels.DATA)
        left.plot(tau, abs(tokens[:, position - 1]), **panels.FORMULA)
    scores = np.stack([early_pivot_scores(spec.pivots, flow_clock(x))[0] for x in tau])
    leads = np.stack([early_second_lead(spec.size, flow_clock(x)) for x in tau])
    keys = key_scores(run)
    for length, color in ((3, BLUE), (8, GREEN), (spec.size, VERMILION)):
        right.plot(tau, run.score_match.sel(length=length), color=color, label=rf"$p_{{{length}}}$", **panels.DATA)
        right.plot(tau, scores[:, length - 1], **panels.FORMULA)
    lead = keys.sel(length=8, position=2) - keys.sel(length=8, position=4)
    right.plot(tau, lead, color=PURPLE, label=r"$m_{82} - m_{84}$", **panels.DATA)
    right.plot(tau, leads[:, 7, 3], **panels.FORMULA)
    for panel in axes:
        panel.set(xscale="log", yscale="log", xlabel=r"training time $\tau = \eta t$")
        ps.mark(panel, 1 / spec.size, r"$\tau_0 = 1/N$", color=BLUE)
    left.set(ylabel="size of token score", ylim=(1e-14, 30))
    right.set(ylabel="attention score", ylim=(1e-19, 0.3))
    panels.legend(left, "formula", loc="lower right", fontsize=6.5)
    panels.legend(right, "formula", loc="lower right", fontsize=6.5)
