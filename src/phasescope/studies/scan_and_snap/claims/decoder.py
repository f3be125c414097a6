"""The decoder's clock: how fast one class is learned, in steps and in flow (Lemmas 6 and 7, Remark 2)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from . import evidence, tables
from .bounds import SOLVED, kept, last_digit

OUTPUTS = [1e2, 1e3, 1e4, 1e6]


@claim(
    "Lemma 6",
    on("closed form", ps.tables(tables.decoder.decoder_flow, outputs=1000, eta_Y=1.0)),
    id="lem6",
    aliases=("C7",),
    kind="identity",
    tex=r"e^{Mh} + (M-1)Mh = M\eta_Y t + 1",
    page="Appendix B.3, Lemma 6, (44) and (45)",
)
def the_decoder_solves_its_implicit_equation(table):
    """exp(Mh) + (M-1) Mh = M eta_Y s + 1, and h is the solution of its differential equation."""
    tight = ps.derived(1e-10, "rounding: both sides reach 1e8")
    return (
        ps.agree(table.closed, table.solved, atol=SOLVED, what="M h")
        & ps.agree(table.left / table.right, 1.0, atol=tight, what="left / right side")
        & ps.guard(ps.increasing(table.solved, "M h", along="s"))
    )


def _gap(eta_Y: float) -> ps.Request:
    """Steps against the flow, at one step size."""
    return ps.tables(tables.decoder.discrete_gap, outputs=1000, eta_Y=eta_Y)


GAPS = (_gap(0.5), _gap(1.0), _gap(2.0), _gap(5.0))


def closes(table) -> ps.Verdict:
    """The gap was there, and is nearly gone at the end."""
    little = ps.chosen(0.05, "nearly gone")
    last = float(table.gap[-1] / table.gap.max())
    return ps.guard(ps.at_most(last, little, "gap at the end / largest gap")) & ps.guard(
        ps.positive(table.gap[1:], "M (h* - h)")
    )


@claim(
    "Lemma 7 (a)",
    on("closed form", *GAPS),
    id="lem7-a-gap",
    aliases=("C8",),
    kind="upper",
    tex=r"0 \le h^*(s) - h(s) \le 2\eta_Y/M",
    page="Appendix B.3, Lemma 7 (a)",
)
def steps_stay_close_to_the_flow(*gaps):
    """0 <= h* - h <= 2 eta_Y / M at every step, at M = 1000 and eta_Y = 0.5, 1, 2, 5."""
    two = ps.stated(2.0, "Lemma 7 (a)")

    def judge(table):
        ratio = table.gap / table.eta_Y
        return (
            ps.at_most(ratio, two, "M (h* - h) / eta_Y")
            & ps.positive(ratio.isel(s=slice(1, None)), "M (h* - h) / eta_Y")
            & closes(table)
        )

    return ps.all_of(map(judge, gaps))


def late_gap(table):
    """At eight times, even in log time, from 200 / eta_Y on."""
    return table.gap.sel(s=np.geomspace(200, 2900, 8) / float(table.eta_Y), method="nearest")


@claim(
    "Lemma 7 (b)",
    on("closed form", *GAPS),
    id="lem7-b-closes",
    kind="limit",
    tex=r"h^*(s) - h(s) \to 0",
    page="Appendix B.3, Lemma 7 (b)",
    as_=("s", "inf"),
)
def the_gap_closes(*gaps):
    """The gap between unit steps and the flow tends to 0."""

    def judge(table):
        return ps.tends_to(late_gap(table), along="s", what="h* - h") & closes(table)

    return ps.all_of(map(judge, gaps))


@claim(
    "Remark 2: how the gap closes",
    on("closed form", *GAPS[:2]),
    id="rem2-rate",
    kind="rate",
    tex=r"h^*(t) - h(t) \asymp 2\eta_Y s_0/(Mt)",
    page="Appendix B.3, Remark 2, by some qualitative estimation",
    as_=("s", "inf"),
    up_to_logs=True,
)
def the_gap_closes_like_one_over_the_steps(*gaps):
    """The gap closes like 1/s, up to a logarithm (in truth like ln s / (2 M s))."""
    curved = ps.chosen(0.1, "a constant beside ln s")

    def judge(table):
        late = late_gap(table)
        return ps.scales_like(late, late.s, -1.0, curved, "h* - h", along="s", logs=1) & closes(
            table
        )

    return ps.all_of(map(judge, gaps))


SHIFTS = ps.tables(tables.decoder.shifts, outputs=OUTPUTS, eta_Y=0.5, last=4000)


def ahead(table, when) -> ps.Verdict:
    """The flow is never ahead of the steps, and c is a number of steps, not nothing."""
    largest = table.ahead.where(when).max("s")
    first = table.ahead.isel(s=0)
    grows = ps.guard(ps.positive(largest - 1.5 * first, "largest c, less 1.5 times the first"))
    return grows & ps.at_least(table.ahead, -1e-9, "c with h(s + c) = h*(s)")


@claim(
    "Lemma 7 (a), the shift",
    on("closed form", SHIFTS),
    id="lem7-a-shift",
    kind="upper",
    tex=r"h(s) \le h^*(s) \le h(s + c),\ c = \Theta(1),\ s \le \ln M/\eta_Y",
    page="Appendix B.3, Lemma 7 (a)",
    as_=("M", "inf"),
)
def early_steps_are_ahead_by_a_few(table):
    """Up to s = ln M / eta_Y unit steps are ahead of the flow by no more steps than a constant: the
    smallest c with h*(s) <= h(s + c) does not grow with M."""
    early = table.ahead.where(table.early).max("s")
    return ps.big_o(early, along="outputs", what="c up to ln M / eta_Y") & ahead(table, table.early)


@claim(
    "Remark 2",
    on("closed form", SHIFTS),
    id="rem2-shift",
    kind="upper",
    tex=r"h(s) \le h^*(s) \le h(s + c),\ c = O(\ln M)",
    page="Appendix B.3, Remark 2",
    as_=("M", "inf"),
)
def steps_are_ahead_by_a_logarithm(table):
    """At all times unit steps are ahead of the flow by at most a multiple of ln M steps."""
    largest = table.ahead.max("s", skipna=False)
    return ps.big_o(largest, np.log(table.outputs), along="outputs", what="c / ln M") & ahead(
        table, table.ahead == table.ahead
    )


@claim(
    "Lemma 7: the gap (ours)",
    on("closed form", *GAPS[:3]),
    id="ours-gap",
    aliases=("C8-loose",),
    kind="regression",
    whose="ours",
    tex=r"\max M(h^* - h)/\eta_Y = 0.189, 0.195, 0.203",
    page="Appendix B.3, Lemma 7",
)
def the_bound_on_the_gap_is_ten_times_too_wide(*gaps):
    """The largest gap is 0.189, 0.195, 0.203 of eta_Y / M for eta_Y = 0.5, 1, 2, a tenth of the
    bound, reached at 1.3 to 1.5 times ln M / eta_Y."""

    def judge(table, expected):
        top = table.gap.idxmax("s") * table.eta_Y / np.log(table.outputs)
        height = table.gap.max() / table.eta_Y
        digit = last_digit(1e-3)
        largest = ps.agree(height, expected, atol=digit, what="largest M (h* - h) / eta_Y")
        low = kept(1.3)
        high = kept(1.5)
        return largest & ps.within(top, low, high, "where, in ln M / eta_Y")

    return ps.all_of(map(judge, gaps, (0.189, 0.195, 0.203)))


@claim(
    "Figure 8",
    on("closed form", evidence.figure_8),
    id="fig8",
    kind="figure",
    tex=r"0 \le M(h^* - h) \le 2\eta_Y,\ h^* - h \to 0",
    page="Appendix B.3, caption of Figure 8: the gap between h* and h is bounded and goes to zero when time grows",
)
def figure_8_is_reproduced(table):
    """For eta_Y = 0.5, 1, 2 the steps lie above the flow, by no more than 2 eta_Y, and the gap
    falls from s = 30 on; a larger rate is higher."""
    gap = table.steps - table.flow
    return (
        ps.at_most(gap / table.eta_Y, ps.stated(2.0, "Lemma 7 (a)"), "M (h* - h) / eta_Y")
        & ps.positive(gap.isel(s=slice(1, None)), "M (h* - h)")
        & ps.decreasing(gap.sel(s=slice(30, None)), "M (h* - h) from s = 30 on", along="s")
        & ps.increasing(table.flow.isel(s=slice(1, None)), "M h", along="eta_Y")
        & ps.increasing(table.flow, "M h", along="s")
        & ps.increasing(table.steps, "M h*", along="s")
    )


@claim(
    "Figure 8: numbers (ours)",
    on("closed form", evidence.figure_8),
    id="ours-fig8-numbers",
    kind="regression",
    whose="ours",
    tex=r"Mh^*(10) = 4.9007, 7.9216, 9.4982,\ Mh(10) = 4.8749, 7.7310, 9.2808",
    page="Appendix B.3, Figure 8",
)
def decoders_after_ten_steps(table):
    """M h*(10) = 4.9007, 7.9216, 9.4982 and M h(10) = 4.8749, 7.7310, 9.2808 for eta_Y = 0.5, 1,
    2 at M = 1000."""
    at = table.sel(s=10)
    digit = last_digit(1e-4)
    in_steps = ps.agree(at.steps, np.array([4.9007, 7.9216, 9.4982]), atol=digit, what="M h*(10)")
    in_flow = ps.agree(at.flow, np.array([4.8749, 7.7310, 9.2808]), atol=digit, what="M h(10)")
    return in_steps & in_flow


claims = (
    the_decoder_solves_its_implicit_equation,
    steps_stay_close_to_the_flow,
    the_gap_closes,
    the_gap_closes_like_one_over_the_steps,
    early_steps_are_ahead_by_a_few,
    steps_are_ahead_by_a_logarithm,
    the_bound_on_the_gap_is_ten_times_too_wide,
    figure_8_is_reproduced,
    decoders_after_ten_steps,
)
