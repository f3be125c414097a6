"""Figure 1 of the paper, with the settings that it leaves open filled in two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..phases import first_phase_end, spec_of, trained
from . import panels
from .panels import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that no type of sample has in the panels beside.
SCORES = {
    (2, 1): (BLUE, "S_{21}"),
    (1, 2): (SKY, "S_{12}"),
    (3, 1): ("#8C510A", "S_{31}"),
    (3, 2): ("#C7A76C", "S_{32}"),
}
TYPES = {
    1: (ORANGE, r"$I_1$: both targets"),
    2: (GREEN, r"$I_2$: $\mu_1$ only"),
    3: (VERMILION, r"$I_3$: $\mu_2$ only"),
    4: (PURPLE, r"$I_4$: neither"),
}


@ps.figure("Figure 1", evidence.descent, evidence.figure_1, panels=(1, 3), size=(8.4, 3.2))
def figure_1(descent, flow, axes):
    """The paper's experiment with a_j = +-1/sqrt(m1) and the usual uniform start of linear layers, which gives the
    picture that the paper describes; descent (curves) and gradient flow (dashed), first seed. (a) Scores of key i for
    query j: they make {way:.0%} of their way at most in phase 1, which ends at epoch {end:.0f}; then the targets come to attend
    to each other, and away from the common word. (b) Losses of the four types: with both targets it falls at once, with
    one it first rises, by {rise_2:.2f} and {rise_3:.2f}, to a peak at epochs {peak_2:.0f} and {peak_3:.0f}, and falls
    before phase 1 ends. (c) The same, logarithmic: at the end the loss of all samples falls like t^{slope:.1f}, on its way
    to 1/t, and that of samples with neither target like t^{slope_4:.1f}."""
    axes[0].figure.suptitle(r"$a_j = \pm 1/\sqrt{m_1}$", fontsize=9.5)
    end = draw_experiment(descent, flow, axes, legend=(0.02, 0.68), losses_legend="lower left")
    numbers = {"end": end, "way": way_made(descent, end)}
    for kind in (2, 3):
        loss = descent.loss_type.sel(type=kind)
        numbers[f"rise_{kind}"] = float(loss.max() - loss[0])
        numbers[f"peak_{kind}"] = float(loss.idxmax("time")) / spec_of(descent).eta
    return numbers | {
        "slope": last_slope(descent.loss),
        "slope_4": last_slope(descent.loss_type.sel(type=4)),
    }


def last_slope(loss: xr.DataArray) -> float:
    """The exponent of a loss over the last half of a run."""
    ends = loss.sel(time=slice(float(loss.time[-1]) / 2, None)).isel(time=[0, -1])
    return float(np.diff(np.log(ends))[0] / np.diff(np.log(ends.time))[0])


def way_made(run: xr.Dataset, epoch: float) -> float:
    """The largest share of their change that the drawn scores make up to an epoch."""
    shares = []
    for key, query in SCORES:
        score = run.S.sel(key=key, query=query)
        then = score.sel(time=epoch * spec_of(run).eta, method="nearest")
        shares.append(float(abs(then - score[0]) / abs(score[-1] - score[0])))
    return max(shares)


@ps.figure(
    "Figure 1, literally",
    evidence.descent_literal,
    evidence.figure_1_literal,
    panels=(1, 3),
    size=(8.4, 3.2),
)
def figure_1_literal(descent, flow, axes):
    """The same with a_j = +-1 as the text has it. Phase 1 is over by epoch {end:.0f}, next to nothing of a linear axis,
    and eta kappa = {rate:.1f}, so that the first steps of descent are no flow. (a) The scores move by {moved:.3f} at most.
    (b) Losses start anywhere and fall; (c) by epoch {last:.0f} to {loss:.1g}."""
    axes[0].figure.suptitle(r"$a_j = \pm 1$", fontsize=9.5)
    end = draw_experiment(descent, flow, axes, legend=(0.3, 0.48), losses_legend="upper right")
    scores = [descent.S.sel(key=key, query=query) for key, query in SCORES]
    eta = spec_of(descent).eta
    return {
        "end": end,
        "rate": eta * float(descent.kappa[0]),
        "moved": max(float(abs(score - score[0]).max()) for score in scores),
        "last": float(descent.time[-1]) / eta,
        "loss": float(descent.loss[-1]),
    }


def draw_experiment(
    descent: xr.Dataset,
    flow: xr.Dataset,
    axes: Any,
    legend: tuple[float, float],
    losses_legend: str,
) -> float:
    """Scores, then losses on a linear and on a logarithmic axis, over epochs. Returns the epoch at which phase 1 ends."""
    scores = axes[0]
    losses = axes[1:]
    flow = trained(flow).sel(seed=int(descent.attrs["seed"]))
    border = float(first_phase_end(descent) / descent.kappa[0] / spec_of(descent).eta)
    for (key, query), (color, name) in SCORES.items():
        curve(
            scores,
            descent,
            flow,
            lambda ds, k=key, q=query: ds.S.sel(key=k, query=q),
            color,
            f"${name}$",
        )
    for panel in losses:
        for kind, (color, name) in TYPES.items():
            curve(panel, descent, flow, lambda ds, k=kind: ds.loss_type.sel(type=k), color, name)
        curve(panel, descent, flow, lambda ds: ds.loss, BLACK, "all")
        panel.set(ylabel="training loss")
    scores.set(ylabel=r"score $S_{ij} = \mu_i^\top W_K^\top W_Q\,\mu_j$")
    losses[1].set(yscale="log")
    for panel in axes:
        panel.set(xscale="log", xlabel="epoch", xlim=(1, evidence.EPOCHS))
        panels.shade_phases(panel, border)
    scores.plot([], [], label="gradient flow", **panels.THEORY)
    ps.legend(scores, loc=legend)
    ps.legend(losses[0], loc=losses_legend)
    ps.legend(losses[1], loc="lower left")
    return border


def curve(
    axes: Axes, descent: xr.Dataset, flow: xr.Dataset, of: Any, color: str, label: str
) -> None:
    """Descent as a broad curve, the flow dashed upon it."""
    styles: list[dict[str, Any]] = [panels.DATA | {"color": color, "label": label}, panels.THEORY]
    for ds, style in zip((descent, flow), styles, strict=True):
        later = ds.isel(time=slice(1, None))
        axes.plot(np.asarray(later.time) / spec_of(descent).eta, of(later), **style)


figures = (
    figure_1,
    figure_1_literal,
)
