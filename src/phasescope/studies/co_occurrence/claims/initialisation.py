r"""Appendix D: the start of training, where every law can be read off draws of the weights.

Its bounds hold with probability $1 - \delta$: of many draws the share that keeps them is looked at, at $\delta = 0.05$. Where a
bound is printed with its constants (D.1, D.3 to D.6, D.8) they are compared; where it hides them, its trend is.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from . import evidence
from .parts import drawn
from .premises import condition_1
from .tables import DELTA

FAILURE = ps.chosen(DELTA, "the delta of the lemmas, which is free")


def kept(ratio: xr.DataArray, what: str, lemma: str) -> ps.Verdict:
    """A bound that is printed with its constants is kept, with probability 1 - delta."""
    bound = ps.stated(1.0, lemma)
    rare = ratio.quantile(1 - DELTA, "seed", skipna=False)
    draws = (ratio <= 1.0).stack(draw=ratio.dims).drop_vars(["draw", *ratio.dims])
    return (
        ps.at_most(rare, bound, f"{what} over its bound")
        & ps.share(draws, FAILURE, along="draw", what=f"{what} within its bound")
        & drawn(ratio, what)
    )


def usually(x: xr.DataArray) -> xr.DataArray:
    """What nine draws of ten keep below."""
    return x.quantile(0.9, "seed", skipna=False).drop_vars("quantile")


@ps.claim(
    "Lemma D.1",
    ps.on("closed form", evidence.starts),
    id="lemD.1-keys-queries",
    kind="upper",
    tex=r"|\langle W_K\mu_l, W_Q\mu_{l'}\rangle| \le \sigma_0^2 m\big(\sqrt{\tfrac4m\log\tfrac{2d}\delta} + "
    r"\tfrac4m\log\tfrac{2d}\delta\big)",
    page="Appendix D, Lemma D.1",
    whp=DELTA,
)
def keys_and_queries_start_nearly_orthogonal(ds):
    """Overlaps of keys and queries of different words, and the deviations of their squared norms from sigma_0^2
    m, keep the printed bound."""
    return kept(ds.D1, "an overlap of keys and queries", "Lemma D.1")


@ps.claim(
    "Corollary D.2",
    ps.on("closed form", evidence.starts),
    id="corD.2-uniform-attention",
    aliases=("D.2",),
    kind="upper",
    tex=r"p_{l,k}^{(0,i)} = \tfrac1L \pm \tilde O\big(\tfrac1{Lm}\big)",
    page="Appendix D, Corollary D.2",
    as_=("m", "inf"),
    up_to_logs=True,
    whp=0.1,
)
def attention_starts_uniform(ds):
    """m max |L p - 1| at time 0 does not grow with m."""
    ratio = usually(ds.p_spread) * ds.width
    return ps.big_o(ratio, along="width", what="m max |L p - 1|") & drawn(ds.p_spread, "|L p - 1|")


@ps.claim(
    "Lemma D.3",
    ps.on("closed form", evidence.starts),
    id="lemD.3-values-neurons",
    kind="upper",
    tex=r"|\langle w_{j}, w_{j'}\rangle| \le \sigma_1^2 m\big(\sqrt{\tfrac4m\log\tfrac{2m_1^2}\delta} + "
    r"\tfrac4m\log\tfrac{2m_1^2}\delta\big)",
    page="Appendix D, Lemma D.3",
    whp=DELTA,
)
def values_and_neurons_start_nearly_orthogonal(ds):
    """Overlaps of values, of neurons and of both, and the deviations of their squared norms, keep the printed
    bounds."""
    return kept(ds.D3, "an overlap of values and neurons", "Lemma D.3")


@ps.claim(
    "Lemma D.4",
    ps.on("closed form", evidence.starts),
    id="lemD.4-mixed-values",
    kind="upper",
    tex=r"\|W_V X p_l\|^2 = \tfrac{\sigma_0^2 m}L\big(1 \pm \sqrt{\tfrac4m\log\tfrac{2nL}\delta} \pm "
    r"\tfrac4m\log\tfrac{2nL}\delta\big)",
    page="Appendix D, Lemma D.4",
    whp=DELTA,
)
def mixed_values_start_with_one_norm(ds):
    """The squared norm of what attention mixes is sigma_0^2 m / L, within the printed bound."""
    return kept(ds.D4, "the deviation of |W_V X p|^2", "Lemma D.4")


@ps.claim(
    "Corollary D.5",
    ps.on(
        "closed form",
        evidence.starts,
        expect="false",
        because="the tail of a Gaussian is wider than the printed bound, which lacks its factor of two: one draw in twenty "
        "is at {value:.3g} times the bound",
    ),
    id="corD.5-neuron-outputs",
    kind="upper",
    tex=r"|w_j^\top V p_l| \le \sigma_1\sigma_0\sqrt{\tfrac mL\log\tfrac{m_1nL}\delta}",
    page="Appendix D, Corollary D.5",
    whp=DELTA,
)
def neurons_start_with_small_outputs(ds):
    """What a neuron gives for a query of a sample keeps the printed bound, for all neurons, samples and queries
    at once."""
    return kept(ds.D5, "an output of a neuron", "Corollary D.5")


@ps.claim(
    "Corollary D.5, with the factor of the Gaussian tail (E16)",
    ps.on("closed form", evidence.starts),
    id="corD.5-corrected",
    kind="upper",
    whose="corrected",
    erratum="E16",
    tex=r"|w_j^\top V p_l| \le \sigma_1\sigma_0\sqrt{\tfrac{2m}L\log\tfrac{2m_1nL}\delta}",
    page="Appendix D, Corollary D.5",
    whp=DELTA,
)
def neurons_start_with_outputs_below_the_gaussian_tail(ds):
    """The same with 2 log(2 m1 n L / delta) in place of log(m1 n L / delta)."""
    spec = evidence.theory_numbers
    count = spec.neurons * spec.samples * spec.length / DELTA
    widened = ds.D5 * np.sqrt(np.log(count) / (2 * np.log(2 * count)))
    return kept(widened, "an output of a neuron", "Corollary D.5, its proof")


@ps.claim(
    "Lemma D.6",
    ps.on("closed form", evidence.starts),
    id="lemD.6-signs",
    kind="upper",
    tex=r"|S_{\pm1}| = m_1\big(\tfrac12 \pm \sqrt{2\log(4/\delta)/m_1}\big)",
    page="Appendix D, Lemma D.6",
    whp=DELTA,
)
def about_half_of_the_outputs_are_positive(ds):
    """The share of neurons with a_j = +1 is one half, within the printed bound."""
    bound = ps.stated(1.0, "Lemma D.6")
    draws = (ds.D6 <= 1.0).stack(draw=ds.D6.dims).drop_vars(["draw", *ds.D6.dims])
    spread = ds.D6.std(skipna=False)
    return (
        ps.at_most(
            ds.D6.quantile(1 - DELTA, "seed", skipna=False), bound, "deviation over its bound"
        )
        & ps.share(draws, FAILURE, along="draw", what="deviation within its bound")
        & ps.guard(ps.at_least(ds.D6, ps.derived(0.0, "a deviation has no sign"), "deviation"))
        & ps.guard(ps.at_least(spread, ps.chosen(1e-6, "more than rounding"), "spread"))
    )


@ps.claim(
    "Lemma D.7, Proposition E.8",
    ps.on("closed form", evidence.starts),
    id="lemD.7-values",
    aliases=("D.7",),
    kind="upper",
    tex=r"|G^{(0)}(\mu)| \le \tilde O(\sigma_1\sigma_0\sqrt{mm_1})",
    page="Appendix D, Lemma D.7; Appendix E.3, Proposition E.8",
    as_=("m", "inf"),
    up_to_logs=True,
    whp=0.1,
)
def values_start_small(ds):
    """The largest |G| over all words at time 0, over sigma_0 sigma_1 sqrt(m m1), does not grow with m."""
    return ps.big_o(usually(ds.G), along="width", what="|G(0)|") & drawn(ds.G, "|G(0)|")


@ps.claim(
    "Lemma D.8, first inequality",
    ps.on("closed form", evidence.starts),
    id="lemD.8-bound",
    kind="upper",
    tex=r"|F^{(0)}(X^{(i)})| \le 2\sigma_0\sigma_1\sqrt{2Lm_1m\log(2Ln/\delta)}",
    page="Appendix D, Lemma D.8",
    whp=DELTA,
)
def outputs_start_within_the_printed_bound(ds):
    """All outputs at time 0 keep the printed bound."""
    return kept(ds.D8, "|F(0)|", "Lemma D.8")


@ps.claim(
    "Lemma D.8, second inequality",
    ps.on("closed form", evidence.starts_over_zeta),
    ps.on(
        "training",
        evidence.figure_1_descent,
        expect="outside",
        because="with the usual initialisation outputs start at {value:.2g} in size",
    ),
    id="lemD.8-0.01",
    aliases=("D.8",),
    kind="upper",
    tex=r"|F^{(0)}(X^{(i)})| \le 0.01",
    page="Appendix D, Lemma D.8",
    assumes=condition_1,
    whp=DELTA,
)
def outputs_start_near_zero(ds):
    """|F_i(0)| <= 0.01 for all samples, for a start that is small enough: the constant and the logarithms of
    sigma_0 are free."""
    bound = ps.stated(0.01, "Lemma D.8")
    if "time" in ds.dims:
        F = abs(ds.F.isel(time=0, drop=True)).max("sample", skipna=False)
        return ps.at_most(F, bound, "max |F(0)|") & ps.guard(ps.positive(F, "max |F(0)|"))

    def judge(zeta):
        F = ds.F.sel(zeta=zeta)
        rare = F.quantile(1 - DELTA, "seed", skipna=False)
        return ps.at_most(rare, bound, "max |F(0)|") & ps.share(F <= 0.01, FAILURE)

    return ps.scan("zeta", evidence.START_ZETAS, judge, settles="small") & drawn(ds.F, "max |F(0)|")


@ps.claim(
    "Lemma D.8: the size of the start (ours)",
    ps.on("closed form", evidence.starts_over_zeta),
    id="ours-start-size",
    kind="rate",
    whose="ours",
    tex=r"\max_i|F_i(0)| \propto \zeta = \sigma_0\sqrt{Lm}",
    page="Appendix D, Lemma D.8",
    as_=("1/zeta", "inf"),
)
def outputs_at_the_start_are_as_large_as_zeta(ds):
    """The outputs at time 0 are proportional to zeta, over three decades: their exponent is 1 within 0.02."""
    near = ps.chosen(0.02, "softmax adds zeta^2, and draws scatter by a fifth")
    return ps.scales_like(
        ds.F.median("seed", skipna=False), ds.zeta, 1.0, near, "max |F(0)|"
    ) & drawn(ds.F, "max |F(0)|")


claims = (
    keys_and_queries_start_nearly_orthogonal,
    attention_starts_uniform,
    values_and_neurons_start_nearly_orthogonal,
    mixed_values_start_with_one_norm,
    neurons_start_with_small_outputs,
    neurons_start_with_outputs_below_the_gaussian_tail,
    about_half_of_the_outputs_are_positive,
    values_start_small,
    outputs_start_within_the_printed_bound,
    outputs_start_near_zero,
    outputs_at_the_start_are_as_large_as_zeta,
)
