"""Figures 3 and 4 (Appendix B), each with the exact description upon the training run."""

from __future__ import annotations

import phasescope as ps

from ..claims import evidence
from ..phases import spec_of
from . import panels
from .panels import BLUE, VERMILION


@ps.figure("Figure 3", evidence.figure_3, evidence.true_boolean, panels=(1, 3), size=(8.4, 2.8))
def figure_3(run, flow, axes):
    """The same with Boolean tokens: descent on samples (broad) and the exact flow of the Boolean model (dashed). The phases
    end at 205, 869 and 3378, against 205, 891 and 3181 for Gaussian tokens."""
    panels.four_phases(run, flow, axes)


@ps.figure(
    "Figure 4",
    evidence.matrix_gd_sampled,
    evidence.matrix_gd,
    evidence.matrix_adam_sampled,
    evidence.matrix_adam,
    panels=(1, 2),
    size=(7.2, 2.9),
)
def figure_4(gd_sampled, gd, adam_sampled, adam, axes):
    """Partial losses in D = 20 dimensions (the numbers below; D = 100 at full size), target a* = 0.49 / D, by descent on
    samples (broad) and on the closed form of infinitely many keys (dashed). Left: gradient descent learns the 4-gram and the
    value h and then stays at 3.98e-5 for 40,000 updates: the leading mode of the bilinear form grows at 1.6e-4 per unit of
    time. Right: Adam learns the induction head to 1e-6 by update 2000, when the 4-gram is still at 13 % of its start: the
    order is reversed, and there is one plateau at most."""
    names = ("gradient descent", "Adam")
    for panel, name, runs in zip(
        axes, names, ((gd_sampled, gd), (adam_sampled, adam)), strict=True
    ):
        sampled, exact = (run.assign_coords(time=run.time / spec_of(run).eta) for run in runs)
        panels.over(sampled, exact, "loss_g4", panel, BLUE, r"4-gram, $\mathcal{L}_{G4}$")
        panels.over(
            sampled, exact, "loss_ih", panel, VERMILION, r"induction head, $\mathcal{L}_{IH}$"
        )
        panel.set(xlabel="update", xscale="log", yscale="log", xlim=(10, exact.time[-1]))
        panel.set_title(f"{name}, $D = {spec_of(exact).dim}$")
    axes[0].set(ylabel="partial loss", ylim=(1e-5, 0.4))
    axes[1].set(ylabel="partial loss", ylim=(1e-11, 0.4))
    panels.legend(axes[0], flow="closed form", loc="lower left")


figures = (figure_3, figure_4)
