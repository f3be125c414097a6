"""Late times, far beyond what descent can reach: the laws that phase 2 tends to."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..margin import margin_rows, max_margin
from ..phases import phase_2, spec_of
from . import panels
from .panels import BLUE, GREEN, VERMILION

FIRST = 20.0  # twice the end of phase 1


@ps.figure(
    "Theorems 4.4, 4.5, 5.2 and 5.3: the laws (ours)",
    evidence.even_pairs_flow,
    evidence.parity_flow,
    evidence.even_pairs_frozen,
    panels=(1, 3),
    size=(7.8, 2.7),
)
def late_time(even, parity, frozen, axes):
    """Gradient flow at lam = 2 up to tau = e^40, and with the attention frozen at the end of phase 1 (dashed) up to
    e^100. (a) The loss falls like 1 / tau: the exponent tends to -1, from below in joint training ({even_slope:.4f} for
    even pairs and {parity_slope:.4f} for parity at the end), from above if frozen. (b) Frozen, the read-out comes to
    grow by |u*| = {frozen_norm:.1f} for each unit of log tau. In joint training, with u* for the attention of the
    moment, it grows by {even_growth:.2f} (even pairs) and {parity_growth:.2f} (parity) of |u*| at the end, and rising.
    (c) Frozen, the read-out turns to u*, at an angle like 1 / log tau. In joint training the attention moves on, and
    the cosine is {even_cosine:.3f} and {parity_cosine:.4f} at the end."""
    numbers = draw_laws(even, axes, "even", color=BLUE, label="even pairs")
    numbers |= draw_laws(parity, axes, "parity", color=VERMILION, label="parity")
    numbers |= draw_laws(frozen, axes, "frozen", color=GREEN, label="even pairs, frozen", ls="--")
    slope, growth, angle = axes
    slope.axhline(-1, color="k", lw=0.8, zorder=0)
    growth.axhline(1, color="k", lw=0.8, zorder=0)
    slope.set(ylabel=r"$d\log\mathcal{L}/d\log\tau$")
    growth.set(ylabel=r"$(d\|u\|/d\log\tau)\,/\,\|u^*\|$", ylim=(0, 1.15))
    angle.set(ylabel=r"$1 - \cos(u, u^*)$", yscale="log")
    for panel in axes:
        panel.set(xlabel=r"training time $\tau$", xscale="log", xlim=(1, 1e45))
        panel.set_xticks([1, 1e15, 1e30, 1e45])
    panels.legend(slope, loc="lower right")
    panels.legend(growth, loc="lower right")
    panels.legend(angle, loc="upper right")
    return numbers


def draw_laws(run: xr.Dataset, axes, name: str, **style) -> dict[str, float]:
    """The exponent of the loss, the growth of the read-out in units of |u*|, and its angle to u*.

    Returns the last of each, for a caption; `name` begins their names.
    """
    late = phase_2(run).sel(time=slice(FIRST, None))
    best = margin_now(late.isel(time=slice(None, None, 3)))
    rate = late.u_norm.copy(data=np.gradient(late.u_norm, np.log(late.time)))
    growth = (rate / best.norm).isel(time=slice(1, -1))
    curves = (ps.local_slope(late.loss), growth, 1 - best.cosine)
    for panel, curve in zip(axes, curves, strict=True):
        panel.plot(curve.time, curve, lw=1.5, **style)
    slope, growth, angle = (curve.dropna("time") for curve in curves)
    return {
        f"{name}_slope": float(slope[-1]),
        f"{name}_growth": float(growth[-1]),
        f"{name}_cosine": 1 - float(angle[-1]),
        f"{name}_norm": float(best.norm.dropna("time")[-1]),
    }


def margin_now(run: xr.Dataset) -> xr.Dataset:
    """Norm of the max-margin read-out for the attention of the moment, and the read-out's alignment with it."""
    pivots = spec_of(run).pivots
    found = []
    records = (run.attention_match.values, run.attention_differ.values, run.token_score.values)
    for match, differ, v in zip(*records, strict=True):
        best = max_margin(margin_rows(np.stack([match, differ]), pivots))
        if best.reliable:
            cosine = v @ best.v / np.linalg.norm(v) / np.linalg.norm(best.v)
            found.append((best.norm, cosine))
        else:
            found.append((np.nan, np.nan))
    norm, cosine = np.array(found).T
    return xr.Dataset(
        {"norm": ("time", norm), "cosine": ("time", cosine)}, {"time": run.time.values}
    )


figures = (late_time,)
