"""Appendix A: the softmax and the sigmoid, and the norms of the gradients."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..phases import attention_step, ran_to_the_end, spec_of
from . import evidence, tables

SOFTMAX = ps.tables(tables.softmax_table, lam=[1.0, 2.0, 36.0], samples=2000)
SLOPE = ps.tables(tables.slope_table, samples=2000)
SIGMOID = ps.tables(tables.sigmoid_table, points=400)
WIDE = ps.chosen(10.0, "pairs near and far: the ratios are not one number")


def is_a_table(ratio) -> ps.Verdict:
    """Positive ratios over a wide range: there was something to bound."""
    return ps.guard(ps.positive(ratio, "ratio")) & ps.guard(
        ps.at_least(ratio.max() / ratio.min(), WIDE, "largest / smallest ratio")
    )


@ps.claim(
    "Lemma A.1",
    ps.on("closed form", SOFTMAX),
    id="lemA.1",
    aliases=("A.1",),
    kind="upper",
    tex=r"\|\phi(x/\lambda) - \phi(y/\lambda)\| \le \tfrac1\lambda \|x - y\|",
    page="Appendix A, Lemma A.1",
)
def softmax_is_lipschitz(table):
    """softmax(x / lam) is 1/lam-Lipschitz."""
    bound = ps.stated(1.0, "Lemma A.1")
    return ps.at_most(table.ratio, bound, "lam |S(x) - S(y)| / |x - y|") & is_a_table(table.ratio)


@ps.claim(
    "Lemma A.1: the constant (ours)",
    ps.on("closed form", SOFTMAX),
    id="ours-lemA.1-half",
    kind="approx",
    whose="ours",
    tex=r"\|\phi(x/\lambda) - \phi(y/\lambda)\| \le \tfrac{1}{2\lambda} \|x - y\|",
    page="Appendix A, Lemma A.1",
)
def softmax_is_lipschitz_with_half(table):
    """softmax(x / lam) is even 1/(2 lam)-Lipschitz."""
    half = ps.derived(0.5, "the largest eigenvalue of diag(p) - p p^T")
    return ps.within(table.ratio, 0.0, half, "lam |S(x) - S(y)| / |x - y|") & is_a_table(
        table.ratio
    )


@ps.claim(
    "Equation (2), first part",
    ps.on("closed form", SLOPE),
    id="eq2-lipschitz",
    kind="upper",
    tex=r"|J'(x) - J'(x')| \le |x - x'|",
    page="Appendix A, eq. (2)",
)
def slope_of_the_loss_is_lipschitz(table):
    """The slope of the logistic loss is 1-Lipschitz."""
    bound = ps.stated(1.0, "eq. (2)")
    return ps.at_most(table.ratio, bound, "|J'(x) - J'(x')| / |x - x'|") & is_a_table(table.ratio)


@ps.claim(
    "Equation (2), second part",
    ps.on("closed form", SIGMOID),
    id="eq2-remainder",
    aliases=("eq.2",),
    kind="upper",
    tex=r"\left|\tfrac{1}{1+e^x} - (\tfrac12 - \tfrac x4)\right| \le |x|^3",
    page="Appendix A, eq. (2)",
)
def sigmoid_is_nearly_linear(table):
    """|sigma(-x) - (1/2 - x/4)| <= |x|^3 (printed with x^3, which for negative x must be read so)."""
    bound = ps.stated(1.0, "eq. (2)")
    return ps.at_most(table.ratio, bound, "remainder / |x|^3") & is_a_table(table.ratio)


@ps.claim(
    "Equation (2): the constants (ours)",
    ps.on("closed form", SLOPE, SIGMOID),
    id="ours-eq2-constants",
    kind="approx",
    whose="ours",
    tex=r"|J'(x) - J'(x')| \le \tfrac14 |x - x'|, \quad |\sigma(-x) - (\tfrac12 - \tfrac x4)| \le \tfrac{|x|^3}{48}",
    page="Appendix A, eq. (2)",
)
def equation_2_has_room(slope, sigmoid):
    """The constants of equation (2) are 1/4 and 1/48."""
    quarter = ps.derived(0.25, "J'' = sigma (1 - sigma)")
    small = ps.derived(1 / 48, "the Taylor series of the sigmoid")
    return (
        ps.within(slope.ratio, 0.0, quarter, "|J'(x) - J'(x')| / |x - x'|")
        & ps.within(sigmoid.ratio, 0.0, small, "remainder / |x|^3")
        & is_a_table(slope.ratio)
        & is_a_table(sigmoid.ratio)
    )


ALL_FIGURES = (
    evidence.figure_2,
    evidence.figure_3,
    evidence.figure_4,
    evidence.figure_5,
    evidence.figure_6,
)


def at_every_step(run) -> ps.Verdict:
    """A step is a gradient only where two records are one update apart."""
    gaps = run.time.diff("time")
    return ps.guard(ps.within(gaps, 1.0, 1.0, "updates between records"))


def attention_speed(run):
    """How much larger the step on W is than eta: lam in phase 1."""
    spec = spec_of(run)
    fast = spec.lam if spec.schedule == "two_phase" else 1.0
    return np.where(run.time.values[1:] <= spec.switch, fast, 1.0)


@ps.claim(
    "Appendix A.1, gradient of u",
    ps.on("training", *ALL_FIGURES),
    id="secA.1-grad-u",
    kind="upper",
    tex=r"\|\nabla_u \mathcal{L}_t\| \le L_{\max}",
    page="Appendix A.1",
)
def gradient_of_the_read_out_is_bounded(*runs):
    """|grad_u L| <= N at every update of the paper's experiments, read off the steps."""

    def judge(run):
        spec = spec_of(run)
        step = np.sqrt(2 * (run.token_score.diff("time") ** 2).sum("position", skipna=False))
        moves = ps.guard(ps.positive(step, "|u_t+1 - u_t|"))
        falls = ps.guard(ps.decreasing(run.loss, "loss"))
        bound = ps.stated(1.0, "Appendix A.1")
        ratio = ps.at_most(step / (spec.eta * spec.size), bound, "|grad_u| / N")
        return ratio & moves & falls & at_every_step(run)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Appendix A.1, gradient of W",
    ps.on("training", *ALL_FIGURES),
    id="secA.1-grad-W",
    kind="upper",
    tex=r"\|\nabla_W \mathcal{L}_t\| \le \|u_t\| L_{\max} / \lambda",
    page="Appendix A.1",
)
def gradient_of_the_attention_is_bounded(*runs):
    """|grad_W L| <= |u_t| N / lam at every update from the second on, read off the steps."""

    def judge(run):
        spec = spec_of(run)
        later = run.sel(time=slice(1, None))
        step = attention_step(later)
        gradient = step.values / (spec.eta * attention_speed(later))
        limit = later.u_norm.values[:-1] * spec.size / spec.lam
        ratio = step.copy(data=gradient / limit)
        moves = ps.guard(ps.positive(step, "|W_t+1 - W_t|"))
        falls = ps.guard(ps.decreasing(run.loss, "loss"))
        bound = ps.stated(1.0, "Appendix A.1")
        return (
            ps.at_most(ratio, bound, "|grad_W| lam / (|u| N)") & moves & falls & at_every_step(run)
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


claims = (
    softmax_is_lipschitz,
    softmax_is_lipschitz_with_half,
    slope_of_the_loss_is_lipschitz,
    sigmoid_is_nearly_linear,
    equation_2_has_room,
    gradient_of_the_read_out_is_bounded,
    gradient_of_the_attention_is_bounded,
)
