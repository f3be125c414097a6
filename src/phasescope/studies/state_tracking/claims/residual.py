"""Claims about a residual stream: whether the second band of Figure 2 is gone with it."""

from __future__ import annotations

import xarray as xr

import phasescope as ps
from phasescope import claim, on

from . import recorded
from .comparing import MOST, SOME, own_answer
from .premises import theorems

PAGE = "Section 7, Figure 2; the paper does not state whether there is a residual stream"
NONE = ps.chosen(0.02, "no band")
BAND = ps.chosen(0.4, "a band: most of one of two heads")

without = (*recorded.norm.values(), *recorded.plain.values())
residual = tuple(recorded.residual.values())
NAMES = ("C6", "S5")


@claim(
    "ours, on Figure 2: a residual stream",
    on("training", *without, *residual),
    id="ours-residual-optional",
    aliases=("F2-optional", "F2-residual"),
    kind="order",
    whose="ours",
    tex=r"\text{with a residual stream some seeds have no second band}",
    page=PAGE,
    assumes=theorems,
)
def the_second_band_is_needed_only_without_a_residual_stream(*runs: xr.Dataset) -> ps.Verdict:
    """Without a residual stream every seed of both groups looks at its own answer (at least 0.1 of all attention); with one,
    some seeds of each group do (0.4) and some do not (0.02), and all of them solve four times the training length."""
    found = []
    for name, run in zip(NAMES * 2, runs[:4], strict=True):
        own = own_answer(run)
        found += [
            ps.positive(own - SOME, f"{name}, no residual stream: attention on the answer - 0.1"),
            ps.guard(ps.within(own, 0.0, 1.0, f"{name}: a share of attention")),
        ]
    for name, run in zip(NAMES, runs[4:], strict=True):
        own = own_answer(run)
        far = run.accuracy.isel(time=-1).sel(test_length=20)
        least = own.min("seed", skipna=False)
        most = own.max("seed", skipna=False)
        found += [
            ps.positive(NONE - least, f"{name}, residual stream: 0.02 - least of a seed"),
            ps.positive(most - BAND, f"{name}, residual stream: most of a seed - 0.4"),
            ps.guard(ps.within(own, 0.0, 1.0, f"{name}: a share of attention")),
            ps.guard(ps.within(far, MOST, 1.0, f"{name}: accuracy at length 20")),
        ]
    return ps.all_of(found)


claims = (the_second_band_is_needed_only_without_a_residual_stream,)
