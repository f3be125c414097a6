r"""Lemmas 4.1 and 4.2 and Appendix E.1: the gradients at time 0.

Rates are those of $a_j w_j^\top W_V \mu$, one for each neuron, in units of $(\sigma_0^2 + \sigma_1^2) m$.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from . import evidence
from .initialisation import FAILURE, kept, usually
from .parts import drawn
from .premises import condition_1
from .tables import DELTA

M_OVER_M1 = (2.0, 4.0, 8.0, 16.0)


def wide(ds: xr.Dataset, ratio: float) -> xr.Dataset:
    """The widths from m = ratio m1 on."""
    return ds.sel(width=ds.width >= ratio * evidence.theory_numbers.neurons)


@ps.claim(
    "Lemma 4.1 (E.4)",
    ps.on("closed form", evidence.starts),
    id="lem4.1-neurons",
    aliases=("L4.1",),
    kind="theta",
    tex=r"\partial_t\, a_jw_j^{(0)}W_V^{(0)}\mu = \Theta((\sigma_0^2+\sigma_1^2)m), \quad \mu\in\{\mu_1,\mu_2\}",
    page="Section 4.1, Lemma 4.1; Appendix E.1, Lemma E.4",
    as_=("m", "inf"),
    assumes=condition_1,
    whp=0.1,
)
def every_neuron_aligns_with_the_targets(ds):
    """The rate of every neuron's value of mu_1 and mu_2 at time 0 is Theta((sigma_0^2 + sigma_1^2) m) in nine
    draws of ten, if m is large enough against m1: from which ratio on is found by a scan."""
    low = ds.rate_low.quantile(0.1, "seed", skipna=False).drop_vars("quantile")
    both = xr.concat([low, usually(ds.rate_high)], "bound").transpose("width", "bound")

    def judge(ratio):
        return ps.big_theta(
            wide(both.to_dataset(name="rate"), ratio).rate, along="width", what="rate"
        )

    spread = ds.rate_high - ds.rate_low
    return ps.scan("m_over_m1", M_OVER_M1, judge) & drawn(spread, "spread of the rates")


@ps.claim(
    "Section 4.1, after Lemma 4.1",
    ps.on("closed form", evidence.starts),
    id="sec4.1-mlp-aligns",
    aliases=("L4.1-sum",),
    kind="theta",
    tex=r"\partial_t G^{(t)}(\mu_1) = \Theta((\sigma_0^2+\sigma_1^2)mm_1)",
    page="Section 4.1, after Lemma 4.1",
    as_=("m", "inf"),
    assumes=condition_1,
)
def the_mlp_aligns_with_the_targets(ds):
    """The rate of G(mu_1) and G(mu_2) at time 0 is Theta((sigma_0^2 + sigma_1^2) m m1), at every width."""
    return ps.big_theta(ds.rate_mean, along="width", what="rate of G") & drawn(
        ds.rate_mean, "rate of G"
    )


@ps.claim(
    "Proof of Lemma E.4, with the factor 1/6 (E3)",
    ps.on("closed form", evidence.starts),
    id="lemE.4-constant",
    kind="approx",
    whose="corrected",
    erratum="E3",
    tex=r"\partial_t\, a_jw_j^{(0)}W_V^{(0)}\mu \approx \tfrac16(\sigma_0^2+\sigma_1^2)m",
    page="Appendix E.1, proof of Lemma E.4",
    assumes=condition_1,
)
def the_constant_is_one_sixth(ds):
    """The mean of that rate over neurons and draws is 1/6 of (sigma_0^2 + sigma_1^2) m, within 5%; the proof
    has 1/3."""
    near = ps.chosen(0.05, "three standard errors of forty draws at zeta = 0.1")
    mean = ds.rate_mean.mean("seed", skipna=False)
    return ps.agree(mean, 1 / 6, rtol=near, what="mean rate") & drawn(ds.rate_mean, "rate of G")


@ps.claim(
    "Lemma 4.2",
    ps.on("closed form", evidence.starts),
    id="lem4.2-bound",
    aliases=("L4.2-bound",),
    kind="upper",
    tex=r"\partial_t\, a_jw_j^{(0)}W_V^{(0)}\mu_3 = \tilde O(\sigma_1^2\sqrt{mm_1} + \sigma_0^2\sqrt{mL} + "
    r"\sigma_1^2 mF)",
    page="Section 4.1, Lemma 4.2",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
    whp=0.1,
)
def the_common_word_starts_slowly(ds):
    """The rate of every neuron's value of mu_3 at time 0, over its bound and log m, does not grow with m."""
    ratio = usually(ds.L42) / np.log(ds.width)
    return ps.big_o(ratio, along="width", what="rate of mu_3 over its bound") & drawn(
        ds.L42, "rate of mu_3"
    )


