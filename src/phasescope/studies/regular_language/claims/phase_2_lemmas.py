"""Appendix B.2: Lemmas B.5 and B.6."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..phases import (
    margin,
    margin_norm,
    onset,
    phase_2,
    ran_to_the_end,
    read_out_rate,
    spec_of,
)
from . import evidence
from .assumptions import theorem_4_4
from .parts import moves

FIGURES = (evidence.figure_2, evidence.figure_4, evidence.figure_5)
ALL_FIGURES = (*FIGURES[:1], evidence.figure_3, *FIGURES[1:], evidence.figure_6)
SOLVED = (evidence.theorem_6, evidence.theorem_16)  # where the solver certifies u*


def unit(v: xr.DataArray) -> xr.DataArray:
    """The direction of a read-out."""
    return v / np.sqrt((v**2).sum("position", skipna=False))


@ps.claim(
    "Lemma B.5, first inequality",
    ps.on("training", *SOLVED),
    ps.on("training", *ALL_FIGURES),
    id="lemB.5-descent",
    aliases=("B.5",),
    kind="upper",
    tex=(
        r"\left\langle -\nabla_u\mathcal{L}_t, \tfrac{u_t}{\|u_t\|}\right\rangle \le \left(1 + "
        r"\tfrac{C_0\|u^*\|}{\|u_t\|}\right)\left\langle -\nabla_u\mathcal{L}_t, \tfrac{u^*}{\|u^*\|}\right\rangle, "
        r"\quad C_0 = 2\log 4L_{\max} + 2"
    ),
    page="Appendix B.2, Lemma B.5",
    assumes=theorem_4_4,
)
def descent_follows_the_margin(*runs):
    """<-grad_u, u/|u|> <= (1 + C |u*|/|u|) <-grad_u, u*/|u*|> with C = 2 log(4N) + 2, at every record of phase 2."""

    def judge(run):
        after = phase_2(run).isel(time=slice(1, None))
        constant = 2 * np.log(4 * after.sizes["length"]) + 2
        rate = read_out_rate(after)
        along = (rate * unit(after.token_score)).sum("position", skipna=False)
        towards = (rate * unit(after.margin_direction)).sum("position", skipna=False)
        limit = (1 + constant * after.margin_norm / after.u_norm) * towards
        sound = ps.guard(ps.positive(towards, "rate along u*")) & ps.guard(
            ps.positive(after.margin_norm, "|u*|")
        )
        bound = ps.stated(1.0, "Lemma B.5, with its C_0")
        return ps.at_most(along / limit, bound, "rate along u / bound") & sound & moves(run)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


def norm_is_above(run, constant):
    """The printed lower bound on |u_t|, wherever it is positive; trivial if that is nowhere."""
    spec = spec_of(run)
    after = phase_2(run).isel(time=slice(2, None))
    steps = after.time.values / (1.0 if run.attrs["arm"] == "symmetric" else spec.eta)
    values = closed_forms.norm_bound(steps, spec.switch, spec.eta, margin_norm(run), constant)
    bound = after.u_norm.copy(data=values)
    start = moves(run) & ran_to_the_end(run)
    if not (bound > 0).any():
        share = 1 - bound.isel(time=-1) / margin_norm(run)
        nothing = ps.stated(1.0, "Lemma B.5: a bound on a norm that is below 0")
        negative = ps.at_least(share, nothing, "1 - bound at the end / |u*|") & ps.guard(
            ps.at_least(margin_norm(run), 2.0, "|u*|")
        )
        return ps.trivial(negative & start, "a norm is never negative")
    ratio = after.u_norm / bound
    least = ps.stated(1.0, f"Lemma B.5, with the constant {constant:g}")
    return ps.at_least(ratio, least, "|u_t| / bound", where=bound > 0) & start


TRIVIAL = "the bound is negative at every record: {measured}"


@ps.claim(
    "Lemma B.5, second inequality",
    ps.on("training", evidence.theorem_16, expect="trivial", because=TRIVIAL),
    ps.on("population", evidence.even_pairs_frozen),
    id="lemB.5-norm",
    aliases=("4.4-norm",),
    kind="lower",
    tex=(
        r"\|u_t\| \ge \tfrac{3\|u^*\|}{5}\log(t - t_0 - 1) - \tfrac{3\|u^*\|}{5}\log\tfrac{9\|u^*\|^2}{\eta}, "
        r"\quad t_0 < t \le T"
    ),
    page="Appendix B.2, Lemma B.5",
    assumes=theorem_4_4,
)
def read_out_has_the_printed_norm(run):
    """|u_t| >= (3/5) |u*| log(eta (t - t_0 - 1) / 9 |u*|^2), with the constant of the statement; its proof has 14.

    Under frozen attention, which the proof assumes in effect, it is met from where it is positive.
    """
    return norm_is_above(run, 9.0)


@ps.claim(
    "Lemma B.5, second inequality, at late times",
    ps.on(
        "population",
        evidence.even_pairs_flow,
        expect="outside",
        because=(
            "long after T the attention has improved, and with it the margin: |u_t| is {value:.2g} of the bound at {where}"
        ),
    ),
    id="lemB.5-norm-late",
    kind="lower",
    tex=r"\|u_t\| \ge \tfrac{3\|u^*\|}{5}\log\tfrac{\eta (t - t_0 - 1)}{9\|u^*\|^2}, \quad t > T",
    page="Appendix B.2, Lemma B.5",
    assumes=theorem_4_4,
)
def read_out_has_the_printed_norm_for_ever(run):
    """The same inequality beyond T, where attention and read-out move together at lam = 2."""
    return norm_is_above(run, 9.0)


def proof_window(run) -> ps.Verdict:
    """The proof's t_2 comes after 14 |u*|^2 / eta, and that is beyond T."""
    spec = spec_of(run)
    last = closed_forms.horizon(spec.lam, spec.eta, spec.size)
    ratio = closed_forms.window_ratio(spec.eta, last, margin_norm(run))
    reached = float(run.u_norm.isel(time=-1)) / margin_norm(run)
    certificate = closed_forms.margin_certificate(spec.size, spec.lam)
    N = f"N = {spec.size}"
    limit = ps.derived(certificate, "closed_forms.margin_certificate")
    late = ps.stated(1.0, "proof of Lemma B.6, t_1, and parameter setup, T")
    return (
        ps.at_least(ratio, late, f"t_1 / T, {N}")
        & ps.at_most(reached, limit, f"|u_T| / |u*|, {N}")
        & ps.guard(ps.positive(reached, f"|u_T| / |u*|, {N}"))
        & moves(run)
    )


