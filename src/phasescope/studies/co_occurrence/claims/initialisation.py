r"""Appendix D and Lemmas 4.1, 4.2, E.6: the start of training, where every law can be read off one draw of the weights.

Rates are those of $a_j w_j^\top W_V \mu$, one for each neuron, in units of $(\sigma_0^2 + \sigma_1^2) m / 6$.
"""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from . import evidence


def outputs_at_start(ds: xr.Dataset) -> xr.DataArray:
    """max |F_i| of every run before training."""
    F = ds.F.isel(time=0, drop=True) if "time" in ds.dims else ds.F
    return abs(F).max("sample", skipna=False)


def of_targets(ds: xr.Dataset) -> xr.DataArray:
    """The rates of the target words, neuron by neuron."""
    return ds.rate.sel(word=[1, 2])


def of_common(ds: xr.Dataset) -> xr.DataArray:
    """The size of the common word's rate, a mean over the neurons."""
    return abs(ds.rate.sel(word=3).mean("neuron", skipna=False))


@ps.claim(
    "Lemma D.8",
    ps.theory(
        evidence.small_starts,
        expect=ps.Outcome.FAILS,
        because="F(0) is Gaussian of size zeta: the stated scaling without its hidden logarithms is not small",
    ),
    ps.published(
        evidence.figure_1,
        expect=ps.Outcome.FAILS,
        because="Kaiming initialisation gives outputs of size 0.2",
    ),
    ps.beyond(evidence.tiny_starts),
    id="D.8",
)
def outputs_start_near_zero(ds):
    """|F_i(0)| <= 0.01 for all samples; this takes zeta = 0.003 or so."""
    F = outputs_at_start(ds)
    return ps.at_most(F, 0.01, "max |F(0)|") & ps.positive(F, "max |F(0)|")


@ps.claim("Corollary D.2", ps.theory(evidence.large_starts), id="D.2")
def attention_starts_uniform(ds):
    """p(0) = (1 + O(1/m)) / L: m L max |L p - 1| is bounded over m = 256 to 16384, at zeta = 1."""
    spread = ds.width * ds.attrs["length"] * ds.p_spread
    law = ps.scales_like(ds.p_spread, ds.width, -1.0, 0.1, "max |L p - 1|")
    return ps.within(spread, 1.5, 5.0, "m L max |L p - 1|") & law


@ps.claim("Lemma D.7", ps.theory(evidence.small_starts), id="D.7")
def values_start_small(ds):
    """|G(mu)| at time 0 is of order sigma_0 sigma_1 sqrt(m m1): at most 4 times that over all words, and |F_i| at most 4 sqrt(L)
    times that, which is 4 zeta, over all samples."""
    largest = abs(ds.G).max("word", skipna=False)
    outputs = ps.at_most(outputs_at_start(ds) / ds.attrs["zeta"], 4.0, "max |F(0)| / zeta")
    return ps.within(largest, 1.5, 4.0, "max |G(0)| / (sigma_0 sigma_1 sqrt(m m1))") & outputs


_NARROW = (
    "different neurons overlap by sqrt(m1 / m): rates spread by 2.3 sqrt(m1 / m) around their mean, which F(0) moves by "
    "10% or more, so that some leave the range at m = 256 in every draw and at m = 16 m1 = 1024 in some"
)


@ps.claim(
    "Lemma 4.1 (E.4), neuron by neuron",
    ps.theory(evidence.wide_starts),
    ps.beyond(evidence.narrow_starts, expect=ps.Outcome.FAILS, because=_NARROW),
    id="L4.1",
)
def every_neuron_aligns_with_the_targets(ds):
    """The rate of every neuron's value of mu_1 and mu_2 at time 0 is Theta((sigma_0^2 + sigma_1^2) m): between 0.3 and 1.9
    of 1/6 of that if m >= 64 m1. The constant is 1/6; the proof has 1/3."""
    mean = ps.within(
        of_targets(ds).mean(("neuron", "seed", "word"), skipna=False), 0.85, 1.15, "mean rate"
    )
    others = ps.at_most(of_common(ds), 0.5, "rate of G(mu_3)")
    return ps.within(of_targets(ds), 0.3, 1.9, "rate of a neuron") & mean & others


@ps.claim(
    "Lemma 4.1 (E.4), summed over the neurons",
    ps.theory(evidence.small_starts),
    ps.beyond(
        evidence.large_starts,
        expect=ps.Outcome.FAILS,
        because="at zeta = 1 the outputs F(0) are of size 2 and move the derivatives of the loss: 0.35 to 2.2",
    ),
    id="L4.1-sum",
)
def the_mlp_aligns_with_the_targets(ds):
    """The rate of G(mu_1) and G(mu_2) at time 0 is (sigma_0^2 + sigma_1^2) m m1 / 6 within 25%, at every width."""
    others = ps.at_most(of_common(ds), 0.5, "rate of G(mu_3)")
    return ps.within(of_targets(ds).mean("neuron", skipna=False), 0.75, 1.25, "rate of G") & others


@ps.claim(
    "Lemma 4.2 (E.16), smallness",
    ps.theory(
        evidence.small_starts,
        expect=ps.Outcome.FAILS,
        because="the rate is a Gaussian of size zeta, since F(0) is: 0.18 in one of twelve draws at zeta = 0.1",
    ),
    ps.beyond(evidence.tiny_starts),
    id="L4.2",
)
def the_common_word_starts_slowly(ds):
    """The rate of G(mu_3) at time 0 is at most a tenth of that of the target words."""
    targets = of_targets(ds).mean(("neuron", "word"), skipna=False)
    return ps.at_most(of_common(ds), 0.1, "rate of G(mu_3)") & ps.within(
        targets, 0.75, 1.25, "rate of targets"
    )


@ps.claim(
    "Lemma 4.2 (E.16)",
    ps.theory(evidence.small_starts),
    ps.beyond(evidence.large_starts),
    id="L4.2-bound",
)
def the_common_word_starts_as_fast_as_outputs_are_large(ds):
    """The rate of G(mu_3) at time 0 is at most 1.5 (sigma_0^2 + sigma_1^2) m m1 / 6 times the largest output |F_i(0)|."""
    ratio = of_common(ds) / outputs_at_start(ds)
    spread = ps.at_least(
        ratio.max(skipna=False) - ratio.min(skipna=False), 0.3, "its spread over draws"
    )
    return ps.at_most(ratio, 1.5, "rate of G(mu_3) / max |F(0)|") & spread


@ps.claim("Lemma E.6, Theorem E.15", ps.theory(evidence.small_starts), id="E.6")
def random_words_start_slower_by_n(ds):
    """The rate of an irrelevant word's value at time 0 is 3/n of that of the target words, up to a factor 1.5."""
    random = abs(ds.rate.sel(word=slice(4, None)).mean("neuron", skipna=False)).max(
        "word", skipna=False
    )
    share = 3 / ds.attrs["samples"]
    return ps.within(random, share / 1.5, 1.5 * share, "largest rate of an irrelevant word")


claims = (
    outputs_start_near_zero,
    attention_starts_uniform,
    values_start_small,
    every_neuron_aligns_with_the_targets,
    the_mlp_aligns_with_the_targets,
    the_common_word_starts_slowly,
    the_common_word_starts_as_fast_as_outputs_are_large,
    random_words_start_slower_by_n,
)
