"""Claims about the size of the embeddings at the start, which nobody states: how far it moves the curve of Figure 1a.

Neither residual stream nor layer normalisation, 20,000 updates; the full start is `plain`.
"""

from __future__ import annotations

import xarray as xr

import phasescope as ps
from phasescope import claim, on

from . import recorded
from .comparing import HALF_OCTAVE, ahead, reach, solved
from .premises import theorems

small = tuple(recorded.starts.values())
full = tuple(recorded.plain.values())
NAMES = ("C6", "S5")
PAGE = "Section 7, Figure 1a; the paper does not state the size of the first embeddings"


def _end(run: xr.Dataset) -> xr.DataArray:
    return reach(run.accuracy.isel(time=-1))


@claim(
    "ours, on Figure 1a: the start",
    on("training", *small, *full),
    id="ours-start",
    aliases=("F1a-start",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{\sigma=1} - \mathrm{Acc}_{\sigma=0.2} > \tfrac12 \text{ octave}",
    page=PAGE,
    assumes=theorems,
)
def smaller_embeddings_at_the_start_shorten_the_reach(
    cyclic: xr.Dataset, symmetric: xr.Dataset, full_cyclic: xr.Dataset, full_symmetric: xr.Dataset
) -> ps.Verdict:
    """Started with embeddings of size 0.2 instead of 1, both groups reach half an octave less far after as many updates, though
    they solve the training length."""
    found = []
    for name, run, whole in zip(
        NAMES, (cyclic, symmetric), (full_cyclic, full_symmetric), strict=True
    ):
        least = run.sel(embedding_scale=0.2)
        found += [
            ahead(_end(whole), _end(least), f"{name}: reach from size 1 - 0.2", by=HALF_OCTAVE),
            solved(least, name),
        ]
    return ps.all_of(found)


@claim(
    "ours, on Figure 1a: the start and the contrast",
    on("training", *small, expect="outside", because="{measured}"),
    id="ours-start-contrast",
    aliases=("F1a-start-contrast",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{C_6} - \mathrm{Acc}_{S_5} > \tfrac12 \text{ octave}",
    page=PAGE,
    assumes=theorems,
)
def a_smaller_start_makes_the_contrast(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """Started with embeddings of size 0.2 or 0.5, C6 reaches half an octave further than S5 on fresh chains."""
    found = []
    for size in recorded.STARTS:
        a, b = (_end(run.sel(embedding_scale=size)) for run in (cyclic, symmetric))
        found.append(ahead(a, b, f"size {size:g}: reach of C6 - S5", by=HALF_OCTAVE))
    return ps.all_of(found)


claims = (smaller_embeddings_at_the_start_shorten_the_reach, a_smaller_start_makes_the_contrast)
