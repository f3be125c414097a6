"""What phase 1 leads to: attention away from uniform, and outputs that a read-out can separate."""

from __future__ import annotations

import phasescope as ps

from ..phases import excess_attention, key_scores, phase_1, ran_to_the_end, spec_of
from ..training import symmetric
from . import evidence
from .assumptions import theorem_4_1, theorem_4_4, theorem_5_2
from .parts import TAIL, until

FIGURES = (evidence.figure_2, evidence.figure_4, evidence.figure_5, evidence.figure_6)


@ps.claim(
    "Theorem 4.1, remark",
    ps.on("training", *evidence.theorem_family),
    ps.on("training", evidence.figure_2),
    id="thm4.1-remark",
    aliases=("4.1-txt",),
    kind="sign",
    tex=r"\varphi_1^{(n,t_0)} > 1/L \ (y_n = 1), \quad \varphi_2^{(n,t_0)} > 1/L \ (y_n = -1)",
    page="Section 4.1, after Theorem 4.1",
    assumes=theorem_4_4,
)
def attention_leaves_uniformity(*runs):
    """At t_0 position 1 has more than 1/L of the attention in matching strings, and position 2 in differing ones."""

    def judge(run):
        end = phase_1(run).isel(time=[-1])
        N = spec_of(run).size
        matching = ps.positive(excess_attention(end, "match"), f"phi_1 - 1/L, matching, N = {N}")
        differing = ps.positive(excess_attention(end, "differ"), f"phi_2 - 1/L, differing, N = {N}")
        return matching & differing

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 4.1, remark: the size of the excess (ours)",
    ps.on("training", *evidence.for_scores),
    id="ours-excess",
    kind="upper",
    whose="ours",
    tex=r"\varphi_1^{(n,t_0)} - 1/L \le \tau_0^2 / (64 \lambda L^2)",
    page="Section 4.1, after Theorem 4.1",
    as_=("N", "inf"),
    assumes=theorem_4_1,
)
def the_excess_is_numerically_nothing(*runs):
    """At tau_0 = 1/N the excess over 1/L is tau_0^2 / (64 lam L^2) or less: O(1 / (lam N^2)), L being 2 or more."""

    def excess(run):
        end = until(run, 1.0, 2).isel(time=-1)
        spec = spec_of(run)
        return (excess_attention(end, "match") * spec.lam * spec.size**2).values

    sizes = {spec_of(run).size: excess(run) for run in runs}
    return ps.big_o(sizes, what="(phi_1 - 1/L) lam N^2") & ran_to_the_end(*runs)


@ps.claim(
    "Proposition 4.3 and Proposition B.4",
    ps.on("training", *evidence.theorem_family),
    ps.on("training", *FIGURES),
    id="prop4.3",
    aliases=("4.3",),
    kind="sign",
    tex=(
        r"\left\langle u, y_n \textstyle\sum_\ell x_\ell^{(n)} \varphi_\ell^{(n,t_0)}\right\rangle > 0, "
        r"\quad u = E_1^a + E_1^b - E_2^a - E_2^b"
    ),
    page="Section 4.1, Proposition 4.3; Appendix B.2, Proposition B.4",
    assumes=theorem_4_4,
)
def attention_outputs_are_separable(*runs):
    """At the end of phase 1 the direction E_1 - E_2 separates the attention outputs of the two classes.

    Scores are compared, not weights: the difference of the weights underflows where the theorem lives.
    """

    def judge(run):
        end = phase_1(run).isel(time=[-1])
        second = key_scores(end).sel(length=TAIL, position=2)
        N = spec_of(run).size
        above = end.score_match.sel(length=TAIL) - second
        below = second - end.score_differ.sel(length=TAIL)
        return ps.positive(above, f"p_L - m_L2, N = {N}") & ps.positive(
            below, f"m_L2 - q_L, N = {N}"
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


SMALLEST = ps.derived(2.0, "|u*| for attention that sees the pivot alone")


@ps.claim(
    "Section 5.3, separability",
    ps.on("training", *evidence.theorem_parity_small),
    ps.on("training", evidence.figure_3),
    id="sec5.3-separable",
    aliases=("5.1-sep",),
    kind="sign",
    tex=(
        r"\exists u: \ \left\langle u, y_n \textstyle\sum_\ell x_\ell^{(n)} "
        r"\varphi_\ell^{(n,t_0)}\right\rangle > 0 \ \forall n"
    ),
    page="Section 5.3, after Theorem 5.1",
    assumes=theorem_5_2,
)
def parity_outputs_are_separable(*runs):
    """At t_0 some read-out classifies every training string of parity correctly: the hard-margin problem has a solution,
    certified by the solver's margin and duality gap."""

    def judge(run):
        what = f"L_0 = {spec_of(run).base_length}"
        possible = ps.guard(ps.at_least(run.margin_norm, SMALLEST, f"|u*|, {what}"))
        aligned = ps.guard(ps.positive(run.margin_cosine.isel(time=-1), "cos(u_t, u*)"))
        learns = ps.guard(ps.decreasing(run.loss, "loss") & ps.positive(run.loss, "loss"))
        return ps.positive(1 / run.margin_norm, f"1 / |u*|, {what}") & possible & aligned & learns

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


LAMS = [8.0, 16.0, 32.0, 64.0, 128.0]
TO_SWITCH = {"task": "parity", "steps": 100, "at": [0, 100]}
NEAR = ps.chosen(0.05, "an exponent is told from its neighbours, and bends by 0.02 at small lam")


@ps.claim(
    "Section 5.3, separability (ours)",
    ps.on(
        "training",
        ps.sweeps(symmetric, base_length=4, lam=LAMS, **TO_SWITCH),
        ps.sweeps(symmetric, base_length=3, lam=LAMS, **TO_SWITCH),
    ),
    id="ours-parity-margin",
    aliases=("5.1-sep-lam",),
    kind="rate",
    whose="ours",
    tex=r"\|u^*_{CoT}\| \propto \lambda^2 \ (L_0 = 4), \quad \|u^*_{CoT}\| \propto \lambda \ (L_0 = 3)",
    page="Section 5.3, after Theorem 5.1",
    as_=("lam", "inf"),
    assumes=theorem_5_2,
)
def the_margin_of_parity_is_quadratically_small(four, three):
    """|u*| grows like lam^2 for L_0 = 4, where pivots from 3 on count only through the slack of short lengths, and like
    lam for L_0 = 3: a much worse margin than the text suggests."""
    quadratic = ps.scales_like(four.margin_norm, four.lam, 2.0, NEAR, "|u*|, L_0 = 4")
    linear = ps.scales_like(three.margin_norm, three.lam, 1.0, NEAR, "|u*|, L_0 = 3")
    return quadratic & linear


claims = (
    attention_leaves_uniformity,
    the_excess_is_numerically_nothing,
    attention_outputs_are_separable,
    parity_outputs_are_separable,
    the_margin_of_parity_is_quadratically_small,
)
