"""For every claim, evidence on which it must not hold; and, where none of its rows is expected to hold, made-up
evidence on which it does, so that the failure found is one that the check can tell from success."""

import numpy as np
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
frozen_lower = every(
    lambda ds: ds.assign(loss=ds.loss.where(ds.attention == 1.0, 0.9 * ds.loss)), "frozen is better"
)
frozen_far = every(
    lambda ds: ds.assign(loss=ds.loss.where(ds.attention == 1.0, 1.1 * ds.loss)), "frozen * 1.1"
)
frozen_same = every(
    lambda ds: ds.assign(loss=ds.loss.sel(attention=1.0, drop=True) + 0 * ds.loss), "frozen is same"
)
one_target_right = every(
    lambda ds: ds.assign(
        test_F=xr.where(ds["type"] == 2, -abs(ds.test_F), ds.test_F).transpose(*ds.test_F.dims)
    ),
    "one target is right",
)
one_width = every(lambda ds: ds.assign(rate_mean=0 * ds.rate_mean + 0.3), "twice the rate")


start_shrinks = every(lambda ds: ds.assign(F=ds.F * spec_of(ds).zeta ** 2), "F falls")
no_power = every(lambda ds: ds.assign(loss=ds.loss ** (1 / spec_of(ds).width)), "no power")
read_out_grows = every(lambda ds: ds.assign(beta=ds.beta * (1 + ds.s)), "beta grows")
read_out_grows_with_width = every(
    lambda ds: ds.assign(beta=ds.beta * np.exp(0.02 * ds.s * np.log(spec_of(ds).width))),
    "beta grows with m",
)
first_target_faster = every(
    lambda ds: ds.assign(
        Gdot=(ds.Gdot * xr.where(ds.word == 1, float(spec_of(ds).width), 1.0)).transpose(
            *ds.Gdot.dims
        )
    ),
    "one target is faster",
)


def _apart(ds: xr.Dataset) -> xr.Dataset:
    factors = np.linspace(1, spec_of(ds).width / 64, ds.sizes["sample"])
    return ds.assign(margin=ds.margin * factors)


def _one_larger(ds: xr.Dataset) -> xr.Dataset:
    larger = xr.where(ds["type"] == 2, 5 * ds.gsum, ds.gsum)
    return ds.assign(gsum=larger.transpose(*ds.gsum.dims))


margins_apart = every(_apart, "margins apart")
one_type_larger = every(_one_larger, "type 2 * 5")


def grown(name: str, power: float = 1.0) -> Change:
    """An observable that grows with the axis of a table, or with the width of a run."""

    def grow(ds: xr.Dataset) -> xr.Dataset:
        axis = next((a for a in ("width", "samples") if a in ds.dims), None)
        if axis is not None:
            return ds.assign({name: ds[name] * ds[axis] ** power})
        if "zeta" in ds.dims:
            return ds.assign({name: ds[name] * ds.zeta**-power})
        return ds.assign({name: ds[name] * float(spec_of(ds).width) ** power})

    return every(grow, f"{name} grows")


def slower(name: str) -> Change:
    """An observable that falls to nothing in wide networks."""
    return grown(name, -1.0)


def everywhere(name: str, factor: float) -> Change:
    """An observable times a factor in all datasets."""
    return every(lambda ds: ds.assign({name: factor * ds[name]}), f"{name} * {factor:g} in all")


def common_raised(by: float) -> Change:
    """The value of the common word raised, in all datasets."""

    def raise_it(ds: xr.Dataset) -> xr.Dataset:
        return ds.assign(G=xr.where(ds.word == 3, ds.G + by, ds.G).transpose(*ds.G.dims))

    return every(raise_it, f"common word + {by:g}")


def bounded(name: str, *more: Change) -> list[Change]:
    """Of a statement that something does not grow."""
    return [grown(name), lost(name), *more]


