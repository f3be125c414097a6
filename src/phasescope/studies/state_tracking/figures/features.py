"""Stage 1 drawn: features that emerge one by one, and the limit in which confounders cancel."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..phases import curriculum, shapes, spec_of
from ..theory_model.limits import limit_sizes

KINDS = {"g": r"$V(g)$", "y": r"$V(y)$", "other_g": r"$V(g')$", "other_y": r"$V(y')$"}


@ps.figure(
    "Equations (16), (17): features",
    evidence.learning_C3,
    evidence.limit_C3,
    id="emergence",
    panels=(1, 2),
    size=(7.6, 3.2),
)
def features_emerge_one_by_one_and_cancel(run, limit, axes):
    """(a) The nine features of C3 (d = 1e6, q = 10) rise one after another, each within a few dozen updates and all
    between updates {begin:,.0f} and {end:,.0f}, in the order of the curriculum (numbers, read off the start alone). (b)
    Along the path of the flow, in its own time, right weights reach B = {B:.1f} and wrong ones -B, and confounders V(g) +
    V(y') cancel last: they are below a hundredth of B from a time of 10^{log_time:.0f} on."""
    _draw_order(run, axes[0])
    cancelled = _draw_limit(limit, axes[1])
    learned = run.learned.isel(time=-1)
    spec = spec_of(limit)
    return {
        "begin": float(learned.min()),
        "end": float(learned.max()),
        "B": spec.clip * np.log(spec.vocabulary),
        "log_time": cancelled,
    }


def _draw_order(run, axes) -> None:
    window = run.sel(time=slice(5000, 20_000))
    order = curriculum(run.combined.isel(time=0))
    for rank, ((j, r, y), shade) in enumerate(zip(order, ps.shades(len(order)), strict=True)):
        curve = window.combined.isel(image=j, neuron=r, value=y)
        axes.plot(window.time / 1000, curve, color=shade, lw=1.4)
        at = float(run.learned.isel(time=-1, image=j, neuron=r, value=y))
        if np.isfinite(at):
            axes.annotate(
                str(rank + 1),
                (at / 1000, 24.0 + 1.4 * (rank % 2)),
                ha="center",
                fontsize=7.5,
                color=shade,
            )
    half = 0.5 * np.log(spec_of(run).vocabulary)
    axes.axhline(half, ls="--", lw=1, color="0.4")
    axes.annotate(r"$\log(d) / 2$", (17.2, half + 0.5), fontsize=8, color="0.4")
    axes.set(
        xlabel="updates / 1000",
        ylabel=r"combined feature $V_\psi$",
        xlim=(9, 20),
        ylim=(-1, 27.5),
        title="order",
    )


def _draw_limit(limit, axes) -> float:
    """The weights over time; the log of the time from which on confounders are below a hundredth of B."""
    spec = spec_of(limit)
    records = limit.isel(time=np.flatnonzero(limit.log_time > 4))
    records = records.isel(time=slice(None, None, max(1, records.sizes["time"] // 80)))
    found = [
        shapes(records.isel(time=i).assign_attrs(limit.attrs)) for i in range(records.sizes["time"])
    ]
    log_time = records.log_time.values
    for (name, label), color in zip(KINDS.items(), ps.PALETTE, strict=False):
        style = {"ls": "--", "lw": 2.2} if name.endswith("y") else {"lw": 1.4}  # g and y coincide
        axes.plot(
            log_time, [float(f[name].mean()) for f in found], color=color, label=label, **style
        )
    confounders = [float(f["conf_y"].mean()) for f in found]
    axes.plot(log_time, confounders, color="k", ls=":", label=r"$V(g)+V(y')$")
    v_g, _ = limit_sizes(spec.action, spec.clip * np.log(spec.vocabulary))
    for sign in (1, -1):
        axes.axhline(sign * float(v_g), ls="--", lw=1, color="0.4")
    axes.annotate("$B$", (log_time[0], float(v_g) - 7), fontsize=8, color="0.4")
    axes.annotate("$-B$", (log_time[0], 3 - float(v_g)), fontsize=8, color="0.4")
    axes.set(
        xlabel=r"$\log_{10}$ flow time", ylabel="weight of active neurons", title="cancellation"
    )
    ps.legend(axes, loc="center right", bbox_to_anchor=(1.0, 0.71))
    left = np.flatnonzero(np.abs(confounders) > float(v_g) / 100)
    return float(log_time[min(left[-1] + 1, log_time.size - 1) if left.size else 0])


figures = (features_emerge_one_by_one_and_cancel,)
