"""A map: how much attention wrong clauses keep, over the clip and the loss at which a stage ends."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..theory import routing

CLIPS = np.linspace(20.0, 37.5, 256)
ENDS = np.linspace(1.0, 18.5, 256)
PROOF = 6.05  # the proof ends a stage at E_1 = C_B - 6.05
BOUND = 0.01  # of Theorem 5.1 (2)
# A stage that ends at a higher loss is the beginning of one that ends at a lower: one path for each clip has them all.
SWEEP = ps.sweeps(
    routing,
    preset="theorem_5_1",
    clip=CLIPS.tolist(),
    threshold=float(ENDS[-1]) + 0.05,  # so that the last end lies between records
    stages=1,
    distance=3000,
    at=range(0, 3001, 2),
    keep=("stage_exponent", "stage_epsilon"),
)


@ps.figure("Theorem 5.1 (2): eps (ours)", SWEEP, size=(4.6, 3.5))
def map_of_eps(runs, axes):
    """Attention that wrong clauses keep when the first stage of S3 ends (d = 10^4, flow path), over the clip C_B and
    the loss d^-E_1 at which it is ended. Dashed: E_1 = C_B - 6.05, as in the proof. There eps is {first:.2f} at C_B =
    {least:g} and {second:.2f} at C_B = {next:.1f}, {times:.0f} times the 0.01 of Theorem 5.1 (2). At a fixed clip eps
    falls with E_1: at C_B = {least:g} a loss of d^-{end:g} leaves {low:.3f}. At a fixed loss it grows with the clip: at
    C_B = {most:g} the same loss leaves {high:.2f}. A larger clip helps only if the stage is trained longer with it."""
    eps = at_the_ends(runs, ENDS)
    words = r"$\epsilon$, attention on wrong clauses"
    ps.draw_map(eps, axes, levels=[0.1, 0.2, 0.3], label=words, vmin=0, vmax=0.4)
    axes.plot(runs["clip"], runs["clip"] - PROOF, "w--", lw=1.4, label="as in the proof")
    ps.legend(axes, loc="lower right", facecolor="0.5", framealpha=0.8)
    axes.set(ylim=(ENDS[0], ENDS[-1]), ylabel=r"$E_1$: a stage ends at loss $d^{-E_1}$")
    axes.set(xlabel=r"$C_B$: logits are cut at $C_B \log d$")
    first = eps.isel(clip=0)
    last = eps.isel(clip=-1)
    on_the_map = eps.sel(clip=eps["clip"] <= ENDS[-1] + PROOF).isel(clip=-1)
    second = as_in_the_proof(on_the_map)
    return {
        "least": float(first["clip"]),
        "next": float(on_the_map["clip"]),
        "most": float(last["clip"]),
        "end": ENDS[-1],
        "first": as_in_the_proof(first),
        "second": second,
        "times": second / BOUND,
        "low": float(first.isel(threshold=-1)),
        "high": float(last.isel(threshold=-1)),
    }


def at_the_ends(runs: xr.Dataset, ends: np.ndarray) -> xr.DataArray:
    """eps when the loss comes down to d^-E_1, between records, for every E_1; NaN where a path does not come so far."""
    exponents = runs.stage_exponent.transpose("clip", "time").values
    epsilons = runs.stage_epsilon.transpose("clip", "time").values
    found = np.full((len(exponents), len(ends)), np.nan)
    for row, E, eps in zip(found, exponents, epsilons, strict=True):
        known = np.isfinite(E) & np.isfinite(eps)
        highest = np.maximum.accumulate(np.where(known, E, -np.inf))
        risen = known & (highest == E)
        if risen.any():
            row[:] = np.interp(ends, E[risen], eps[risen], left=np.nan, right=np.nan)
    return xr.DataArray(
        found, {"clip": runs["clip"].values, "threshold": ends}, ("clip", "threshold")
    )


def as_in_the_proof(eps: xr.DataArray) -> float:
    """eps where the proof ends the stage, between the ends of the map."""
    return float(eps.interp(threshold=float(eps["clip"]) - PROOF))


figures = (map_of_eps,)
