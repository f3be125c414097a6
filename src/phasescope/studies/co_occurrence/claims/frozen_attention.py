"""Section 3: whether what the attention has learned matters to the loss."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..phases import at_the_end, frozen, trained
from . import evidence
from .parts import where_it_learns
from .premises import condition_1


def cost_of_freezing(runs) -> xr.DataArray:
    """The loss with frozen attention over that with trained attention, less 1, at the end."""
    parts: list[xr.DataArray] = []
    for run in runs:
        parts.append(at_the_end(frozen(run).loss) / at_the_end(trained(run).loss) - 1)
    return xr.concat(parts, "run")


@ps.claim(
    "Section 3: attention and MLP jointly enlarge the margin",
    ps.on("training", *evidence.large_start),
    ps.on("training", evidence.figure_1),
    id="sec3-jointly",
    aliases=("X3",),
    kind="sign",
    tex=r"\hat L_{\text{frozen attention}} > \hat L",
    page="Section 3, after Theorem 3.2",
    assumes=condition_1,
)
@where_it_learns
def attention_lowers_the_loss(*runs):
    """Training with the attention frozen at its start ends with a higher loss."""
    return ps.positive(cost_of_freezing(runs), "frozen / trained loss - 1")


@ps.claim(
    "Section 3: how much the attention matters (ours)",
    ps.on("training", *evidence.large_start),
    ps.on("training", evidence.figure_1),
    id="ours-attention-irrelevant",
    aliases=("X3-irrelevant",),
    kind="order",
    whose="ours",
    tex=r"\hat L_{\text{frozen attention}} < 1.02\,\hat L",
    page="Section 3, after Theorem 3.2",
    assumes=condition_1,
)
@where_it_learns
def attention_hardly_lowers_the_loss(*runs):
    """Training with the attention frozen at its start ends with a loss that is higher by less than 2%, for these scales of
    the weights."""
    near = ps.chosen(0.02, "hardly: a fiftieth")
    return ps.positive(near - cost_of_freezing(runs), "0.02 less frozen / trained loss - 1")


@ps.claim(
    "Where attention matters (ours)",
    ps.on("population", evidence.relevance),
    id="ours-attention-matters",
    aliases=("X3-where",),
    kind="sign",
    whose="ours",
    tex=r"\hat L_{\text{frozen attention}} > 2\hat L \text{ and } S_{31} > 0 \text{ for } \|a\|^2 \le 10^{-4}",
    page="Section 3, after Theorem 3.2",
    assumes=condition_1,
)
@where_it_learns
def attention_matters_for_small_outputs(runs):
    """With output weights of |a|^2 = 1e-4 and less, at n = 60 and kappa t = 1e6, frozen attention ends with
    more than twice the loss, and S_31 is positive, against Theorem 3.2; with |a|^2 = 256 and 16 it costs less
    than 5%, and S_31 is negative."""
    end = runs.isel(time=-1)
    ratio = frozen(end).loss / trained(end).loss
    S_31 = trained(end).C.sel(key=3, query=1)
    tiny = slice(6, None)
    usual = slice(0, 2)
    return (
        ps.positive(ratio.isel(output=tiny) - 2, "frozen / trained loss - 2, |a|^2 <= 1e-4")
        & ps.positive(1.05 - ratio.isel(output=usual), "1.05 - frozen / trained loss, |a|^2 >= 16")
        & ps.positive(S_31.isel(output=tiny), "S_31 for |a|^2 <= 1e-4")
        & ps.negative(S_31.isel(output=usual), "S_31 for |a|^2 >= 16")
    )


claims = (
    attention_lowers_the_loss,
    attention_hardly_lowers_the_loss,
    attention_matters_for_small_outputs,
)
