"""For every claim, evidence on which it must not hold; and, where none of its regimes is expected to hold, made-up
evidence on which it does, so that the failure found is one that the check can tell from success."""

import xarray as xr

from phasescope.studies.co_occurrence.phases import spec_of
from phasescope.testing.spoiling import (
    Change,
    backwards,
    delayed,
    every,
    flipped,
    last,
    lost,
    powered,
    scaled,
    shifted,
    shuffled,
)

drifting = last(lambda ds: ds.assign(casimir=ds.casimir * (1 + 1e-6 * ds.s)), "casimir drifts")
growing = last(lambda ds: ds.assign(beta=ds.beta * (1 + ds.s / 10)), "beta grows")
more_random = last(lambda ds: ds.assign(F_random=ds.F_random * (1 + ds.s)), "F_random grows")
other_word = last(
    lambda ds: ds.assign(rate=ds.rate.roll(word=2, roll_coords=False)), "another word's rate"
)


def frozen_loss(factor: float):
    """The loss where the attention is frozen, times a factor."""
    return lambda ds: ds.assign(loss=ds.loss.where(ds.attention == 1.0, factor * ds.loss))


same_motion = [shifted("G", 1e-5), scaled("beta", 1.0001), flipped("C"), shuffled, lost("A")]

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "App.C": same_motion,
    "C.1": [shifted("error", 1e-9), scaled("size", 0.0), lost("error")],
    "R2": same_motion,
    "R2-descent": [shifted("G", 1e-8), scaled("beta", 1.00001), flipped("C"), shuffled],
    "R3": [shifted("loss", 1e-6), scaled("C", 1.1), flipped("test_F"), lost("gsum")],
    "conserved": [shifted("drift", 1e-9), scaled("A_change", 0.0), lost("drift")],
    "casimirs": [drifting, scaled("A_change", 0.0), backwards("beta", "time"), lost("casimir")],
    "violation": [shifted("violation_error", 1e-9), scaled("violation", 0.0), shifted("violation", 1e-9), lost("violation")],
    "R4": [scaled("s", 1.02), shifted("margin_min", -0.05), flipped("Gdot"), lost("Gdot")],
    "D.8": [scaled("F", 3.0), scaled("F", 0.0), lost("F")],
    "D.2": [scaled("p_spread", 3.0), powered("p_spread", 1.3), lost("p_spread")],
    "D.7": [scaled("G", 2.0), scaled("G", 0.1), lost("G")],
    "L4.1": [scaled("rate", 2.0), scaled("rate", 0.5), flipped("rate"), lost("rate")],
    "L4.1-sum": [scaled("rate", 2.0), scaled("rate", 0.5), flipped("rate"), lost("rate")],
    "L4.2": [scaled("rate", 2.0), other_word, flipped("rate"), lost("rate")],
    "L4.2-bound": [scaled("F", 0.1), scaled("rate", 10.0), scaled("rate", 0.0), lost("F")],
    "E.6": [scaled("rate", 3.0), scaled("rate", 0.3), lost("rate")],
    "T3.1-i": [flipped("G"), scaled("G", 0.3), scaled("G", 3.0), lost("margin_min")],
    "T3.1-ii": [scaled("s", 1.6), flipped("margin_min"), shifted("margin_min", 5.0), lost("margin_min")],
    "T3.1-ii-scale": [scaled("t", 5.0), flipped("margin_min"), lost("t")],
    "T3.1-iii": [scaled("N_change", 5.0), scaled("K_change", 10.0), scaled("S_change", 5.0), lost("Q_change")],
    "T3.1-iii-relative": [scaled("A_change", 1e3), scaled("A_change", 0.0), lost("A_change")],
    "T3.1-iv": [scaled("loss", 2.0), scaled("loss", 0.5), lost("loss")],
    "L4.3": [scaled("R", 0.5), scaled("R2", 2.0), shifted("R", 1.0), lost("Gdot")],
    "T3.2-i": [flipped("Sdot"), backwards("Sdot", "key"), flipped("margin_min"), lost("Sdot")],
    "T3.2-ii": [flipped("Adot"), backwards("Adot", "key"), lost("Adot")],
    "T3.2-iii": [scaled("G", 0.5), flipped("G"), lost("G")],
    "T3.2-iv": [flipped("G"), shifted("G", 5.0), lost("G")],
    "T3.2-iv-late": [flipped("G"), shifted("G", 1.0), lost("G")],
    "L4.4": [shifted("balance", 0.2), backwards("loss", "time"), lost("balance")],
    "L4.4-end": [shifted("balance", 0.01), backwards("loss", "time"), lost("balance")],
    "L4.5": [scaled("R", 0.7), scaled("R2", 2.0), flipped("R"), lost("R2")],
    "Eq.5": [scaled("betadot", 1.001), flipped("betadot_outputs"), lost("betadot")],
    "F.10": [growing, backwards("beta", "time"), lost("beta")],
    "F.10-law": [powered("beta", 2.0), backwards("beta", "time"), lost("beta")],
    "F.12": [scaled("value_share", 100.0), backwards("value_share", "time"), lost("value_share")],
    "F.14": [more_random, lost("F_random")],
    "F.14-law": [scaled("F_random", 2.0), scaled("F_random", 0.5), flipped("F_random"), lost("F_random")],
    "F.17": [scaled("p_dev", 1e7), scaled("p_dev", 0.0), shifted("p_dev", 1e-6), lost("p_dev")],
    "F.19": [scaled("K_change", 10.0), flipped("Q_change"), lost("K_change")],
    "F.8": [powered("loss", 0.9), powered("loss", 1.1), scaled("loss", 100.0), lost("loss")],
    "T3.3-i-train": [scaled("loss", 100.0), backwards("loss", "time"), lost("loss")],
    "X1": [scaled("loss", 1.2), scaled("R", 1.05), flipped("Gdot"), lost("R")],
    "X1-limit": [scaled("R", 1.001), scaled("loss", 1.001), scaled("Gdot", 1.001), lost("loss")],
    "T3.3-i-test": [backwards("test_loss", "time"), scaled("test_loss", 100.0), lost("test_loss")],
    "T3.3-i-exponent": [powered("test_loss", 1.2), powered("loss", 0.9), lost("test_loss")],
    "T3.3-gap": [scaled("test_loss", 1.01), scaled("loss", 2.0), lost("loss")],
    "X2": [flipped("test_F"), scaled("test_F", 1.01), scaled("R", 1.001), lost("test_F")],
    "R3p": [scaled("R", 1.01), scaled("loss", 0.99), flipped("G"), backwards("Gdot", "word"), lost("Gdot")],
    "X2-random": [flipped("test_F"), scaled("test_F", 2.0), lost("test_F")],
    "T3.3-ii-signs": [flipped("C"), backwards("C", "key"), scaled("C_random", 10.0), lost("C")],
    "T3.3-ii-ratio": [flipped("C"), backwards("C", "key"), lost("C")],
    "T3.3-ii-order": [scaled("C", 1.5), scaled("C", 0.5), lost("C")],
    "T3.3-ii-m": [scaled("C", 10.0), flipped("C"), lost("C")],
    "T3.3-ii-random": [scaled("C_random", 3.0), scaled("C_random", 0.1), lost("C_random")],
    "T3.3-ii-silent": [flipped("C"), backwards("C", "key"), lost("C")],
    "T3.3-ii-n": [backwards("C", "key"), powered("C", 3.0), lost("C")],
    "X3": [last(frozen_loss(0.1), "frozen loss / 10"), backwards("loss", "attention"), lost("loss")],
    "X3-irrelevant": [last(frozen_loss(1.1), "frozen loss * 1.1"), backwards("loss", "attention"), lost("loss")],
    "X3-where": [backwards("loss", "attention"), backwards("loss", "output"), flipped("C"), lost("loss")],
    "Fig1a": [flipped("C"), scaled("C", 0.3), shuffled, lost("C")],
    "Fig1b": [backwards("loss_type", "time"), flipped("loss_type"), scaled("s", 1.3), lost("loss_type")],
    "Fig1-literal": [scaled("F", 10.0), scaled("C", 10.0), shifted("margin_min", -1e6), lost("C")],
    "Fig1-flow": [scaled("loss_type", 1.01), delayed("loss_type"), lost("loss_type")],
    "Fig1-test": [scaled("G_all", 0.5), flipped("G_all"), scaled("loss", 2.0), lost("G_all")],
    "Fig1-distinct": [shifted("balance", 0.1), backwards("c", "word"), shifted("margin_min", -1e6), lost("c")],
}  # fmt: skip


def _right_from_the_first(ds: xr.Dataset) -> xr.Dataset:
    """The common word far enough down that one target word is never enough."""
    return ds.assign(G=xr.where(ds.word == 3, ds.G - 2.0, ds.G).transpose(*ds.G.dims))


def _by_width(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(C=0 * ds.C + spec_of(ds).width ** -1.5)


REPAIRED: dict[str, Change] = {
    "T3.2-iv": every(_right_from_the_first, "common word lower"),
    "F.14": every(lambda ds: ds.assign(F_random=1.0 + 0 * ds.F_random), "bounded contribution"),
    "T3.3-ii-m": every(_by_width, "m^-3/2"),
    "X3": every(frozen_loss(2.0), "frozen loss * 2"),
}
