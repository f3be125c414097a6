"""Recorded quantities fit together: identities of the two reductions, and numbers of earlier runs along the path."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import ran_to_the_end, spec_of
from ..theory_model.feature_model import targets
from ..theory_model.features import step_size
from . import evidence

CLOSE = ps.chosen(1e-9, "rounding of 64-bit numbers, of exponents up to 10")


@claim(
    "Notation of Section 6.2 (ours): one run",
    on("population", evidence.path["C4"]),
    id="ours-routing-fits",
    kind="identity",
    whose="ours",
    tex=r"\epsilon^{2,\ell} = \frac{e^{o_{43}} + (\ell - 1) e^{o_{44}}}{Z_\ell}, \quad "
    r"\Delta^{2,\ell} = \frac{e^{q_{43}} - e^{q_{44}}}{Z_\ell}, \quad \mathrm{Loss} = d^{-E}",
    page="Section 6.2, eq. (19), (20)",
)
def attention_and_losses_are_what_scores_make_them(run):
    """eps, Delta and attention are softmax weights of the four scores, the loss of the stage is that of both steps, its exponent
    is its logarithm to the base d, and every stride moves the faster score by 0.005, within 2%."""
    later = run.isel(time=slice(1, None))
    q43, o43, q44, o44 = (np.exp(later[name]) for name in ("q43", "o43", "q44", "o44"))
    wrong = o43 + (later.step - 1) * o44
    Z = q43 + q44 + wrong
    loss = later.step_loss.sum("step", skipna=False)
    exponent = -np.log(loss) / np.log(spec_of(run).vocabulary)
    length = xr.full_like(later.stage_length, 2.0)
    return (
        ps.agree(later.epsilon, wrong / Z, CLOSE, what="eps")
        & ps.agree(later.gap, (q43 - q44) / Z, atol=CLOSE, what="Delta")
        & ps.agree(later.attention_right, q43 / Z, CLOSE, what="attention on the predicate")
        & ps.agree(later.stage_loss, loss, CLOSE, what="loss of the stage")
        & ps.agree(later.stage_exponent, exponent, CLOSE, what="E")
        & ps.agree(later.stage_length, length, CLOSE, what="length of the stage")
        & ps.agree(later.stage_epsilon, later.epsilon.sel(step=2, drop=True), CLOSE)
        & _steady(run)
        & ran_to_the_end(run)
    )


def _steady(run: xr.Dataset) -> ps.Verdict:
    """The faster score moves by the stride at every step of the path."""
    early = run.isel(time=slice(1, 1000))
    faster = (
        xr.concat([early.q43, early.q44], "score").differentiate("time").max("score", skipna=False)
    )
    bend = ps.chosen(0.02, "the path bends within a stride")
    stride = xr.full_like(faster, spec_of(run).stride)
    return ps.agree(faster, stride, bend, what="movement of the faster score")


@claim(
    "Definition 6.2 (ours): one run",
    on("population", evidence.learning_C3),
    id="ours-features-fit",
    kind="identity",
    whose="ours",
    tex=r"V_\psi = \tfrac12 (V_{j,r}(g) + V_{j,r}(y)), \quad D_{j,r} = \textstyle\sum_g V_{j,r}(g) - \sum_y V_{j,r}(y)",
    page="Section 6.1.2, Definition 6.2",
)
def combined_features_are_what_their_halves_make_them(run):
    """V_psi is the mean of V(g) and V(y), the conserved number is the difference of their sums, and the flow time is eta times
    the updates."""
    spec = spec_of(run)
    on_fibre = xr.DataArray(
        np.swapaxes(targets(spec.action), 1, 2), dims=("image", "value", "action")
    )
    mean = (run.V_g * on_fibre).sum("action", skipna=False) / on_fibre.sum("action")
    total = run.V_g.sum("action", skipna=False) - run.V_y.sum("value", skipna=False)
    later = run.isel(time=slice(1, None))
    clock = np.log10(float(step_size(spec)) * later.time)
    return (
        ps.agree(run.combined, 0.5 * (mean + run.V_y), atol=CLOSE, what="V_psi")
        & ps.agree(run.conserved, total, atol=CLOSE, what="sum V(g) - sum V(y)")
        & ps.agree(later.log_time, clock, CLOSE, what="log10 of eta t")
        & ran_to_the_end(run)
    )


@claim(
    "Induction D.3 and Theorem 4.1: numbers (ours)",
    on("population", *evidence.path.values()),
    id="path-numbers",
    kind="regression",
    whose="ours",
    page="Section 6.2.1; d = 1e4, C_B = 5",
)
def numbers_of_the_path(*runs):
    """At d = 1e4 Delta peaks at 0.10 to 0.12 where q_43 is 2.3 to 2.8, and eps = 2.4e-3 is reached at a flow time of 10^16.5 to
    10^16.9."""
    earlier = "an earlier run"
    verdicts = []
    for run in runs:
        gap = run.gap.sel(step=2)
        top = int(np.argmax(gap.values))
        eps = run.epsilon.sel(step=2).values
        time = np.interp(-2.4e-3, -eps, run.log_time.values, right=np.nan)
        verdicts += [
            ps.within(
                gap.isel(time=top), ps.chosen(0.10, earlier), ps.chosen(0.12, earlier), "peak"
            ),
            ps.within(
                run.q43.isel(time=top),
                ps.chosen(2.3, earlier),
                ps.chosen(2.8, earlier),
                "q43 there",
            ),
            ps.within(time, ps.chosen(16.5, earlier), ps.chosen(16.9, earlier), "log10 t"),
        ]
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


claims = (
    attention_and_losses_are_what_scores_make_them,
    combined_features_are_what_their_halves_make_them,
    numbers_of_the_path,
)
