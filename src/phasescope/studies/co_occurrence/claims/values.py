"""Appendices F.4 to F.6: how little the values, irrelevant words and attention add in phase 2."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..closed_forms import late_time
from ..phases import at_the_end, at_time, spec_of, trained
from . import evidence
from .parts import (
    EXACT,
    at_T1,
    by_log_width,
    by_width,
    in_phase_2,
    numbers,
    settled,
    told,
    where_it_learns,
)
from .premises import any_flow, condition_1
from .read_out import NOT_SETTLED


@ps.claim(
    "Lemma F.11, first display; Lemma C.3",
    ps.on("training", *evidence.theory_runs, evidence.figure_1),
    id="lemF.11-identity",
    kind="identity",
    tex=r"\partial_t\,\mu^\top W_V^\top W_V\nu = G(\nu)c(\mu) + G(\mu)c(\nu)",
    page="Appendix F.4, Lemma F.11; Appendix C.1, Lemma C.3",
    assumes=any_flow,
)
@where_it_learns
def overlaps_of_values_move_with_the_values(*runs):
    """The rate of an overlap of two special words' values is G(nu) c(mu) + G(mu) c(nu), at all times, also
    where words repeat."""
    found = []
    for run in map(trained, runs):
        G = run.G.sel(word=[1, 2, 3])
        c = run.c.sel(word=[1, 2, 3])
        first = G.rename(word="key") * c.rename(word="query")
        second = c.rename(word="key") * G.rename(word="query")
        expected = (first + second).transpose(*run.Adot.dims)
        largest = abs(expected).max("time", skipna=False)
        found.append(ps.agree(run.Adot / largest, expected / largest, EXACT, EXACT, "rate of A"))
    return ps.all_of(found)


@ps.claim(
    "Lemma F.11, second display",
    ps.on("training", *evidence.theory_runs, expect="undecided", because=NOT_SETTLED),
    ps.on("population", *evidence.ladder),
    id="lemF.11-bound",
    kind="upper",
    tex=r"\max_{\mu,\nu}|\Delta\,\mu^\top W_V^\top W_V\nu| \le O\big(\tfrac{\log m\log t}{\sigma_1^2mm_1}\big)",
    page="Appendix F.4, Lemma F.11",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def overlaps_of_values_grow_by_little(*runs):
    """The largest change of an overlap of values at the end, over log^2(tau) / (sigma_1^2 m m1), does not grow
    with m. Without noise it is looked at from m = 4096 on."""

    def measure(run):
        unit = at_the_end(run.s) ** 2 / numbers(spec_of(run))[1]
        return told(at_the_end(run.A_change) / unit)

    return ps.big_o(by_width(settled(runs), measure), along="m", what="change of A")


@ps.claim(
    "Corollary F.12",
    ps.on("training", *evidence.theory_runs),
    id="corF.12-values",
    aliases=("F.12",),
    kind="limit",
    tex=r"\max_\mu\big|\textstyle\sum_j a_j\partial_tw_j^\top W_V\mu\big| / \beta \le o(1/L)\,\tfrac1n\sum_i g_i",
    page="Appendix F.4, Corollary F.12",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_value_matrix_learns_little(*runs):
    """The part m1 A c of the rate of G, over beta times the mean gradient, tends to 0 as m grows, from T_1 to
    kappa t = 1e8; from which width on it is below 0.05 is printed."""

    def measure(run):
        return told(run.value_part, in_phase_2(run, 20.0))

    near = ps.chosen(0.05, "a twentieth of the mean gradient, less than 1/L")
    return ps.tends_to(by_width(runs, measure), along="m", within=near, what="m1 A c")


@ps.claim(
    "Lemma F.14",
    ps.on("training", *evidence.theory_runs, expect="undecided", because=NOT_SETTLED),
    ps.on("population", *evidence.ladder),
    id="lemF.14-values",
    kind="upper",
    tex=r"|G^{(t)}(\mu) - G^{(T_1)}(\mu)| \le \tilde O\big(\tfrac1n + \tfrac{m_1(L(\sigma_0^2\sqrt m + 1/m) + "
    r"\sigma_0^2m)}{\sigma_1^2mm_1}\big), \quad \mu\in\mathcal R",
    page="Appendix F.5, Lemma F.14",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def values_of_irrelevant_words_grow_by_little(*runs):
    """From T_1 to the end the values of irrelevant words grow by an amount that, over its bound and log tau,
    does not grow with m."""

    def measure(run):
        spec = spec_of(run)
        values, read_out, root = numbers(spec)
        second = spec.output_norm * (spec.length * (values / root + 1 / spec.width) + values)
        unit = (1 / spec.samples + second / read_out) * at_the_end(run.s)
        G = run.G.sel(word=slice(4, None))
        return told((at_the_end(G) - at_T1(run, "G", 20.0).sel(word=slice(4, None))) / unit)

    grown = by_width(settled(runs), measure)
    return ps.big_o(grown, along="m", what="growth over its bound")


@ps.claim(
    "Corollary F.15",
    ps.on(
        "population",
        *evidence.ladder,
        expect="false",
        because="at any fixed n the contribution grows like log t, and T_2 is a power of m: {measured}; bounded only if n "
        "grows with log m as well",
    ),
    id="corF.15-contributions",
    aliases=("F.14",),
    kind="upper",
    tex=r"\big|\textstyle\sum_{l_1}\sum_{l_2:X_{l_2}\in\mathcal R}G^{(t)}(X_{l_2})p_{l_1,l_2}\big| \le O(1), "
    r"\quad t \le T_2 = \mathrm{poly}(m)",
    page="Appendix F.5, Corollary F.15",
    as_=("m", "inf"),
    hides=("n", "L"),
    assumes=condition_1,
)
@where_it_learns
def irrelevant_words_contribute_little(*runs):
    """What irrelevant words add to an output by t = m does not grow with m, n and L being fixed."""

    def measure(run):
        spec = spec_of(run)
        most = run.F_random.max("type", skipna=False)
        return told(at_time(most, run, spec.kappa * float(spec.width)))

    found = ps.big_o(by_log_width(runs, measure), along="log m", what="contribution at t = m")
    by = "closed_forms.late_time: random_parts are positive at every n, and multiply log tau"
    return ps.refuted(found, by)


@ps.claim(
    "Corollary F.15, the law (ours)",
    ps.on("training", *evidence.wide_runs),
    id="ours-irrelevant-law",
    aliases=("F.14-law",),
    kind="approx",
    whose="ours",
    tex=r"\tfrac{6(L-2)s_2}n\log\tau \text{ with one target word},\quad \tfrac{2(L-3)s_1}n\log\tau \text{ with both}",
    page="Appendix F.5, Corollary F.15",
    assumes=condition_1,
)
@where_it_learns
def irrelevant_words_carry_their_share(*runs):
    """What irrelevant words add to an output grows like (6 (L - 2) s_2 / n) log tau where one target word is
    present (0.67 of the margin) and like (2 (L - 3) s_1 / n) log tau where both are (0.16): over the last four
    decades, within 6%."""
    near = ps.chosen(0.06, "the growth of beta at m = 2048, which is left out")
    found = []
    for run in runs:
        spec = spec_of(run)
        late = run.sel(time=slice(1e4, None))
        first = late.isel(time=0, drop=True)
        last = late.isel(time=-1, drop=True)
        grown = (last.F_random - first.F_random).sel(type=[1, 2, 3])
        parts = late_time(spec.samples, spec.length).random_parts[:3]
        law = xr.DataArray(list(parts), {"type": [1, 2, 3]}, ["type"])
        ratio = grown / (last.s - first.s) / law
        found.append(ps.agree(ratio, 1.0, atol=near, what="growth per log time / law"))
    return ps.all_of(found)


@ps.claim(
    "Corollary F.18",
    ps.on("training", *evidence.theory_runs),
    id="corF.18-softmax",
    kind="limit",
    tex=r"\max_i\big|\textstyle\sum_{l_1,l_2}G(X_{l_2})\partial_tp_{l_1,l_2}\big| / \beta \le "
    r"o(1)\,\tfrac1n\sum_i g_i",
    page="Appendix F.6, Corollary F.18",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def outputs_hardly_move_by_attention(*runs):
    """What the attention alone adds to the rate of an output, over beta times the mean gradient, tends to 0 as
    m grows, from T_1 to kappa t = 1e8."""

    def measure(run):
        return told(run.softmax_part, in_phase_2(run, 20.0))

    return ps.tends_to(by_width(runs, measure), along="m", what="part of the attention")


claims = (
    overlaps_of_values_move_with_the_values,
    overlaps_of_values_grow_by_little,
    the_value_matrix_learns_little,
    values_of_irrelevant_words_grow_by_little,
    irrelevant_words_contribute_little,
    irrelevant_words_carry_their_share,
    outputs_hardly_move_by_attention,
)
