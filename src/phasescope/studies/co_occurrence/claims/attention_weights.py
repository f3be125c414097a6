"""Appendices F.6 and F.7: how little the weights of the attention move for it."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import at_the_end, at_time, spec_of
from . import evidence
from .attention import GROWS, at_fixed_time
from .parts import (
    by_width,
    numbers,
    settled,
    told,
    where_it_learns,
)
from .premises import condition_1


@ps.claim(
    "Corollary F.17, as printed",
    ps.on(
        "population",
        *evidence.ladder,
        expect="false",
        because="scores enter the softmax divided by sqrt(m), which the statement forgets and the proof has (E6): {measured}",
    ),
    id="corF.17-printed",
    kind="theta",
    tex=r"\partial_tp_{q\leftarrow\mu,k\leftarrow\nu} = \tfrac1{\sqrt m}\tilde\Theta(\hat "
    r"L^{(t)}\sigma_0^2m)\tfrac1{L^2}",
    page="Appendix F.6, Corollary F.17",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def attention_weights_move_as_printed(*runs):
    """The largest change of an attention weight by kappa t = 1e8, over what the printed rate adds up to, stays
    between two constants."""
    found = ps.big_theta(
        by_width(settled(runs), lambda run: weights_moved(run, 1)), along="m", what="change of p"
    )
    return ps.refuted(found, by="p is a softmax of S / sqrt(m): Equation (1)")


def weights_moved(run: xr.Dataset, roots: int) -> np.ndarray:
    """The largest change of an attention weight over sigma_0^2 m / (L^2 sigma_1^2 m m1) and a power of sqrt(m)."""
    spec = spec_of(run)
    values, read_out, root = numbers(spec)
    moved = at_time(run.p_dev, run, at_fixed_time(run))
    return told(moved / (values / (root**roots * spec.length**2 * read_out)))


@ps.claim(
    "Corollary F.17, with 1/m (E6)",
    ps.on("training", *evidence.theory_runs, expect="undecided", because=GROWS),
    ps.on("population", *evidence.ladder),
    id="corF.17-corrected",
    kind="theta",
    whose="corrected",
    erratum="E6",
    tex=r"\partial_tp_{q\leftarrow\mu,k\leftarrow\nu} = \tfrac1m\tilde\Theta(\hat L^{(t)}\sigma_0^2m)\tfrac1{L^2}",
    page="Appendix F.6, Corollary F.17",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def attention_weights_move_as_corrected(*runs):
    """The largest change of an attention weight by kappa t = 1e8, over what the rate with 1/m adds up to, stays
    between two constants. Without noise it is looked at from m = 4096 on."""
    moved = by_width(settled(runs), lambda run: weights_moved(run, 2))
    return ps.big_theta(moved, along="m", what="change of p")


@ps.claim(
    "Corollary F.17, last display",
    ps.on("training", *evidence.theory_runs),
    id="corF.17-bound",
    aliases=("F.17",),
    kind="upper",
    tex=r"\max_{i,l_1,l_2}|p^{(t,i)}_{l_1,l_2} - p^{(0,i)}_{l_1,l_2}| \le O(1/L^2)",
    page="Appendix F.6, Corollary F.17",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def attention_weights_hardly_move(*runs):
    """L^2 times the largest change of an attention weight, up to kappa t = 1e8, does not grow with m: it falls."""

    def measure(run):
        return told(run.p_dev * spec_of(run).length ** 2)

    return ps.big_o(by_width(runs, measure), along="m", what="L^2 max |p - p(0)|")


@ps.claim(
    "Lemma F.19",
    ps.on("training", *evidence.theory_runs),
    id="lemF.19-keys-queries",
    aliases=("F.19",),
    kind="upper",
    tex=r"|\Delta K|, |\Delta Q| \le \tilde O\big(\tfrac{\sigma_0^2\sqrt m}{\sqrt m\sigma_1^2mm_1}\big) "
    r"\propto m^{-2}",
    page="Appendix F.7, Lemma F.19",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def keys_and_queries_hardly_move(*runs):
    """By kappa t = 1e8 the largest change of K and of Q over log^2 m falls at least like m^-2 over the last octaves,
    m = 512 to 4096: so says the upper end of the exponent's interval, over all draws."""
    wide = [run for run in runs if spec_of(run).width >= 512]
    widths = np.concatenate([np.full(run.sizes["seed"], spec_of(run).width) for run in wide])
    ends = []
    for name in ("K_change", "Q_change"):
        moved = np.concatenate([told(at_the_end(run[name])) for run in wide])
        ends.append(ps.exponent(widths, moved / np.log(widths) ** 2).high)
    highest = xr.DataArray(ends, {"of": ["K", "Q"]}, ["of"])
    square = ps.stated(-2.0, "Lemma F.19, in m alone")
    return ps.at_most(highest, square, "exponent, upper end")


claims = (
    attention_weights_move_as_printed,
    attention_weights_move_as_corrected,
    attention_weights_hardly_move,
    keys_and_queries_hardly_move,
)
