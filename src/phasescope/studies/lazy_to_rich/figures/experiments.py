"""Figures 3 and 4 (Appendix B): Boolean tokens, and many dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..phases import phase_times, spec_of
from . import panels
from .panels import BLUE, DATA, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READING = {"lw": 0.6}  # another reading of what the text leaves open


@ps.figure(
    "Figure 3",
    evidence.figure_3,
    evidence.true_boolean,
    evidence.true,
    panels=(1, 4),
    size=(8.5, 2.7),
)
def figure_3(run, flow, gaussian, axes):
    """(a, b, c) As Figure 1, with Boolean tokens: descent on samples (broad) and the exact flow of the Boolean model
    (dashed). (d) What is different: the Boolean flow over the Gaussian one of Figure 1. The plateau is lower, by
    {plateau:.0%} at T_II; the weight w_KQ grows a little later, by {weight:.0%} at the most; so the phases end at
    {ends:s}, against {gaussian_ends:s}, and the ratio of the induction head's losses leaves the panel meanwhile."""
    panels.four_phases(run, flow, axes, "Boolean")
    panels.ratios(flow, gaussian, axes[3])
    axes[3].set(ylabel="Boolean / Gaussian", yscale="linear", ylim=(0.85, 1.3))
    times = {name: phase_times(which) for name, which in (("b", flow), ("g", gaussian))}
    said = {
        name: ", ".join(f"{float(found[end]):.0f}" for end in panels.ENDS)
        for name, found in times.items()
    }
    at = np.argmin(abs(flow.time.values - float(times["b"].T_II)))
    return {
        "plateau": 1 - float(flow.loss_ih[at] / gaussian.loss_ih[at]),
        "weight": 1 - float((flow.w_kq / gaussian.w_kq).min()),
        "ends": said["b"],
        "gaussian_ends": said["g"],
    }


AS_PRINTED = {"shape": "matrix", "reading": "linear", "reduction": "mean"}


@ps.figure("Figure 4", evidence.figure_4_gd, evidence.figure_4_adam, panels=(1, 2), size=(7.4, 3.1))
def figure_4(gd, adam, axes):
    """Partial losses over their start in D = 100 dimensions, batches of 1000, 100,000 updates: as printed (broad) and
    in the other readings of what the text leaves open (thin). (a) Gradient descent learns the 4-gram and the value h
    and then stays on the plateau, which is lower where the target's score is squared; with the loss as a sum over
    coordinates it diverges at update 13 (not drawn). Dots: records, where they are sparse (100 updates apart, 25 in b).
    (b) Adam brings the induction head to a thousandth by update {update:.0f}, when the 4-gram is still at {left:.0%} of
    its start: the order is reversed, and there is no plateau on the way. Below 1e-6 the noise of the batches raises it
    again."""
    for panel, name, runs in zip(axes, ("gradient descent", "Adam"), (gd, adam), strict=True):
        runs = runs.assign_coords(time=runs.time / spec_of(runs).eta)
        for loss, color, label in (
            ("loss_g4", BLUE, r"4-gram, $\mathcal{L}_{G4}$"),
            ("loss_ih", VERMILION, r"induction head, $\mathcal{L}_{IH}$"),
        ):
            left = (runs[loss] / runs[loss].isel(time=0)).isel(time=slice(1, None))
            for lane in left.stack(lane=list(AS_PRINTED)).transpose("lane", "time"):
                if lane[-1].notnull():
                    panel.plot(left.time, lane, color=color, **READING)
            printed = left.sel(AS_PRINTED)
            panel.plot(left.time, printed, color=color, label=label, **DATA)
            draw_sparse_records(printed, panel, color)
        panel.plot([], [], color="0.3", label="the same, read otherwise", **READING)
        panel.set(xlabel="update", xscale="log", yscale="log", xlim=(90, runs.time[-1]))
        panel.set_title(f"{name}, $D = {spec_of(runs).dim}$")
        panel.set(ylabel="partial loss / start", ylim=(1e-8, 2))
    panels.legend(axes[0], loc="upper right")
    for x, y, words, color in (
        (1.3e4, 1e-2, "4-gram", BLUE),
        (1.1e3, 1e-4, "induction\nhead", VERMILION),
    ):
        axes[1].text(x, y, words, color=color, fontsize=8, ha="left" if x > 1e4 else "right")
    return order_of_learning(adam)


def order_of_learning(adam: xr.Dataset) -> dict[str, float]:
    """When the induction head is at a thousandth of its first loss, and what is left of the 4-gram's then."""
    run = adam.sel(AS_PRINTED)
    head = run.loss_ih / run.loss_ih[0]
    when = float(ps.crossing(head, 1e-3, "down"))
    gram = run.loss_g4 / run.loss_g4[0]
    return {
        "update": when / spec_of(adam).eta,
        "left": float(np.interp(when, run.time, gram)),
    }


def draw_sparse_records(curve: xr.DataArray, axes: Axes, color: str) -> None:
    """Dots at the records that stand so far apart in log time that the line between them is a guess."""
    wide = np.append(np.diff(np.log(curve.time)) > 0.1, False)
    sparse = curve[wide]
    axes.plot(sparse.time, sparse, "o", ms=2.5, color=color)


figures = (figure_3, figure_4)
