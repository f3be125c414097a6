"""Figure 1 with the exact flow upon it, and its induction head in five descriptions."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..phases import phase_times, spec_of
from . import panels
from .panels import BLACK, ORANGE, PURPLE, SKY, VERMILION

DESCRIPTIONS = (
    ("printed (exp, one weight)", VERMILION, "-"),
    ("softmax, one weight", ORANGE, "-."),
    ("exp, two weights", PURPLE, "-."),
    ("softmax, many keys", SKY, "-"),
    ("softmax, $N = 38$ (true)", BLACK, "--"),
)


@ps.figure("Figure 1", evidence.figure_1, evidence.true, panels=(1, 3), size=(8.4, 2.8))
def figure_1(run, flow, axes):
    """Stage II at alpha = 1, w* = 0.49, sigma = 0.01, L = 40: descent on samples (broad) and the exact flow of the
    softmax model upon it (dashed). The 4-gram is at 1 % of its loss at T_I = {T_I:.0f} (I); the induction head's loss
    stays on its plateau until T_II = {T_II:.0f} (II), while w grows exponentially, and is at 1 % of the plateau at
    T_III = {T_III:.0f} (III); then the 4-gram converges like 1/(4t), the induction head exponentially (IV). The plateau
    is only {plateau:.0%} of the induction head's first loss: the value h removes the rest by t = 120, before T_I."""
    panels.four_phases(run, flow, axes, "Gaussian")
    times = phase_times(flow)
    middle = np.sqrt(float(times.T_I * times.T_II))
    level = np.interp(middle, flow.time, flow.loss_ih)
    return {name: float(times[name]) for name in panels.ENDS} | {
        "plateau": float(level / flow.loss_ih[0])
    }


@ps.figure(
    "equations of Appendix C.3.2 (ours)",
    evidence.paper,
    evidence.true_tied,
    evidence.paper_untied,
    evidence.limit,
    evidence.true,
    evidence.figure_1,
    panels=(1, 2),
    size=(7.6, 3.0),
)
def paper_against_truth(paper, true_tied, paper_untied, limit, true, run, axes):
    """The induction head of Figure 1 in five descriptions, and the trained model (grey): (a) its loss, (b) its weight.
    The printed equations finish at T_III = {printed:.0f}, the trained model and the exact flow at {true:.0f},
    {factor:.2f} times later. A factor {tied:.2f} is the two weights w_K, w_Q taken as one; {softmax:.2f} is exp / (L -
    2) in place of the softmax, which also puts the plateau 32 % too high. The closed form for many keys, (1 - 2 c
    c')^(-1/2), is {early:.1%} early."""
    losses, weights = axes
    ends = []
    for panel, name in ((losses, "loss_ih"), (weights, "w_kq")):
        panel.plot(run.time, run[name], color="0.5", label="trained on samples", **panels.DATA)
    for (label, color, style), flow in zip(
        DESCRIPTIONS, (paper, true_tied, paper_untied, limit, true), strict=True
    ):
        end = float(phase_times(flow).T_III)
        ends.append(end)
        losses.plot(flow.time, flow.loss_ih, color=color, ls=style, lw=1.2)
        losses.plot(end, np.interp(end, flow.time, flow.loss_ih), "o", ms=4, color=color)
        weights.plot(
            flow.time, flow.w_kq, color=color, ls=style, lw=1.2, label=f"{label}: {end:.0f}"
        )
    losses.set(
        ylabel=r"loss $\mathcal{L}_{IH}$",
        yscale="log",
        ylim=(3e-7, 6e-4),
        xlim=(0, 3800),
        xlabel="time $t$",
    )
    target = spec_of(true).w_star
    weights.axhline(target, color="0.4", lw=0.8, ls=":")
    weights.annotate(
        rf"$w^* = {target:g}$",
        (60, target),
        xytext=(0, 2),
        textcoords="offset points",
        fontsize=7.5,
        color="0.4",
    )
    losses.plot([], [], "o", ms=4, color="0.4", label="$T_{III}$: 1 % of the plateau")
    panels.legend(losses, loc="upper right")
    weights.set(
        ylabel="weight $w_{KQ}$", yscale="log", ylim=(8e-3, 0.7), xlim=(0, 3800), xlabel="time $t$"
    )
    panels.legend(
        weights, loc="lower right", title="description, and its $T_{III}$", title_fontsize=7
    )
    printed, _, two_weights, many_keys, exact = ends
    return {
        "printed": printed,
        "true": exact,
        "factor": exact / printed,
        "tied": two_weights / printed,
        "softmax": exact / two_weights,
        "early": 1 - many_keys / exact,
    }


figures = (figure_1, paper_against_truth)
