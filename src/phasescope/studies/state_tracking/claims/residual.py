"""Claims about a residual stream: whether the second band of Figure 2 is gone with it."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from . import recorded
from .comparing import own_answer

without = (*recorded.norm.values(), *recorded.plain.values())
residual = tuple(recorded.residual.values())
NAMES = ("C6", "S5")


@ps.claim(
    "ours, on Figure 2",
    ps.beyond(
        *residual,
        expect=ps.Outcome.FAILS,
        because="three of five seeds of C6 and one of five of S5 keep one head on the answer",
    ),
    id="F2-residual",
)
def a_residual_stream_removes_the_second_band(
    cyclic: xr.Dataset, symmetric: xr.Dataset
) -> ps.Verdict:
    """With a residual stream the value is already there, and no seed spends more than 0.02 of its attention on the answer that
    asks; at least 0.9 is on the predicate."""
    found = []
    for name, run in zip(NAMES, (cyclic, symmetric), strict=True):
        band = run.attention_predicate.isel(time=-1, test_length=0).isel(
            step=slice(int(run.test_length[0]))
        )
        found += [
            ps.within(own_answer(run), 0.0, 0.02, f"{name}: attention on the own answer"),
            ps.within(
                band.mean("step", skipna=False), 0.9, 1.0, f"{name}: attention on the predicate"
            ),
        ]
    return ps.all_of(found)


@ps.claim("ours, on Figure 2", ps.beyond(*without, *residual), id="F2-optional")
def the_second_band_is_needed_only_without_a_residual_stream(*runs: xr.Dataset) -> ps.Verdict:
    """Without a residual stream every seed of both groups looks at its own answer (at least 0.1 of all attention); with one,
    some seeds of each group do (0.4) and some do not (0.02), and all of them solve four times the training length."""
    found = []
    for name, run in zip(NAMES * 2, runs[:4], strict=True):
        found.append(
            ps.within(
                own_answer(run),
                0.1,
                0.6,
                f"{name}, no residual stream: attention on the own answer",
            )
        )
    for name, run in zip(NAMES, runs[4:], strict=True):
        own = own_answer(run)
        far = run.accuracy.isel(time=-1).sel(test_length=20)
        found += [
            ps.within(
                own.min("seed", skipna=False),
                0.0,
                0.02,
                f"{name}, residual stream: least attention of a seed",
            ),
            ps.within(
                own.max("seed", skipna=False),
                0.4,
                0.6,
                f"{name}, residual stream: most attention of a seed",
            ),
            ps.within(far, 0.95, 1.0, f"{name}, residual stream: accuracy at length 20"),
        ]
    return ps.all_of(found)


claims = (
    a_residual_stream_removes_the_second_band,
    the_second_band_is_needed_only_without_a_residual_stream,
)