same_motion = [shifted("G", 1e-5), scaled("beta", 1.0001), flipped("C"), shuffled, lost("A")]
unlearned = backwards("loss", "time")

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "appC-closed": same_motion,
    "lemC.1-C.4-gradient": [shifted("error", 1e-9), scaled("size", 0.0), lost("error")],
    "ours-R2": same_motion,
    "ours-R2-descent": [shifted("G", 1e-8), scaled("beta", 1.00001), flipped("C"), shuffled],
    "ours-R3": [shifted("loss", 1e-6), scaled("C", 1.1), flipped("test_F"), lost("gsum")],
    "ours-conserved": [shifted("drift", 1e-9), scaled("A_change", 0.0), lost("drift")],
    "ours-casimirs": [drifting, scaled("A_change", 0.0), backwards("beta", "time"), lost("casimir")],
    "ours-violation": [shifted("violation_error", 1e-9), scaled("violation", 0.0), lost("violation")],
    "ours-phase1-universal": [scaled("s", 1.02), shifted("margin_min", -0.05), flipped("Gdot")],
    "lemD.1-keys-queries": [scaled("D1", 2.0), scaled("D1", 0.0), lost("D1")],
    "corD.2-uniform-attention": bounded("p_spread", scaled("p_spread", 0.0)),
    "lemD.3-values-neurons": [scaled("D3", 2.0), scaled("D3", 0.0), lost("D3")],
    "lemD.4-mixed-values": [scaled("D4", 2.0), scaled("D4", 0.0), lost("D4")],
    "corD.5-neuron-outputs": [scaled("D5", 2.0), scaled("D5", 0.0), lost("D5")],
    "corD.5-corrected": [scaled("D5", 2.0), scaled("D5", 0.0), lost("D5")],
    "lemD.6-signs": [scaled("D6", 10.0), scaled("D6", 0.0), lost("D6")],
    "lemD.7-values": bounded("G", scaled("G", 0.0)),
    "lemD.8-bound": [scaled("D8", 5.0), scaled("D8", 0.0), lost("D8")],
    "lemD.8-0.01": [scaled("F", 100.0), scaled("F", 0.0), lost("F")],
    "ours-start-size": [powered("F", 1.5), scaled("F", 0.0), lost("F")],
    "lem4.1-neurons": [grown("rate_high"), flipped("rate_low"), lost("rate_low")],
    "sec4.1-mlp-aligns": [grown("rate_mean"), slower("rate_mean"), lost("rate_mean")],
    "lemE.4-constant": [scaled("rate_mean", 2.0), scaled("rate_mean", 0.5), one_width],
    "lem4.2-bound": bounded("L42"),
    "lemE.16-bound": bounded("E16"),
    "lem4.2-much-smaller": [grown("rate_common", 1.5), flipped("rate_mean"), lost("rate_common")],
    "propE.5-neurons": [scaled("E5_neurons", 20.0), lost("E5_neurons")],
    "propE.5-values": [scaled("E5_values", 100.0), lost("E5_values")],
    "lemE.6-irrelevant": bounded("E6"),
    "ours-lemE.6-constant": [scaled("rate_random", 3.0), scaled("rate_random", 0.3), lost("rate_random")],
    "propE.22-products": [grown("E22_own"), grown("E22_cross"), lost("E22_own")],
    "thm3.1-i-aligned": [flipped("G"), slower("G"), common_raised(9.0), unlearned, lost("G")],
    "thm3.1-ii-right": [flipped("margin_min"), slower("margin_min"), lost("margin_min")],
    "thm3.1-T1": [grown("t"), flipped("margin_min"), lost("t")],
    "ours-T1-natural": [shifted("margin_min", -1.0), flipped("margin_min"), lost("margin_min")],
    "thm3.1-iii-unmoved": [grown("N_change"), grown("K_change"), grown("S_change"), lost("Q_change")],
    "thm3.1-iii-close": [grown("A_change", 1.1), lost("A_change")],
    "thm3.1-iv-loss": [grown("loss"), slower("loss"), lost("loss")],
    "lem4.3-overtakes": [flipped("Gdot"), backwards("Gdot", "word"), lost("Gdot")],
    "thmE.19-rates": [flipped("Gdot"), slower("Gdot"), lost("Gdot")],
    "propE.3-softmax": [grown("p_dev", 2.0), lost("p_dev")],
    "corE.24-softmax": [grown("p_dev"), lost("p_dev")],
    "lemE.7-outputs": bounded("U_output_change"),
    "corE.10-values": bounded("U_cross_values"),
    "lemE.11-neurons": bounded("U_cross_neurons"),
    "propE.12-neurons": bounded("N_change"),
    "thmE.14-main": [grown("U_norms"), slower("U_norms"), flipped("U_norms"), lost("U_norms")],
    "thmE.14-error": bounded("U_cross_neurons"),
    "thmE.15-irrelevant": bounded("U_rate_random"),
    "lemE.17-common": bounded("U_rate_common"),
    "corE.20-margins": [grown("t"), flipped("margin_min"), lost("t")],
    "propE.21-balance": [start_shrinks, lost("F")],
    "thmE.26-values": bounded("U_change"),
    "thmE.26-irrelevant": bounded("U_change_random"),
    "thmE.26-attention": [grown("S_change"), grown("K_change", 2.0), lost("Q_change")],
    "thmE.27-end": [grown("margin"), slower("G"), flipped("G"), lost("beta")],
    "thmE.27-irrelevant": bounded("G"),
    "thm3.2-i-scores": [flipped("Sdot"), backwards("Sdot", "key"), unlearned, lost("Sdot")],
    "thm3.2-ii-overlaps": [flipped("Adot"), backwards("Adot", "key"), unlearned, lost("Adot")],
    "thm3.2-iii-targets": [slower("G"), flipped("G"), lost("G")],
    "thm3.2-iii-common": [slower("G"), flipped("G"), common_raised(99.0), lost("G")],
    "thm3.2-iv-both": [slower("G"), common_raised(-99.0), lost("G")],
    "thm3.2-iv-one": [slower("G"), common_raised(99.0), lost("G")],
    "ours-first-right": [common_raised(-2.0), flipped("G"), lost("G")],
    "lem4.4-balance": [everywhere("balance", 1e6), shifted("balance", 0.5), unlearned, lost("balance")],
    "ours-balance-end": [shifted("balance", 0.01), unlearned, lost("balance")],
    "lem4.5-ratio": [scaled("R", 0.7), scaled("R2", 2.0), flipped("R"), lost("R2")],
    "lem4.5-sums": [backwards("gsum", "type"), lost("gsum")],
    "lemF.6-targets": [first_target_faster, lost("Gdot"), unlearned],
    "corF.2-within-types": [margins_apart, lost("margin")],
    "lemF.3-order": [backwards("gsum", "type"), lost("gsum")],
    "defF.1-ratio": [one_type_larger, lost("gsum")],
    "defF.1-values": bounded("G"),
    "lemF.4-identity": [scaled("betadot", 1.001), flipped("betadot_outputs"), lost("betadot")],
    "lemF.4-grows": [flipped("betadot"), unlearned, lost("betadot")],
    "corF.7-ratios": [backwards("G", "word"), common_raised(99.0), lost("G")],
    "thmF.8-loss": [powered("loss", 0.7), powered("loss", 1.4), slower("loss"), lost("loss")],
    "ours-loss-exponent": [powered("loss", 1.5), unlearned, lost("loss")],
    "corF.9-growth": [grown("beta"), lost("beta")],
    "lemF.10-read-out": [read_out_grows_with_width, lost("beta")],
    "ours-read-out-width": [read_out_grows, lost("beta")],
    "ours-read-out-law": [powered("beta", 2.0), backwards("beta", "time"), lost("beta")],
    "lemF.11-identity": [scaled("Adot", 1.001), flipped("c"), lost("G")],
    "lemF.11-bound": bounded("A_change"),
    "corF.12-values": [grown("value_part", 2.0), lost("value_part")],
    "lemF.14-values": bounded("G"),
    "corF.15-contributions": [grown("F_random"), lost("F_random")],
    "ours-irrelevant-law": [scaled("F_random", 2.0), scaled("F_random", 0.5), flipped("F_random")],
    "corF.18-softmax": [grown("softmax_part", 3.0), lost("softmax_part")],
    "thm3.3-i-train": [no_power, unlearned, lost("loss")],
    "thm3.3-i-test": [backwards("test_loss", "time"), grown("test_loss", 9.0), lost("test_loss")],
    "ours-late-constants": [scaled("loss", 1.2), scaled("R", 1.05), flipped("Gdot"), lost("R")],
    "ours-late-limit": [scaled("R", 1.2), lost("R"), unlearned],
    "ours-many-samples": [scaled("R", 1.001), scaled("loss", 1.001), scaled("Gdot", 1.001)],
    "ours-test-exponent": [powered("test_loss", 1.2), powered("loss", 0.9), lost("test_loss")],
    "ours-threshold": [flipped("test_F"), one_target_right, lost("test_F")],
    "ours-threshold-law": [flipped("test_F"), scaled("test_F", 1.01), scaled("R", 1.001)],
    "ours-threshold-random": [flipped("test_F"), shuffled, lost("test_F")],
    "ours-population": [scaled("R", 1.01), scaled("loss", 0.99), flipped("G"), backwards("Gdot", "word")],
    "thm3.3-ii-signs": [flipped("C"), backwards("C", "key"), unlearned, lost("C")],
    "thm3.3-ii-order": [grown("C"), slower("C"), flipped("C"), lost("C")],
    "thm3.3-ii-power": [grown("C"), powered("C", 1.5), flipped("C"), lost("C")],
    "thm3.3-ii-Tstar": [grown("C"), slower("C"), flipped("C"), lost("C")],
    "thm3.3-ii-logs": [grown("C"), slower("C"), flipped("C"), lost("C")],
    "lemF.16-rates": [grown("Sdot"), slower("Sdot"), flipped("Sdot"), lost("Sdot")],
    "thm3.3-ii-irrelevant": bounded("C_random"),
    "thm3.3-ii-smaller": [grown("C_random"), flipped("C_random"), lost("C_random")],
    "ours-scores-ratio": [flipped("C"), backwards("C", "key"), lost("C")],
    "corF.17-printed": [slower("p_dev"), lost("p_dev")],
    "corF.17-corrected": [grown("p_dev"), slower("p_dev"), lost("p_dev")],
    "corF.17-bound": [grown("p_dev", 5.0), lost("p_dev")],
    "lemF.19-keys-queries": [grown("K_change"), flipped("Q_change"), lost("K_change")],
    "ours-scores-silent": [flipped("C"), backwards("C", "key"), lost("C")],
    "ours-C33-sign": [backwards("C", "key"), unlearned, lost("C")],
    "sec3-jointly": [frozen_lower, frozen_same, lost("loss")],
    "ours-attention-irrelevant": [frozen_far, lost("loss")],
    "ours-attention-matters": [backwards("loss", "attention"), flipped("C"), lost("loss")],
    "fig1a": [flipped("C"), shuffled, backwards("C", "key"), lost("C")],
    "fig1b": [backwards("loss_type", "time"), flipped("loss_type"), shuffled, lost("loss_type")],
    "ours-fig1-literal": [scaled("C", 100.0), shifted("margin_min", -1e6), lost("C")],
    "ours-fig1-flow": [scaled("loss_type", 1.01), delayed("loss_type"), lost("loss_type")],
    "ours-fig1-test": [scaled("loss", 100.0), lost("G_all")],
    "ours-fig1-distinct": [backwards("c", "word"), shifted("margin_min", -1e6), lost("c")],
    "ours-definitions": [scaled("loss", 1.001), scaled("Gdot", 1.001), scaled("tau", 1.001), lost("S_all")],
    "small-run-numbers": [scaled("M", 1.001), scaled("A_change", 1.001), lost("K")],
    "test-loss-numbers": [scaled("test_loss", 1.01), scaled("loss", 2.0), lost("loss")],
    "fig1-numbers": [scaled("s", 1.5), backwards("beta", "time"), scaled("loss", 3.0), lost("C")],
    "fig1-test-numbers": [scaled("G_all", 0.5), flipped("G_all"), lost("G_all")],
}  # fmt: skip