@ps.claim(
    "Lemma E.16",
    ps.on("closed form", evidence.starts),
    id="lemE.16-bound",
    kind="upper",
    tex=r"\partial_t\, a_jw_j^{(0)}W_V^{(0)}\mu_3 = \tilde O(\sigma_1^2\sqrt{mm_1} + \sigma_0^2\sqrt{mL} + "
    r"(\sigma_0^2+\sigma_1^2)mF)",
    page="Appendix E.6, Lemma E.16",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
    whp=0.1,
)
def the_common_word_starts_slowly_with_both_scales(ds):
    """The same with (sigma_0^2 + sigma_1^2) m F: over its bound and log m it does not grow with m."""
    ratio = usually(ds.E16) / np.log(ds.width)
    return ps.big_o(ratio, along="width", what="rate of mu_3 over its bound") & drawn(
        ds.E16, "rate of mu_3"
    )


@ps.claim(
    "Section 4.1, before Lemma 4.2",
    ps.on("closed form", evidence.starts_over_zeta),
    id="lem4.2-much-smaller",
    aliases=("L4.2",),
    kind="limit",
    tex=r"\partial_t G^{(0)}(\mu_3) \ll \partial_t G^{(0)}(\mu_1)",
    page="Section 4.1, before Lemma 4.2",
    as_=("1/zeta", "inf"),
    assumes=condition_1,
    whp=DELTA,
)
def the_common_word_is_much_slower_than_the_targets(ds):
    """The rate of G(mu_3) over that of G(mu_1) at time 0 tends to 0 as the start gets smaller; from which zeta
    on it is at most a tenth in 95% of the draws."""
    tenth = ps.chosen(0.1, "much smaller: a tenth")
    ratio = ds.rate_common / ds.rate_mean
    rare = ratio.quantile(1 - DELTA, "seed", skipna=False).drop_vars("quantile")
    smaller = rare.assign_coords(zeta=1 / rare.zeta).rename(zeta="1/zeta")

    def judge(zeta):
        return ps.share(ratio.sel(zeta=zeta) <= tenth, FAILURE)

    return (
        ps.tends_to(
            smaller, along="1/zeta", within=tenth, what="rate of G(mu_3) over that of G(mu_1)"
        )
        & ps.scan("zeta", evidence.START_ZETAS, judge, settles="small")
        & drawn(ds.rate_common, "rate of G(mu_3)")
        & ps.guard(ps.positive(ds.rate_mean.median("seed", skipna=False), "rate of G(mu_1)"))
    )


@ps.claim(
    "Proposition E.5, first inequality",
    ps.on("closed form", evidence.starts),
    id="propE.5-neurons",
    kind="upper",
    tex=r"\big|\textstyle\sum_{j_2\ne j_1}a_{j_2}\langle w_{j_1},w_{j_2}\rangle\big| \le "
    r"\sigma_1^2\sqrt{m_1}m(\ldots)\sqrt{\log\tfrac{4m_1}\delta}",
    page="Appendix E.1, Proposition E.5",
    whp=DELTA,
)
def other_neurons_add_little_at_the_start(ds):
    """What all other neurons add to the rate of one, at time 0, keeps the printed bound."""
    return kept(ds.E5_neurons, "the sum over other neurons", "Proposition E.5")