@ps.claim(
    "Lemma B.6",
    ps.on(
        "training",
        *evidence.theorem_family,
        expect="vacuous",
        because="the proof's t_2 comes after T: {measured}",
    ),
    ps.on(
        "training",
        *FIGURES,
        expect="outside",
        because=(
            "no read-out can have more than one times this margin at the attention of t_0; {value:.3g} at {where} says "
            "that the attention has moved"
        ),
    ),
    id="lemB.6-margin",
    aliases=("B.6-margin", "4.4-window"),
    kind="lower",
    tex=r"y_n \mathsf{T}_t(X^{(n)}) \ge \tfrac{5\|u_t\|}{6\|u^*_{EP}\|}, \quad t_2 \le t \le T",
    page="Appendix B.2, Lemma B.6, eq. (6)",
    assumes=theorem_4_4,
)
def every_string_has_its_margin(*runs):
    """From t_2 on, y_n T(X_n) >= (5/6) |u_t| / |u*| for every string; and not more than |u_t| / |u*| for all of them, which
    the max-margin read-out alone attains at the attention of t_0."""
    windows = [proof_window(run) for run in runs]
    if all(found.outcome is ps.Outcome.HOLDS for found in windows):
        empty = ps.all_of(windows) & ran_to_the_end(*runs)
        return ps.vacuous(empty, "the window from t_2 to T is empty")

    def judge(run):
        ratio = margin(run) * run.margin_norm / run.u_norm.where(run.u_norm > 0)
        start = float(onset(run))
        if np.isnan(start):
            return ps.undecided("the read-out never bends: there is no t_2", "a phase 2")
        what = f"margin |u*| / |u_t| from t_2 on, lam = {spec_of(run).lam:g}"
        least = ps.stated(5 / 6, "Lemma B.6, eq. (6)")
        most = ps.derived(1.0, "the definition of the max-margin read-out")
        late = ratio.sel(time=slice(start, None))
        return ps.at_least(late, least, what) & ps.at_most(late, most, what) & moves(run)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


claims = (
    descent_follows_the_margin,
    read_out_has_the_printed_norm,
    read_out_has_the_printed_norm_for_ever,
    every_string_has_its_margin,
)