def _held_to_the_bound(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(D5=ds.D5 / 2)


def _as_printed(ds: xr.Dataset) -> xr.Dataset:
    """Scores of the printed order at all times, from a start at 0."""
    spec = spec_of(ds)
    values = spec.scale_0**2 * spec.width
    read_out = spec.scale_1**2 * spec.width * spec.output_norm
    order = values / spec.width**0.5 / read_out * (1 / spec.length + spec.width**-0.5)
    signs = xr.where(ds.key == 3, -1.0, 1.0) * xr.ones_like(ds.C)
    moved = order * np.sqrt(spec.width) / spec.length
    return ds.assign(C=signs * order, p_dev=0 * ds.p_dev + moved)


def _printed_weights(ds: xr.Dataset) -> xr.Dataset:
    spec = spec_of(ds)
    order = spec.scale_0**2 * spec.width**0.5 / (spec.scale_1**2 * spec.width * spec.output_norm)
    return ds.assign(p_dev=order + 0 * ds.p_dev)


REPAIRED: dict[str, Change] = {
    "corD.5-neuron-outputs": every(_held_to_the_bound, "half as large"),
    "corF.15-contributions": every(
        lambda ds: ds.assign(F_random=1.0 + 0 * ds.F_random), "bounded contribution"
    ),
    "thm3.3-ii-Tstar": every(_as_printed, "as printed"),
    "corF.17-printed": every(_printed_weights, "as printed"),
    "thmE.26-irrelevant": every(
        lambda ds: ds.assign(U_change_random=ds.U_change_random / spec_of(ds).width ** 0.5),
        "bounded",
    ),
}
