"""A map: how long a sequence must be for Phase I of Theorem 4."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims.theorem_4 import the_four_gram_is_learned_before_anything_else

# Closest to each other where the claim begins to hold.
LENGTHS = (
    1000,
    2000,
    4000,
    8000,
    *range(11_000, 24_000, 3000),
    28_000,
    35_000,
    45_000,
    100_000,
    200_000,
)
PHASE_I = ps.maps(
    the_four_gram_is_learned_before_anything_else,
    alpha=np.geomspace(1.0, 10.0, 256),
    length=list(LENGTHS),
)


@ps.figure("Theorem 4, Phase I (ours)", PHASE_I, size=(4.6, 3.5))
def map_of_phase_1(found, axes):
    """How long is long: the claim of Phase I (when the 4-gram's loss is at 1 % of its start, the induction head's is
    at 99 % or more of its own) in the exact flow, over alpha and L, at sigma = 0.01 and w* = 0.49. Blue: it holds. At
    alpha = 1 it takes L = {first:,.0f}, at alpha = 10 still {last:,.0f}; the experiments have L = 40. The margin on the
    blue side is thin everywhere, at most {margin:.2f}, for what is left of a loss cannot exceed 100 %."""
    ps.draw_map(found, axes, label="margin of the claim", vmin=-0.3, vmax=0.3)
    return {
        "first": length_needed(found.margin.isel(alpha=0)),
        "last": length_needed(found.margin.isel(alpha=-1)),
        "margin": float(found.margin.max()),
    }


def length_needed(margin: xr.DataArray) -> float:
    """From which length on a margin is positive; between cells it is linear in 1 / L, as what is lost of the loss is."""
    along = margin.assign_coords(length=-1.0 / margin.length.values)
    return float(-1.0 / ps.crossing(along, 0.0, "up", along="length"))


figures = (map_of_phase_1,)