@ps.claim(
    "Proposition E.5, third inequality",
    ps.on("closed form", evidence.starts),
    id="propE.5-values",
    kind="upper",
    tex=r"\big|\tfrac1n\textstyle\sum_i g_iy_i\sum_{l_1,l_2}\langle p_{l_1,l_2}v_{l_2},v(\mu)\rangle\mathbb "
    r"I(v_{l_2}\ne v(\mu))\big| \le \sigma_0^2m\sqrt L(\ldots)",
    page="Appendix E.1, Proposition E.5",
    whp=DELTA,
)
def other_values_add_little_at_the_start(ds):
    """What the values of all other words add to the rate of one, at time 0, keeps the printed bound."""
    return kept(ds.E5_values, "the sum over other values", "Proposition E.5")


@ps.claim(
    "Lemma E.6",
    ps.on("closed form", evidence.starts_over_samples),
    id="lemE.6-irrelevant",
    aliases=("E.6",),
    kind="upper",
    tex=r"\partial_t\, a_jw_j^{(0)}W_V^{(0)}\mu = O\big(\tfrac1n(\sigma_0^2+\sigma_1^2)m + "
    r"\sigma_0^2\sqrt{mL}\big), \quad \mu\in\mathcal R",
    page="Appendix E.1, Lemma E.6",
    as_=("n", "inf"),
    assumes=condition_1,
    whp=0.1,
)
def irrelevant_words_start_slower_by_n(ds):
    """The rate of every neuron's value of an irrelevant word at time 0, over its bound, does not grow with n."""
    ratio = usually(ds.E6).rename(samples="n")
    return ps.big_o(ratio, along="n", what="rate over its bound") & drawn(ds.E6, "rate")


@ps.claim(
    "Lemma E.6, the constant (ours)",
    ps.on("closed form", evidence.starts_over_samples),
    id="ours-lemE.6-constant",
    kind="approx",
    whose="ours",
    tex=r"\partial_t G(r)/\partial_t G(\mu_1) \approx 3/n",
    page="Appendix E.1, Lemma E.6",
)
def irrelevant_words_start_slower_by_three_over_n(ds):
    """The rate of an irrelevant word's value at time 0 is 3/n of that of the target words, up to a factor 1.5
    for the fastest of them."""
    ratio = (ds.rate_random / ds.rate_mean * ds.samples / 3).median("seed", skipna=False)
    factor = ps.chosen(1.5, "the largest of some hundred words, with outputs of size zeta")
    return ps.within(ratio, 1.0, factor, "largest rate over 3/n of the targets'") & drawn(
        ds.rate_random, "rate"
    )


@ps.claim(
    "Proposition E.22",
    ps.on("closed form", evidence.starts),
    id="propE.22-products",
    kind="upper",
    tex=r"\big|\textstyle\sum_j a_j\|k^{(0)}(\mu)\|^2w_j^\top v^{(0)}(\nu)\big| \le \tilde "
    r"O(\sigma_0^2m\,\sigma_0\sigma_1\sqrt{mm_1})",
    page="Appendix E.7, Proposition E.22",
    as_=("m", "inf"),
    up_to_logs=True,
    whp=0.1,
)
def products_of_keys_and_values_start_small(ds):
    """Products of norms, and of overlaps, of keys and queries with values at time 0, over their bounds, do not
    grow with m."""
    return (
        ps.big_o(usually(ds.E22_own), along="width", what="|k|^2 G over its bound")
        & ps.big_o(usually(ds.E22_cross), along="width", what="k.k' G over its bound")
        & drawn(ds.E22_own, "|k|^2 G")
        & drawn(ds.E22_cross, "k.k' G")
    )


claims = (
    every_neuron_aligns_with_the_targets,
    the_mlp_aligns_with_the_targets,
    the_constant_is_one_sixth,
    the_common_word_starts_slowly,
    the_common_word_starts_slowly_with_both_scales,
    the_common_word_is_much_slower_than_the_targets,
    other_neurons_add_little_at_the_start,
    other_values_add_little_at_the_start,
    irrelevant_words_start_slower_by_n,
    irrelevant_words_start_slower_by_three_over_n,
    products_of_keys_and_values_start_small,
)
