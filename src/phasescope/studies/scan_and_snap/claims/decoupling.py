"""Section 4: the decoupled decoder, and what it takes the place of (Lemma 3, Theorem 1)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from .. import closed_forms
from ..phases import after_start, classes_of, force_ratio, held_attention, outputs_of
from . import evidence, tables
from .bounds import MANY_STEPS, last_digit
from .premises import weak_compared


@claim(
    "Lemma 3, Theorem 5",
    on(
        "closed form",
        ps.tables(tables.decoupling.batch_1_decoder, steps=5000, **evidence.RANDOM_DIRECTIONS),
    ),
    id="lem3-eq8",
    aliases=("C3",),
    kind="identity",
    tex=r"\dot w_j = \eta_Y 1(j = n)(e_n - \alpha_n),\quad Y = F(I - E')W",
    page="Section 4, Lemma 3, (8); Appendix B.4, Theorem 5, (70)",
)
def modified_classes_do_not_feel_each_other(table):
    """With the modified update (f_n - F E' e_n) r_n^T, batch-1 steps in random class order give
    Y = F (I - E') W with W_n = (M-1) h*(N_n) zeta_n after 5000 steps, with overlaps up to 0.8."""
    right = table.logits.isel(output=0) - table.logits.isel(output=-1)
    overlap = table.overlap.min()
    return (
        ps.agree(table.Y, table.forecast, atol=MANY_STEPS, what="Y")
        & ps.agree(table.logits, table.alone, atol=MANY_STEPS, what="w_n")
        & ps.guard(ps.at_least(overlap, ps.chosen(0.3, "classes overlap well"), "smallest overlap"))
        & ps.guard(ps.at_most(overlap, ps.chosen(0.99, "and differ"), "smallest overlap"))
        & ps.guard(
            ps.at_least(
                right.isel({"class": 0}),
                ps.chosen(5.0, "it was learned"),
                "lead of the right logit",
            )
        )
    )


@claim(
    "Lemma 3, last sentence",
    on(
        "closed form",
        ps.tables(
            tables.matrices.modification,
            classes=5,
            shared=12,
            strengths=[0.5, 0.25, 0.1, 0.05, 0.02, 0.01],
        ),
    ),
    id="lem3-small",
    kind="limit",
    tex=r"\lambda_1 \to 0 \Rightarrow \|F E' e_n\| \to 0",
    page="Section 4, Lemma 3: if lambda_1 is small, the modification is small as well",
    as_=("1/lambda_1", "inf"),
)
def the_modification_is_small(table):
    """The vector by which the gradient is modified becomes small, beside the gradient's own
    direction f_n of length 1, as the largest eigenvalue of E does."""
    half = ps.chosen(0.5, "half of the gradient")
    largest = 1 / table.weakness
    bound = np.sqrt(1 + largest) * largest / (1 - largest)
    one = ps.derived(1.0, "Lemma 15, and |F| <= sqrt(1 + lambda_1)")
    return (
        ps.tends_to(table.length, along="weakness", within=half, what="|F E' e_n|")
        & ps.at_most(table.length / bound, one, "|F E' e_n| / bound")
        & ps.guard(ps.positive(table.length, "|F E' e_n|"))
    )


@claim(
    "After Theorem 1: the original dynamics",
    on(
        "population",
        *evidence.held_inside,
        expect="false",
        because="the true discriminative force is of the order iota / M, far below E': {measured}",
    ),
    id="sec4-original-dynamics",
    aliases=("C4",),
    kind="upper",
    tex=r"|\beta_{nn'}/\iota_n - E'_{nn'}/(1 - E'_{nn})| \le 6/M",
    page="Section 4, after Theorem 1: for the original dynamics (Eqn. 7), when all off-diagonal elements of E are "
    "identical, Theorem 1 still holds with a smaller effective learning rate; (87), (89): |delta_2|, |delta_3| < 3/M",
    assumes=weak_compared,
)
def theorem_1_holds_for_the_original_dynamics(*runs):
    """On held attention with equal overlaps the true decoder gradient gives the beta / iota of
    Theorem 1, which no learning rate changes, within the 3/M of its numerator and of its
    denominator: from t = 10 K^2 on."""
    six = ps.stated(6.0, "below (89): 3/M in beta and in iota")

    def judge(true, modified):
        swing = true.iota.max() / after_start(true.iota).min()
        off = abs(force_ratio(true) - force_ratio(modified)) * outputs_of(true)
        later = off.time >= 10 * classes_of(true) ** 2
        found = ps.at_most(off, six, "M |beta / iota - that of Theorem 1|", where=later)
        twice = ps.chosen(2.0, "the decoder has learned")
        same_sign = ps.guard(ps.positive(force_ratio(true), "beta / iota"))
        return (
            found & same_sign & ps.guard(ps.at_least(swing, twice, "iota, largest over smallest"))
        )

    held = [held_attention(run) for run in runs]
    return ps.all_of(map(judge, held[::2], held[1::2]))


@claim(
    "Theorem 1: the force at the start (ours)",
    on("population", *evidence.held_inside[::2]),
    id="ours-early-force",
    kind="approx",
    whose="ours",
    tex=r"\beta_{nn'}/\iota_n \to 1/(M-1),\quad t \to 0",
    page="Section 4, Theorem 1, (88)",
)
def at_the_start_the_force_is_one_over_M(*runs):
    """As t goes to 0 the true beta / iota is 1 / (M - 1), whatever the overlap is: within 1% at a
    thousandth of a unit of time, and rising from there on."""
    little = ps.chosen(0.01, "of the order of the overlap times a thousandth of a unit")

    def judge(run):
        law = closed_forms.early_force_ratio(outputs_of(run))
        first = force_ratio(run).isel(time=0) / law
        rises = ps.guard(ps.increasing(force_ratio(run), "beta / iota"))
        return ps.agree(first, 1.0, rtol=little, what="(M - 1) beta / iota") & rises

    return ps.all_of(map(judge, runs)) & ps.all_of(map(ps.reached, runs))


@claim(
    "Lemma 3: what the modification keeps (ours)",
    on(
        "population",
        evidence.held_4,
        evidence.held_4_decoupled,
        evidence.held_10,
        evidence.held_10_decoupled,
    ),
    id="ours-own-part",
    aliases=("C4-iota",),
    kind="regression",
    whose="ours",
    tex=r"\max_t |\iota_n / \iota_n^{modified} - 1| = 0.0012, 0.0058",
    page="Section 4, Lemma 3",
)
def the_modification_keeps_the_own_part(*runs):
    """In weak correlation the coefficient of f_n in g_n is the modified one's within 0.0012 at K = 4, M =
    300 and 0.0058 at K = 10, M = 1000, over 100 units of time."""
    later = [after_start(run.iota) for run in runs]
    pairs = list(zip(later[::2], later[1::2], strict=True))
    off = np.array([float(abs(a / b - 1).max(skipna=False)) for a, b in pairs])
    same = ps.agree(off, np.array([0.0012, 0.0058]), atol=last_digit(1e-4), what="iota, off by")
    twice = ps.chosen(2.0, "it rises")
    rises = ps.all_of(
        ps.guard(ps.at_least(a.max("time") / a.isel(time=0), twice, "iota, peak over start"))
        for a, _ in pairs
    )
    return same & rises & ps.all_of(map(ps.reached, runs))


@claim(
    "Theorem 1: the true discriminative force (ours)",
    on("population", evidence.held_4, evidence.held_10),
    id="ours-force-law",
    aliases=("C4-law",),
    kind="approx",
    whose="ours",
    tex=r"\beta_{nn'}/\iota_n = \kappa/M,\ 1 \le \kappa \le 1.7",
    page="Section 4, Theorem 1, (88)",
)
def the_discriminative_force_is_one_over_M(*runs):
    """In weak correlation the true beta / iota is kappa / M with kappa rising from 1.0 to at
    most 1.7 over 100 units of time: at K = 4, M = 300 and at K = 10, M = 1000, where E' is 0.0181
    and 0.0227."""
    low = ps.derived(1.0, "closed_forms.early_force_ratio")
    high = ps.chosen(1.7, "of order 1, where M E' is 5 and 23")

    def judge(run):
        outputs = outputs_of(run)
        kappa = force_ratio(run) * outputs
        inside = ps.within(kappa, low, high, f"M beta / iota, M = {outputs:g}")
        return inside & ps.guard(ps.increasing(kappa, "M beta / iota"))

    return ps.all_of(map(judge, runs)) & ps.all_of(map(ps.reached, runs))


@claim(
    "Theorem 1: the force in strong correlation (ours)",
    on("population", evidence.small, evidence.small_decoupled),
    id="ours-force-strong",
    aliases=("C4-strong",),
    kind="regression",
    whose="ours",
    tex=r"\beta/\iota = 0.143, 0.471, 0.702, 0.805, 0.874",
    page="Section 4, Theorem 1",
)
def the_force_catches_up_slowly(true, modified):
    """In Syn-Small, held at rho = 0.72, the true beta / iota is 0.143, 0.471, 0.702, 0.805,
    0.874 at 0.3, 1, 3, 10, 100 units of time; the modified one is 0.74 throughout."""
    times = np.array([0.3, 1.0, 3.0, 10.0, 100.0]) * evidence.UNIT_SMALL
    found = force_ratio(held_attention(true)).sel(time=times, method="nearest")
    expected = found.copy(data=np.array([0.1426, 0.4709, 0.7021, 0.8047, 0.8744]))
    constant = force_ratio(held_attention(modified))
    as_found = ps.agree(found, expected, atol=last_digit(1e-3), what="beta / iota")
    return as_found & ps.agree(constant, 0.74, atol=last_digit(0.01), what="beta / iota, modified")


claims = (
    modified_classes_do_not_feel_each_other,
    the_modification_is_small,
    theorem_1_holds_for_the_original_dynamics,
    at_the_start_the_force_is_one_over_M,
    the_modification_keeps_the_own_part,
    the_discriminative_force_is_one_over_M,
    the_force_catches_up_slowly,
)
