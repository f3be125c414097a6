"""Section 8: Figures 4 and 5, training on Syn-Small."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import over_seeds
from . import evidence, released
from .bounds import kept, last_digit


@claim(
    "Figure 4, released log",
    on("training", evidence.figure_4),
    id="fig4-log",
    kind="released",
    tex=r"L(0), L(2), \dots, L(98)",
    page="Section 8, Figure 4, left; the authors' log of its run",
)
def the_loss_falls_as_in_the_released_log(run):
    """Syn-Small, SGD with momentum 0.9, both rates 1: mini-batch losses at iterations 0, 2, 4,
    6, 8, 10 are those of the released log within 10%, at 20, 40 and 98 within a factor 2.5."""
    log = released.FIGURE_4
    found = run.batch_loss.sel(time=[t + 1 for t in log]).values
    ratio = found / np.array(list(log.values()))
    outputs = ps.derived(float(np.log(34)), "the softmax over 34 outputs at zero logits")
    draws = ps.chosen(0.1, "one run each, with draws of its own")
    low = ps.chosen(0.4, "rare misses of one run each")
    high = ps.chosen(2.5, "rare misses of one run each")
    exact = ps.derived(1e-12, "rounding")
    return (
        ps.agree(found[0], outputs, atol=exact, what="loss of the first batch")
        & ps.agree(ratio[:6], 1.0, rtol=draws, what="loss / log, up to iteration 10")
        & ps.within(ratio[6:], low, high, "loss / log, later")
        & ps.reached(run)
    )


def averages(sweep: xr.Dataset) -> dict[str, tuple[xr.DataArray, xr.DataArray]]:
    """Mean and standard error over seeds of what Figure 4 shows, at the end."""
    end = sweep.isel(time=-1).mean("class")
    return {
        "top": over_seeds(end.c_dt.isel(distinct_token=-1)),
        "common": over_seeds(end.ct_mass),
        "entropy": over_seeds(end.dt_entropy),
        "loss": over_seeds(sweep.batch_loss.sel(time=99)),
    }


@claim(
    "Figure 4",
    on("training", evidence.figure_4_seeds),
    id="fig4",
    kind="figure",
    tex=r"c_n \text{ sparse};\ \eta_Y = 10: L \downarrow,\ H(c_n) \uparrow",
    page="Section 8, caption of Figure 4: attention becomes sparse and concentrated on the highest P(l|n); with larger "
    "eta_Y convergence becomes faster but the final attention maps are less sparse",
)
def a_faster_decoder_leaves_attention_denser(sweep):
    """After 100 updates of Syn-Small (8 seeds) the most frequent distinct token has more attention, and
    the entropy among distinct tokens is lower, than at the start; with eta_Y = 10 in place of 1 the loss
    is smaller and the entropy higher. All by more than three standard errors."""
    found = averages(sweep)
    start = sweep.isel(time=0).mean(("class", "seed"))
    entropy, of_entropy = found["entropy"]
    top, of_top = found["top"]
    loss, of_loss = found["loss"]
    error = 3 * np.sqrt((of_entropy**2).sum("eta_Y"))
    denser = entropy.sel(eta_Y=10.0) - entropy.sel(eta_Y=1.0) - error
    faster = loss.sel(eta_Y=1.0) - loss.sel(eta_Y=10.0) - 3 * np.sqrt((of_loss**2).sum("eta_Y"))
    sharper = top - start.c_dt.isel(distinct_token=-1) - 3 * of_top
    sparser = start.dt_entropy - entropy - 3 * of_entropy
    return (
        ps.positive(sharper, "attention gained by the top token, less 3 errors")
        & ps.positive(sparser, "entropy lost, less 3 errors")
        & ps.positive(denser, "entropy at (10, 1) less that at (1, 1), less 3 errors")
        & ps.positive(faster, "loss at (1, 1) less that at (10, 1), less 3 errors")
        & ps.guard(ps.positive(loss, "loss"))
        & ps.reached(sweep)
    )


@claim(
    "Figure 4: numbers (ours)",
    on("training", evidence.figure_4_seeds),
    id="ours-fig4-numbers",
    aliases=("C27",),
    kind="regression",
    whose="ours",
    tex=r"0.19, 0.38, 1.93;\ 0.103, 0.542, 2.065",
    page="Section 8, Figure 4",
)
def attention_of_figure_4(sweep):
    """After 100 updates (mean over 8 seeds): at rates (1, 1) the top distinct token has 0.19 of
    the attention, common ones 0.38, entropy among distinct ones 1.93; at (10, 1) 0.103, 0.542,
    2.065."""
    found = averages(sweep)
    draws = kept(0.02)
    more = kept(0.03)
    less = kept(0.015)
    start = sweep.dt_entropy.isel(time=0)
    return (
        ps.agree(found["top"][0], np.array([0.19, 0.103]), atol=draws, what="on the top token")
        & ps.agree(found["common"][0], np.array([0.38, 0.542]), atol=more, what="on common tokens")
        & ps.agree(found["entropy"][0], np.array([1.93, 2.065]), atol=less, what="entropy")
        & ps.agree(start, 2.151, atol=last_digit(1e-3), what="entropy at the start")
        & ps.reached(sweep)
    )


def favourite(run: xr.Dataset) -> xr.DataArray:
    """The number (1 to D) of the distinct token that the first class looks at most."""
    c = run.c_dt.isel({"class": 0})
    return (c.argmax("distinct_token", skipna=False) + 1.0).where(c.notnull().all("distinct_token"))


def is_attention(run: xr.Dataset) -> ps.Verdict:
    """What is looked at is a share of the attention."""
    return ps.guard(ps.positive(run.c_dt.isel(time=0), "attention at the start")) & ps.guard(
        ps.at_most(run.c_dt.isel(time=0), ps.derived(1.0, "a share"), "attention at the start")
    )


@claim(
    "Figure 5",
    on("training", evidence.figure_5),
    id="fig5",
    kind="figure",
    tex=r"\arg\max_l c_{l|1}(\eta = 0.1) \ne \arg\max_l c_{l|1}(\eta = 0.5) \ne \arg\max_l c_{l|1}(\eta = 1)",
    page="Section 8, caption of Figure 5: with different learning rate Adam steers self-attention towards different "
    "subsets of distinct tokens",
)
def adam_chooses_its_token_by_the_rate(sweep):
    """After 100 updates of Adam on Syn-Small the favoured distinct token of the first class is another at
    each of the rates 0.1, 0.5, 1: the more frequent, the larger the rate."""
    found = favourite(sweep).isel(time=-1)
    return (
        ps.increasing(found, "favoured token", along="eta_Z")
        & is_attention(sweep)
        & ps.reached(sweep)
    )


@claim(
    "Figure 5: numbers (ours)",
    on("training", evidence.figure_5, evidence.figure_5_endless),
    id="ours-fig5-numbers",
    aliases=("C28",),
    kind="regression",
    whose="ours",
    tex=r"l = 3 \text{ or } 4, 6 \text{ or } 7, 10",
    page="Section 8, Figure 5",
)
def tokens_that_adam_chooses(finite, endless):
    """After 100 updates of Adam at rates 0.1, 0.5, 1 the favoured distinct token of Syn-Small is
    number 3 or 4, 6 or 7, and 10 of 10, in order of frequency; so it is for endless sequences,
    without noise. Common tokens keep 0.30, 0.007, less than 1e-4."""
    found = [favourite(run).isel(time=-1) for run in (finite, endless)]
    common = finite.ct_mass.isel({"time": -1, "class": 0})
    off = abs(common - np.array([0.3, 0.007, 0.0]))
    low = np.array([3.0, 6.0, 10.0])
    high = np.array([4.0, 7.0, 10.0])
    start = endless.ct_mass.isel({"time": 0, "class": 0})
    digit = last_digit(1e-3)
    return (
        ps.all_of(ps.within(x, low, high, "favoured token") for x in found)
        & ps.at_most(off, np.array([0.06, 0.003, 1e-4]), "attention on common tokens, off by")
        & ps.agree(start, 0.6452, atol=digit, what="attention on common tokens at the start")
        & ps.reached(finite)
        & ps.reached(endless)
    )


@claim(
    "Figure 5, left, later (ours)",
    on("training", evidence.figure_5_later),
    id="ours-fig5-later",
    aliases=("C28-later",),
    kind="regression",
    whose="ours",
    tex=r"\arg\max_l c_{l|1} = 3 \to 1",
    page="Section 8, Figure 5",
)
def adam_at_a_small_rate_has_not_settled(run):
    """At rate 0.1 the favoured token is number 3 after 100 updates and the rarest of all, number
    1, after 1000; common tokens have 0.6452 of the attention at the start."""
    found = favourite(run).sel(time=[100, 1000]).values
    start = run.ct_mass.isel({"time": 0, "class": 0})
    digit = last_digit(1e-3)
    return (
        ps.agree(found, np.array([3.0, 1.0]), what="favoured token")
        & ps.agree(start, 0.6452, atol=digit, what="attention on common tokens at the start")
        & ps.reached(run)
    )


claims = (
    the_loss_falls_as_in_the_released_log,
    a_faster_decoder_leaves_attention_denser,
    attention_of_figure_4,
    adam_chooses_its_token_by_the_rate,
    tokens_that_adam_chooses,
    adam_at_a_small_rate_has_not_settled,
)
