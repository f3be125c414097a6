"""A map: how much attention wrong clauses keep, over the clip and the loss at which a stage ends."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..theory import routing

CLIPS = np.linspace(20.0, 37.5, 8)
ENDS = np.linspace(1.0, 18.5, 15)
PROOF = 6.05  # the proof ends a stage at E_1 = C_B - 6.05
SWEEP = ps.sweeps(
    routing,
    preset="theorem_5_1",
    clip=CLIPS.tolist(),
    threshold=ENDS.tolist(),
    stages=1,
    distance=3000,
)


@ps.figure("Theorem 5.1 (2): eps (ours)", SWEEP, size=(4.6, 3.5))
def map_of_eps(runs, axes):
    """Attention that wrong clauses keep when the first stage of S3 ends (d = 10^4, flow path), over the clip C_B and
    the loss d^-E_1 at which it is ended. Dashed: E_1 = C_B - 6.05, as in the proof. There eps is {first:.2f} at C_B =
    {least:g} and {second:.2f} at C_B = {next:g}, {times:.0f} times the 0.01 of Theorem 5.1 (2). At a fixed clip eps
    falls with E_1: at C_B = {least:g} a loss of d^-{end:g} leaves {low:.3f}. At a fixed loss it grows with the clip: at
    C_B = {most:g} the same loss leaves {high:.2f}. A larger clip helps only if the stage is trained longer with it."""
    last = runs.isel(time=-1, drop=True)
    ended = last.stage_exponent >= last.threshold
    eps = last.stage_epsilon.where(ended).transpose("clip", "threshold").reset_coords(drop=True)
    words = r"$\epsilon$, attention on wrong clauses"
    ps.draw_map(eps, axes, levels=[0.1, 0.2, 0.3], label=words, vmin=0, vmax=0.4)
    axes.plot(runs["clip"], runs["clip"] - PROOF, "w--", lw=1.4, label="as in the proof")
    ps.legend(axes, loc="lower right", facecolor="0.5", framealpha=0.8)
    axes.set(ylim=(ENDS[0], ENDS[-1]), ylabel=r"$E_1$: a stage ends at loss $d^{-E_1}$")
    axes.set(xlabel=r"$C_B$: logits are cut at $C_B \log d$")
    first, second = (_as_in_the_proof(eps.isel(clip=k)) for k in (0, 1))
    return {
        "least": CLIPS[0],
        "next": CLIPS[1],
        "most": CLIPS[-1],
        "end": ENDS[-1],
        "first": first,
        "second": second,
        "times": second / 0.01,
        "low": float(eps.isel(clip=0, threshold=-1)),
        "high": float(eps.isel(clip=-1, threshold=-1)),
    }


def _as_in_the_proof(eps: xr.DataArray) -> float:
    """eps where the proof ends the stage, between the ends of the map."""
    return float(eps.interp(threshold=float(eps["clip"]) - PROOF))


figures = (map_of_eps,)
