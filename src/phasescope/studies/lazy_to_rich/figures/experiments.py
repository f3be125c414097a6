"""Figures 3 and 4 (Appendix B): Boolean tokens, and many dimensions."""

from __future__ import annotations

import phasescope as ps

from ..claims import evidence
from ..phases import spec_of
from . import panels
from .panels import BLUE, DATA, VERMILION


@ps.figure("Figure 3", evidence.figure_3, evidence.true_boolean, panels=(1, 3), size=(8.4, 2.8))
def figure_3(run, flow, axes):
    """The same with Boolean tokens: descent on samples (broad) and the exact flow of the Boolean model (dashed). The phases
    end at 205, 869 and 3378, against 205, 891 and 3181 for Gaussian tokens."""
    panels.four_phases(run, flow, axes)


AS_PRINTED = {"shape": "matrix", "reading": "linear", "reduction": "mean"}


@ps.figure("Figure 4", evidence.figure_4_gd, evidence.figure_4_adam, panels=(1, 2), size=(7.2, 2.9))
def figure_4(gd, adam, axes):
    """Partial losses over their start in D = 100 dimensions, batches of 1000, 100,000 updates: as printed (broad) and in the
    other readings of what the text leaves open (thin). Left: gradient descent learns the 4-gram and the value h and then
    stays on the plateau, which is lower where the target's score is squared; with the loss as a sum over coordinates it
    diverges at update 13 (not drawn). Right: Adam brings the induction head to a thousandth by update 1835, when the
    4-gram is still at 14 % of its start: the order is reversed, and there is no plateau on the way. Below 1e-6 the noise of
    the batches raises it again."""
    for panel, name, runs in zip(axes, ("gradient descent", "Adam"), (gd, adam), strict=True):
        runs = runs.assign_coords(time=runs.time / spec_of(runs).eta)
        for loss, color, label in (
            ("loss_g4", BLUE, r"4-gram, $\mathcal{L}_{G4}$"),
            ("loss_ih", VERMILION, r"induction head, $\mathcal{L}_{IH}$"),
        ):
            left = runs[loss] / runs[loss].isel(time=0)
            for lane in left.stack(lane=list(AS_PRINTED)).transpose("lane", "time"):
                if lane[-1].notnull():
                    panel.plot(runs.time, lane, color=color, lw=0.6)
            panel.plot(runs.time, left.sel(AS_PRINTED), color=color, label=label, **DATA)
        panel.set(xlabel="update", xscale="log", yscale="log", xlim=(100, runs.time[-1]))
        panel.set_title(f"{name}, $D = {spec_of(runs).dim}$")
        panel.set(ylabel="partial loss / start", ylim=(1e-8, 2))
    panels.legend(axes[0], loc="lower left")


figures = (figure_3, figure_4)
