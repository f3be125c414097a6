"""What the theorems talk about, for both coordinates: the symmetry-reduced state and the full parameters."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

import phasescope as ps

from . import data, model
from .chain_of_thought import cot_accuracy
from .margin import margin_rows, max_margin, max_margin_of_scores
from .reductions import symmetry
from .spec import Spec

DECIMALS_UP_TO = (
    32  # up to this length a margin that float64 cannot certify is solved in decimal arithmetic
)
MATRICES_UP_TO = (
    256  # beyond this length the records leave out what has one number for each pair of positions
)
SAME_TIME = 1e-11  # how far, relative to it, the record of a time may be from it: rounding, no more

field = ps.field

# What the axes count.
AXES = {
    "length": "length of a string",
    "position": "position in a string, counted from 1",
    "input_length": "length of an input to the chain of thought",
}


class Observed(ps.Observables):
    """All arms report these. `match` and `differ`: strings whose last token equals the pivot's, and the others.

    Of `handover`, which trains two tasks one after the other, the task is parity's chain of thought, in all stages.
    """

    loss: Float[Array, ""] = field(symbol=r"\mathcal{L}", doc="loss over the strings of the task")
    loss_by_length: Float[Array, "length"] = field(
        symbol=r"\mathcal{L}_L", doc="loss over the strings of one length"
    )
    token_score: Float[Array, "position"] = field(
        symbol=r"v_\ell", doc="read-out of a position's token"
    )
    score_match: Float[Array, "length"] = field(
        symbol="p_L", doc="attention score of a matching pivot"
    )
    score_differ: Float[Array, "length"] = field(
        symbol="q_L", doc="attention score of a differing pivot"
    )
    score_other: Float[Array, "length position"] = field(
        symbol=r"m_{L\ell}", doc="attention score of any other key"
    )
    score_self: Float[Array, "length"] = field(
        symbol="s_L", doc="attention score of the last token itself"
    )
    attention_match: Float[Array, "length position"] = field(
        symbol=r"\varphi^+", doc="attention in matching strings"
    )
    attention_differ: Float[Array, "length position"] = field(
        symbol=r"\varphi^-", doc="attention in differing strings"
    )
    output_match: Float[Array, "length"] = field(symbol="T^+_L", doc="output on matching strings")
    output_differ: Float[Array, "length"] = field(symbol="T^-_L", doc="output on differing strings")
    accuracy: Float[Array, ""] = field(doc="mean accuracy over the lengths")
    accuracy_by_length: Float[Array, "length"] = field(doc="accuracy at one length")
    loss_floor: Float[Array, ""] = field(
        doc="the loss with the two outputs of every length centred: no common shift brings it lower"
    )
    u_norm: Float[Array, ""] = field(symbol=r"\|u\|", doc="norm of the read-out")
    W_norm: Float[Array, ""] = field(symbol=r"\|W\|_F", doc="norm of the attention matrix")
    token_asymmetry: Float[Array, ""] = field(
        doc="largest difference of u between the two tokens of a position"
    )
    score_asymmetry: Float[Array, ""] = field(
        doc="largest token dependence of W at keys that are neither pivot nor last"
    )
    self_asymmetry: Float[Array, ""] = field(
        doc="largest token dependence of W at the last token's own key"
    )
    pivot_asymmetry: Float[Array, ""] = field(
        doc="largest change of the pivot's score when pivot and last token are both flipped"
    )


def measure_reduced(state: symmetry.State, spec: Spec) -> Observed:
    """Measure a state of the symmetry reduction."""
    outputs = symmetry.outputs(state, spec.pivots, spec.lam)
    return _observed(
        state,
        spec,
        outputs=outputs,
        loss_by_length=symmetry.loss_by_length(outputs, spec.pivots, spec.weights),
        accuracy_by_length=symmetry.accuracy_by_length(outputs, spec.pivots),
    )


def measure_full(params: model.Params, batch: model.Batch, spec: Spec) -> Observed:
    """Measure the full parameters.

    Losses and accuracies are summed string by string; scores are means over what they stand for.
    """
    N = spec.size
    T = model.outputs(params, batch, spec.lam)
    length = batch.present.sum(axis=1) - 1  # counted from 0
    share = 0.5 ** (length + 1.0)
    correct = jnp.where(T > 0, batch.labels > 0, batch.labels < 0)
    losses = batch.weights * jnp.logaddexp(0.0, -batch.labels * T)
    means = [_mean_output(T, length, batch.labels == sign, N) for sign in (1.0, -1.0)]
    return _observed(
        symmetry.from_full(params, spec.pivots),
        spec,
        outputs=jnp.stack(means),
        loss_by_length=jnp.zeros(N).at[length].add(losses),
        accuracy_by_length=jnp.zeros(N).at[length].add(share * correct),
        **_asymmetries(params, spec.pivots),
    )


def _observed(
    state: symmetry.State,
    spec: Spec,
    *,
    outputs: Array,
    loss_by_length: Array,
    accuracy_by_length: Array,
    **asymmetries: Array,
) -> Observed:
    """What both coordinates report, from the numbers that each obtains in its own way."""
    # Where the pivot is the last token itself no string differs: there is no such output, and 0 stands for it.
    outputs = jnp.where(data.class_fractions(spec.pivots) > 0, outputs, 0.0)
    weighted = accuracy_by_length * spec.weights
    return Observed(
        loss=loss_by_length.sum(),
        loss_by_length=loss_by_length,
        token_score=state.v,
        score_match=state.p,
        score_differ=state.q,
        score_self=state.s,
        output_match=outputs[0],
        output_differ=outputs[1],
        accuracy=weighted.sum() / spec.weights.sum(),
        accuracy_by_length=accuracy_by_length,
        loss_floor=symmetry.loss_floor(outputs, spec.pivots, spec.weights),
        u_norm=symmetry.u_norm(state),
        W_norm=symmetry.W_norm(state),
        **_matrices(state, spec),
        **asymmetries,
    )


def _matrices(state: symmetry.State, spec: Spec) -> dict[str, Array]:
    """What has one number for each pair of positions, unless that is too much to record."""
    if spec.size > MATRICES_UP_TO:
        return {}
    match, differ = symmetry.attention(state, spec.pivots, spec.lam)
    others = state.M - jnp.diag(state.s)
    return {"score_other": others, "attention_match": match, "attention_differ": differ}


def _asymmetries(params: model.Params, pivots: np.ndarray) -> dict[str, Array]:
    """How far u and W depend on tokens where, by Lemma B.1, they depend on positions only."""
    N = len(pivots)
    u = params["u"].reshape(N, 2)
    W = params["W"].reshape(N, 2, N, 2)
    spread = (
        jnp.abs(W[:, 0] - W[:, 1]).max(axis=-1).T
    )  # [length, position]: how the key's token matters
    length, position = np.ogrid[1 : N + 1, 1 : N + 1]
    no_pivot = position != pivots[:, None]
    L = np.arange(N)
    c = pivots - 1
    flipped = jnp.abs(W[c, 0, L, 0] - W[c, 1, L, 1]) + jnp.abs(W[c, 0, L, 1] - W[c, 1, L, 0])
    return {
        "token_asymmetry": jnp.abs(u[:, 0] - u[:, 1]).max(),
        "score_asymmetry": jnp.where((position < length) & no_pivot, spread, 0.0).max(),
        "self_asymmetry": jnp.where((position == length) & no_pivot, spread, 0.0).max(),
        "pivot_asymmetry": flipped.max(),
    }


def _mean_output(T, length, chosen, N):
    """The mean output over the chosen strings of each length; 0 where there are none."""
    total = jnp.zeros(N).at[length].add(jnp.where(chosen, T, 0.0))
    count = np.bincount(np.asarray(length), np.asarray(chosen, float), N)
    return total / np.maximum(count, 1.0)


def derive(ds: xr.Dataset, spec: Spec, split: float, from_zero: bool = True) -> xr.Dataset:
    """What follows from the records on the host: drift since `split`, the max-margin direction there, CoT accuracy.

    Drift and direction are known in the coordinates of the symmetry reduction only, where a start `from_zero` stays.
    """
    start = record_at(ds, split)
    if start is not None and from_zero and "score_other" in ds:
        ds = ds.assign(W_drift=_drift(ds, start)).assign(_margin(ds, start, spec))
    return ds.assign(cot_accuracy=_chain_of_thought(ds, spec))


def record_at(ds: xr.Dataset, time: float) -> xr.Dataset | None:
    """The record at a time, or None if there is none; recorded times are rounded to 15 digits, `time` need not be."""
    distance = np.abs(ds.time.values - time)
    nearest = int(distance.argmin())
    if distance[nearest] > SAME_TIME * time:
        return None
    return ds.isel(time=nearest)


def _drift(ds: xr.Dataset, start: xr.Dataset) -> xr.DataArray:
    """The multiplicities of p, q, m and s in W are 2, 2, 4 and 2."""

    def square(name: str) -> Any:
        return (ds[name] - start[name]) ** 2

    total = 2 * (square("score_match") + square("score_differ") + square("score_self")).sum(
        "length"
    )
    drift = np.sqrt(total + 4 * square("score_other").sum(("length", "position")))
    return drift.assign_attrs(
        symbol=r"\|W_t - W_{t_0}\|", long_name="how far the attention moved since phase 1 ended"
    )


def _margin(ds: xr.Dataset, start: xr.Dataset, spec: Spec) -> dict[str, xr.DataArray]:
    """The max-margin read-out for the attention at `start`, its norm, and the alignment with it."""
    best = _best_read_out(start, ds.lam, spec)
    size = np.sqrt((best**2).sum("position", skipna=False))
    scale = np.sqrt((ds.token_score**2).sum("position")) * size
    product = (ds.token_score * best).sum("position", skipna=False)
    cosine = xr.where(scale > 0, product / scale.where(scale > 0), np.nan)
    return {
        "margin_norm": (np.sqrt(2) * size).assign_attrs(
            symbol=r"\|u^*\|", long_name="norm of the max-margin read-out at t_0"
        ),
        "margin_direction": best.assign_attrs(
            symbol="v^*", long_name="max-margin read-out for the attention at t_0"
        ),
        "margin_cosine": cosine.assign_attrs(
            symbol=r"\cos(u_t, u^*)", long_name="alignment with the max-margin read-out"
        ),
    }


def _best_read_out(start: xr.Dataset, lam: xr.DataArray, spec: Spec) -> xr.DataArray:
    """The max-margin read-out for the attention of one record; nan where it cannot be certified."""

    def solve(match, differ, p, q, others, lam):
        rows = margin_rows(np.stack([match, differ]), spec.pivots, spec.weights)
        if not np.isfinite(rows).all():  # a run that left the finite numbers
            return np.full(rows.shape[1], np.nan)
        found = max_margin(rows)
        if not found.reliable and spec.size <= DECIMALS_UP_TO:
            scores = np.stack([p, q])
            found = max_margin_of_scores(
                scores, others, spec.pivots, float(lam), alpha=spec.weights
            )
        return found.v if found.reliable else np.full_like(found.v, np.nan)

    pair = ["length", "position"]
    one = ["length"]
    scores = start.score_other + xr.where(start.position == start.length, start.score_self, 0.0)
    best = xr.apply_ufunc(
        solve,
        start.attention_match,
        start.attention_differ,
        start.score_match,
        start.score_differ,
        scores.transpose(..., *pair),
        lam,
        input_core_dims=[pair, pair, one, one, pair, []],
        output_core_dims=[["position"]],
        vectorize=True,
    )
    return best.drop_vars(["time", "stage"], errors="ignore")


def _chain_of_thought(ds: xr.Dataset, spec: Spec) -> xr.DataArray:
    """Truncated chain of thought for even pairs, full for parity, on inputs up to two tokens beyond what was trained."""
    lengths = np.arange(2, min(spec.size + 2, 16) + 1)
    beyond = ds.token_score.sum("position") > 0
    accuracy = cot_accuracy(
        ds.output_match.values,
        ds.output_differ.values,
        beyond.values,
        spec.pivots,
        lengths.tolist(),
        truncated=spec.task == "even_pairs",
    )
    return xr.DataArray(
        accuracy,
        dims=(*ds.loss.dims, "input_length"),
        coords={"input_length": lengths},
        attrs={"long_name": "parity by chain of thought"},
    )
