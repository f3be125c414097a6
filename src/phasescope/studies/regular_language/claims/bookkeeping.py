"""What the records say fits together: norms, attention, outputs, losses and margins from each other (ours)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import key_scores, ran_to_the_end, spec_of
from . import evidence
from .parts import TAIL

CLOSE = ps.chosen(1e-9, "rounding, and the accuracy of the max-margin solver")


def norm(v: xr.DataArray) -> xr.DataArray:
    return (v**2).sum("position", skipna=False) ** 0.5


def attention_norm(run: xr.Dataset) -> xr.DataArray:
    """|W| from p, q, m and s, which stand in it 2, 2, 4 and 2 times."""
    pairs = run.score_match**2 + run.score_differ**2 + run.score_self**2
    others = (run.score_other**2).sum(("length", "position"), skipna=False)
    return (2 * pairs.sum("length", skipna=False) + 4 * others) ** 0.5


def softmax_of(run: xr.Dataset, name: str) -> xr.DataArray:
    """The attention that the scores give, with the pivot at position 1."""
    scores = xr.where(run.position == 1, run[name], key_scores(run)) / spec_of(run).lam
    weights = np.exp(scores - scores.max("position"))
    return (weights / weights.sum("position")).fillna(0.0)


def softplus(x: xr.DataArray) -> xr.DataArray:
    return xr.apply_ufunc(np.logaddexp, 0.0, x)


def attention_agrees(run: xr.Dataset) -> ps.Verdict:
    """Attention from scores, and outputs from attention, at lengths of 2 and more."""
    found = []
    for case in ("match", "differ"):
        weights = run[f"attention_{case}"].sel(length=TAIL)
        outputs = (weights * run.token_score).sum("position", skipna=False)
        said = run[f"output_{case}"].sel(length=TAIL)
        found.append(ps.agree(weights, softmax_of(run, f"score_{case}").sel(length=TAIL), CLOSE))
        found.append(ps.agree(said, outputs, CLOSE))
    return ps.all_of(found)


def losses_agree(run: xr.Dataset) -> ps.Verdict:
    """The losses from the outputs."""
    first = softplus(-run.output_match)
    mean = (first + softplus(run.output_differ)) / 2
    by_length = xr.where(run.length == 1, first, mean)
    gap = abs(run.output_match - run.output_differ) / 2
    floor = xr.where(run.length == 1, first, softplus(-gap)).sum("length", skipna=False)
    return (
        ps.agree(run.loss_by_length, by_length.transpose(*run.loss_by_length.dims), CLOSE)
        & ps.agree(run.loss, run.loss_by_length.sum("length", skipna=False), CLOSE)
        & ps.agree(run.loss_floor, floor, CLOSE)
    )


def margins_agree(run: xr.Dataset) -> ps.Verdict:
    """The max-margin read-out has margin 1 at t_0; its norm, and its angle with u."""
    start = run.sel(time=spec_of(run).switch)
    best = run.margin_direction
    right = (start.attention_match * best).sum("position", skipna=False)
    wrong = -(start.attention_differ * best).sum("position", skipna=False).sel(length=TAIL)
    later = run.sel(time=slice(1, None))
    product = (later.token_score * best).sum("position", skipna=False)
    cosine = product / (norm(later.token_score) * norm(best))
    return (
        ps.agree(np.minimum(right.min(), wrong.min()), 1.0, atol=1e-6, what="smallest margin of u*")
        & ps.agree(run.margin_norm, np.sqrt(2) * norm(best), rtol=CLOSE)
        & ps.agree(later.margin_cosine, cosine, CLOSE)
    )


@ps.claim(
    "Reductions R1 and R2 (ours)",
    ps.on("training", evidence.figure_2),
    id="ours-R1-R2",
    kind="identity",
    whose="ours",
    tex=r"p_L + q_L + 2\textstyle\sum_\ell m_{L\ell} + s_L = 0, \quad \|u\| = \sqrt2 \|v\|, \quad T^\pm = \varphi^\pm \cdot v",
    page="Section 3",
)
def recorded_quantities_fit_together(run):
    """In the run of Figure 2 norms, attention, outputs, losses, drift and margins are what scores and weights make them, and
    the scores of each length keep p + q + 2 sum m + s = 0."""
    start = run.sel(time=spec_of(run).switch, drop=True)
    names = ["score_match", "score_differ", "score_self", "score_other"]
    later = run.sel(time=slice(spec_of(run).switch, None))
    pairs = run.score_match + run.score_differ + run.score_self
    total = pairs + 2 * run.score_other.sum("position", skipna=False)
    return (
        ps.agree(total, 0.0, atol=CLOSE, what="p + q + 2 sum m + s")
        & ps.agree(run.u_norm, np.sqrt(2) * norm(run.token_score), CLOSE)
        & ps.agree(run.W_norm, attention_norm(run), CLOSE)
        & ps.agree(later.W_drift, attention_norm(later[names] - start[names]), CLOSE)
        & attention_agrees(run)
        & losses_agree(run)
        & margins_agree(run)
        & ps.guard(ps.decreasing(run.loss, "loss"))
        & ran_to_the_end(run)
    )


claims = (recorded_quantities_fit_together,)
