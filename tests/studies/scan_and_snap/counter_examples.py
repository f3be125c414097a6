"""For every claim, evidence on which it must not hold; and, where none of its regimes is expected to hold, made-up
evidence on which it does, so that the failure found is one that the check can tell from success."""

import xarray as xr

from phasescope.testing.spoiling import (
    Change,
    backwards,
    every,
    flipped,
    last,
    lost,
    powered,
    scaled,
    shifted,
    shuffled,
    stretched,
    swapped,
)

from .. import made_up_text
from ..made_up_text import late_burst, moving_on, unsettled


def first(change, name: str) -> Change:
    """Spoil the first dataset only."""
    spoil = lambda evidence: [change(evidence[0]), *evidence[1:]]
    spoil.__name__ = name
    return spoil


def start_scaled(name: str, factor: float) -> Change:
    return first(lambda ds: ds.assign({name: factor * ds[name]}), f"first {name}*{factor:g}")


def start_shifted(name: str, by: float) -> Change:
    return first(lambda ds: ds.assign({name: ds[name] + by}), f"first {name}+{by:g}")


def _half_sum(ds: xr.Dataset) -> xr.Dataset:
    """The query's gradient spread over all rows of Z."""
    return ds.assign(by_hand=ds.by_hand + 1e-9)


def _one_rises(ds: xr.Dataset, name: str) -> xr.Dataset:
    """One entry of one lane with the other sign."""
    values = ds[name].values.copy()
    values[(-1,) * values.ndim] *= -1
    return ds.assign({name: ds[name].copy(data=values)})


def one_flipped(name: str) -> Change:
    return last(lambda ds: _one_rises(ds, name), f"one of {name} flipped")


def _bump(ds: xr.Dataset, name: str) -> xr.Dataset:
    """A step back at one record."""
    time = ds.time.values
    middle = ds.time == time[len(time) // 2]
    return ds.assign({name: xr.where(middle, 0.5 * ds[name], ds[name]).transpose(*ds[name].dims)})


def bumped(name: str) -> Change:
    return last(lambda ds: _bump(ds, name), f"{name} steps back once")


flat_in_ratio = every(
    lambda ds: ds.assign(dt_entropy=0 * ds.dt_entropy + ds.dt_entropy.mean("ratio")),
    "flat in the ratio",
)
flat_in_rate = every(
    lambda ds: ds.assign(dt_entropy=0 * ds.dt_entropy + ds.dt_entropy.mean("eta_Z")),
    "flat in eta_Z",
)


def _other_order(ds: xr.Dataset) -> xr.Dataset:
    """The rates, each in another's place."""
    swept = [d for d in ("eta_Y", "eta_Z") if d in ds.dims]
    backward = ds.isel({d: slice(None, None, -1) for d in swept})
    return backward.assign_coords({d: ds[d].values for d in swept})


def exchanged(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """The first two datasets in each other's place."""
    return [evidence[1], evidence[0], *evidence[2:]]


def half_and_half(change: Change, name: str) -> Change:
    """Spoil the first half of the evidence, which is held against the second."""

    def spoil(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
        half = len(evidence) // 2
        return [*change(evidence[:half]), *evidence[half:]]

    spoil.__name__ = name
    return spoil


minus_entropy = every(lambda ds: ds.assign(dt_entropy=-ds.dt_entropy), "-entropy")
half_entropy = every(lambda ds: ds.assign(dt_entropy=0.5 * ds.dt_entropy), "entropy/2")
tight_seeds = every(
    lambda ds: ds.assign(dt_entropy=0.1 * ds.dt_entropy + 0.9 * ds.dt_entropy.mean("seed")),
    "seeds close together",
)
by_rate = last(lambda ds: ds.assign(dt_entropy=ds.dt_entropy * (1 + 1e-3 * ds.eta_Z)), "by rate")
rates_exchanged = every(_other_order, "rates in the other order")
more_with_outputs = last(lambda ds: ds.assign(ahead=ds.ahead * ds.outputs), "ahead by M")
above_at_last = last(
    lambda ds: ds.assign(gain_defect=ds.gain_defect.where(ds.time < ds.time[-1], 1.0)),
    "gain_defect above at last",
)
above_one = last(lambda ds: ds.assign(lag=1.7 - ds.lag), "1.7 - lag")

flat_in_time = last(
    lambda ds: ds.assign(attention_entropy=1.5 + 0 * ds.attention_entropy), "entropy stays"
)

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    # Section 3
    "lem1-gradient": [last(_half_sum, "all rows move"), flipped("by_hand"), scaled("automatic", 2.0), lost("by_hand")],
    "lem2-limit": [powered("rms", 0.05), backwards("bias", "length"), lost("rms")],
    "ours-lem2-rates": [powered("rms", 2.0), powered("bias", 0.5), scaled("bias", 0.1), backwards("bias", "length")],
    "lem18-frequencies": [scaled("off", 3.0), flipped("off"), lost("off")],
    "ours-short-sequences": [start_scaled("z_dt", 0.9), start_shifted("z_dt", 0.1), scaled("z_dt", 1.1), lost("z_dt")],
    "ours-observables": [scaled("c_dt", 1.01), scaled("f_ct", 1.1), scaled("gap_other", 1.01), lost("rho")],
    # Section 4 and Appendix B
    "lem3-eq8": [shifted("Y", 1e-9), scaled("forecast", 2.0), shifted("alone", 1e-9), scaled("overlap", 0.0), lost("Y")],
    "lem3-small": [powered("length", 0.01), backwards("length", "weakness"), flipped("length"), lost("length")],
    "sec4-original-dynamics": [scaled("beta", 2.0), start_scaled("iota", 1.5), lost("beta")],
    "ours-early-force": [scaled("beta", 1.05), backwards("beta", "time"), lost("iota")],
    "ours-own-part": [scaled("iota", 1.01), start_scaled("iota", 0.99), shuffled, lost("iota")],
    "ours-force-law": [scaled("beta", 2.0), scaled("iota", 1.2), backwards("beta", "time"), flipped("beta")],
    "ours-force-strong": [start_scaled("beta", 1.01), scaled("beta", 1.05), lost("iota")],
    "lem5": [shifted("logits", 1e-11), scaled("residual_forecast", 1.001), flipped("logits"), backwards("logits", "step")],
    "rem1": [scaled("over_label", 1.001), scaled("slowed", 0.7), lost("over_label")],
    "rem1-all-labels": [scaled("over_label", 1.001), scaled("slowed", 0.7), lost("over_label")],
    "ours-full-rate": [scaled("over_rest", 1.02), swapped("over_rest", "over_label"), scaled("full", 0.7)],
    "ours-rem1-numbers": [scaled("over_rest", 1.001), scaled("over_label", 1.001), scaled("slowed", 1.001)],
    "lem6": [shifted("closed", 2e-6), scaled("left", 1.001), flipped("solved"), lost("solved")],
    "lem7-a-gap": [flipped("gap"), scaled("gap", 20.0), backwards("gap", "s"), lost("gap")],
    "lem7-b-closes": [flipped("gap"), powered("gap", 0.01), backwards("gap", "s"), lost("gap")],
    "rem2-rate": [flipped("gap"), powered("gap", 2.0), backwards("gap", "s"), lost("gap")],
    "lem7-a-shift": [flipped("ahead"), more_with_outputs, lost("ahead")],
    "rem2-shift": [flipped("ahead"), more_with_outputs, lost("ahead")],
    "ours-gap": [scaled("gap", 1.1), scaled("gap", 0.5), backwards("gap", "s")],
    "fig8": [swapped("steps", "flow"), backwards("flow", "eta_Y"), scaled("steps", 2.0), lost("flow")],
    "ours-fig8-numbers": [scaled("steps", 1.001), scaled("flow", 0.999), swapped("steps", "flow"), backwards("steps", "eta_Y")],
    "lem8-omega1": [powered("omega_1", 2.0), flipped("omega_1"), scaled("left", 2.0), lost("omega_1")],
    "lem8-omega0": [powered("omega_0", 0.5), flipped("omega_0"), scaled("left", 2.0), lost("omega_0")],
    "rem3": [flipped("over_product"), backwards("over_product", "clock"), lost("over_product")],
    "lem9-terms": [flipped("over_product"), flipped("over_outputs"), scaled("linear", 0.1), scaled("frozen", 5.0)],
    "ours-omega1": [scaled("omega_1", 1.01), backwards("omega_1", "outputs"), scaled("left", 2.0)],
    "thm1-b-rise": [backwards("speed", "part"), flipped("speed"), lost("linear")],
    "lem9-decay": [flipped("decay"), backwards("speed", "part"), lost("decay")],
    "thm1-b-decay": [powered("printed", 2.0), backwards("speed", "part"), lost("printed")],
    "ours-speed-peak": [scaled("gamma", 1.1), powered("gamma", 2.0), stretched(2.0), backwards("gamma", "time"), shuffled],
    "ours-speed-numbers": [scaled("gamma", 1.1), powered("gamma", 2.0), stretched(2.0), flipped("gamma")],
    "lem10": [scaled("counts", 2.0), shifted("counts", 1.0), lost("counts")],
    "rem4": [scaled("counts", 2.0), shifted("counts", 1.0), lost("counts")],
    "lem11-growth": [scaled("growth_off", 50.0), shifted("counts", 1.0), lost("growth_off")],
    "lem11-slope": [scaled("slope_off", 2000.0), shifted("counts", 1.0), lost("slope_off")],
    "lem12": [scaled("spread", 50.0), scaled("bound", 0.01), flipped("spread"), shifted("counts", 1.0), lost("spread")],
    "ours-counts": [scaled("spread", 1.1), powered("counts", 2.0), powered("spread", 0.5)],
    "cor1": [powered("clock", 2.0), scaled("residual", 1.01), lost("clock")],
    "ours-residual": [scaled("clock", 1.1), scaled("residual", 1.01), backwards("clock", "epsilon")],
    "ours-residual-numbers": [scaled("clock", 1.1), scaled("residual", 1.01), backwards("clock", "epsilon")],
    "lem13": [scaled("E", 2.0), scaled("lambda_1", 0.5), lost("E")],
    "lem14": [shifted("spectral", 1e-9), scaled("inverse", 1.01), swapped("E", "inverse"), lost("spectral")],
    "lem15": [scaled("lambda_1_inverse", 1.5), scaled("lambda_1", 0.7), lost("lambda_1_inverse")],
    "lem16": [flipped("diagonal"), one_flipped("diagonal"), flipped("E"), lost("diagonal")],
    "lem17": [scaled("inverse", 2.0), flipped("inverse"), lost("inverse")],
    "thm1-beta": [shifted("beta", 1e-7), swapped("corrected", "printed"), flipped("beta")],
    "thm1-beta-printed": [shifted("beta", 0.1), flipped("beta"), scaled("printed", 2.0)],
    "thm1-beta-bound": [shifted("remainder", 0.1), flipped("beta"), lost("remainder")],
    "ours-true-pull": [shifted("found", 1e-9), scaled("forecast", 2.0), lost("found")],
    "thm1-a": [flipped("xi_eff"), one_flipped("xi_eff"), flipped("z_dt"), lost("xi_eff")],
    "ours-xi-strong": [flipped("xi_eff"), one_flipped("xi_eff"), flipped("z_dt"), lost("xi_eff")],
    "ours-xi-turns": [flipped("xi_eff"), last(lambda ds: ds.assign(xi_eff=abs(ds.xi_eff)), "|xi|"), flipped("z_dt")],
    # Section 5
    "lem4-eq10-decoupled": [half_and_half(scaled("z_ct", 1.5), "z*1.5"), flipped("z_ct"), lost("z_ct")],
    "lem4-eq10": [scaled("z_ct", 2.0), flipped("z_ct"), lost("z_ct")],
    "ours-lem4-numbers": [scaled("z_dt", 1.01), start_scaled("z_ct", 1.01), shuffled],
    "thm2-a": [flipped("z_dt"), one_flipped("z_dt"), lost("z_dt"), start_shifted("z_dt", -1.0)],
    "thm2-b": [flipped("z_ct"), one_flipped("z_ct"), lost("z_ct")],
    "cor2": [flipped("z_ct"), one_flipped("z_ct"), lost("z_ct")],
    "ours-cor2-wider": [flipped("z_ct"), one_flipped("z_ct"), lost("z_ct")],
    "ours-cor2-boundary": [flipped("z_ct"), shifted("z_ct", -1.0), one_flipped("z_dt"), lost("z_dt")],
    "thm3-eq11": [shifted("gain_defect", 1e-5), scaled("chi", 0.0), lost("gain_defect")],
    "thm3-eq11-training": [powered("gain_defect", 0.0), backwards("gain_defect", "eta_Z"), flipped("z_dt")],
    "ours-rare-tokens": [flipped("gain_defect"), above_at_last, lost("gain_defect")],
    "ours-eq11-numbers": [flipped("gain_defect"), scaled("gain_defect", 1.1), stretched(10.0), lost("gain_defect")],
    "thm3-monotone": [bumped("z_dt"), bumped("f_dt"), backwards("z_dt", "time"), shuffled, lost("f_dt")],
    "thm3-eq12": [scaled("B_n", 0.1), scaled("B_n", 100.0), flipped("z_dt"), lost("B_n")],
    "ours-eq12-numbers": [scaled("B_n", 2.0), scaled("z_dt", 1.1), scaled("f_dt", 1.2)],
    # Section 6
    "thm4-eq122-printed": [shifted("printed", 1e-3), flipped("z"), lost("B")],
    "thm4-eq122": [shifted("closed", 1e-5), swapped("closed", "printed"), flipped("z"), lost("B")],
    "eq13-equation": [scaled("z_ct", 1.05), flipped("z_ct"), powered("z_ct", 2.0), scaled("rho", 2.0), shuffled],
    "ours-eq13-numbers": [scaled("z_ct", 1.01), flipped("z_ct"), shuffled],
    "thm4-eq14": [scaled("B_n", 1.05), scaled("B_n", 0.9), backwards("B_n", "time"), shuffled],
    "thm4-scanning": [powered("B_n", 3.0), backwards("B_n", "time"), shuffled, lost("B_n")],
    "thm4-snapping": [powered("chi_closed", 3.0), backwards("B_n", "time"), shuffled, lost("B_n")],
    "ours-growth-slopes": [scaled("B_n", 1.05), powered("B_n", 2.0), stretched(10.0), shuffled],
    "eq13-exponent": [powered("xi_eff", 0.5), flipped("xi_eff"), backwards("xi_eff", "p_common"), lost("xi_eff")],
    "ours-exponent-two": [powered("xi_eff", 2.0), scaled("xi_eff", 2.0), backwards("xi_eff", "p_common"), lost("xi_eff")],
    "ours-true-drop": [scaled("z_ct", 1.1), scaled("z_ct", 0.9), flipped("z_ct"), lost("z_ct")],
    "ours-late-drop": [scaled("z_ct", 1.1), scaled("z_ct", 0.9), flipped("z_ct"), lost("z_ct")],
    "sec6-a": [rates_exchanged, shuffled],
    "ours-clock": [first(lambda ds: ds.assign(z_dt=ds.z_dt * (1 + 1e-3 * ds.eta_Z)), "z_dt by rate"),
                   backwards("loss", "time"), first(lambda ds: ds.assign(loss=ds.loss + 1e-3 * ds.eta_Z), "loss by rate")],
    "sec6-b": [minus_entropy, flat_in_rate, rates_exchanged, lost("dt_entropy")],
    "ours-rates-until-frozen": [minus_entropy, flat_in_rate, rates_exchanged, lost("dt_entropy")],
    "ours-rates-clock": [by_rate, flat_in_rate],
    "ours-twin-columns": [minus_entropy, flat_in_rate, scaled("dt_entropy", 1.01), lost("dt_entropy")],
    "sec6-c-growth": [rates_exchanged, backwards("B_n", "time"), lost("B_n")],
    "sec6-c": [flipped("dt_entropy"), backwards("dt_entropy", "eta_Y"), lost("dt_entropy")],
    "ours-ratio-memoryless": [flipped("dt_entropy"), backwards("dt_entropy", "eta_Y"), lost("dt_entropy")],
    "ours-ratio-minimum": [backwards("dt_entropy", "time"), rates_exchanged, lost("dt_entropy")],
    "ours-ratio-numbers": [scaled("dt_entropy", 1.01), start_scaled("dt_entropy", 1.001), backwards("dt_entropy", "eta_Y")],
    "ours-ratio-longer": [flipped("dt_entropy"), backwards("dt_entropy", "ratio"), backwards("dt_entropy", "time")],
    "sec6-cause": [above_one, scaled("lag", 0.8), flipped("lag"), lost("lag")],
    "ours-memory": [scaled("lag", 20.0), flipped("z_ct"), lost("lag")],
    "ours-memory-counterfactual": [scaled("lag_present", 20.0), flipped("z_ct"), lost("lag_present")],
    "ours-memory-measures": [
        backwards("lag_present", "eta_Z"), scaled("lag_present", 2.0), flipped("lag"), lost("lag_present"),
    ],
    "ours-memory-measures-weak": [scaled("lag_present", 1.2), scaled("lag", 0.8), flipped("z_ct"), lost("lag_present")],
    "ours-memory-small": [backwards("lag", "eta_Z"), scaled("lag", 20.0), flipped("lag"), lost("lag")],
    "ours-lag-numbers": [scaled("lag", 1.2), backwards("lag", "eta_Z"), lost("lag")],
    "ours-control": [exchanged, scaled("z_dt", -1.0), lost("z_dt")],
    "ours-control-close": [scaled("z_dt", 2.0), flipped("z_dt"), lost("z_dt")],
    "ours-control-numbers": [start_scaled("z_dt", 1.01), scaled("z_dt", 2.0), start_scaled("z_dt", -1.0)],
    "ours-growth-numbers": [powered("z_dt", 2.0), stretched(10.0), backwards("z_dt", "time"), lost("z_dt")],
    # Section 8
    "fig3": [backwards("chi_closed", "eta_Y"), flipped("chi_closed"), shuffled],
    "ours-fig3-numbers": [scaled("chi_closed", 1.01), backwards("chi_closed", "eta_Y"), powered("chi_closed", 1.01)],
    "fig9": [backwards("B_n", "eta_Z"), powered("B_n", -1.0), shuffled],
    "ours-fig9-numbers": [scaled("B_n", 1.001), backwards("B_n", "eta_Z"), shuffled],
    "fig4-log": [scaled("batch_loss", 1.2), powered("batch_loss", 1.5), backwards("batch_loss", "time")],
    "fig4": [backwards("c_dt", "time"), backwards("dt_entropy", "eta_Y"), backwards("batch_loss", "eta_Y"), lost("batch_loss")],
    "ours-fig4-numbers": [backwards("c_dt", "eta_Y"), backwards("ct_mass", "eta_Y"), shifted("dt_entropy", 0.05), lost("c_dt")],
    "fig5": [backwards("c_dt", "distinct_token"), backwards("c_dt", "eta_Z"), flipped("c_dt"), lost("c_dt")],
    "ours-fig5-numbers": [
        backwards("c_dt", "distinct_token"),
        first(lambda ds: ds.assign(c_dt=-ds.c_dt), "-c_dt"),
        start_scaled("ct_mass", 2.0),
    ],
    "ours-fig5-later": [backwards("c_dt", "distinct_token"), backwards("c_dt", "time"), flipped("c_dt")],
    "fig6": [shifted("dt_entropy", 0.1), scaled("dt_entropy", 0.9), backwards("dt_entropy", "ratio"), lost("dt_entropy")],
    "fig6-spread-of-the-mean": [half_entropy, lost("dt_entropy")],
    "fig6-spread-of-the-seeds": [tight_seeds, half_entropy, lost("dt_entropy")],
    "fig6-rates": [minus_entropy, flat_in_rate, backwards("dt_entropy", "eta_Z"), lost("dt_entropy")],
    "fig6-ratio": [minus_entropy, flat_in_ratio, backwards("dt_entropy", "ratio"), lost("dt_entropy")],
    "fig6-ratio-two": [minus_entropy, flat_in_ratio, lost("dt_entropy")],
    "ours-fig6-threshold": [minus_entropy, flat_in_ratio, exchanged, lost("dt_entropy")],
    # Sections 5 and 7
    "sec7-residual": [flipped("cross_group"), backwards("cross_group", "residual"), flipped("group_local")],
    "ours-residual-connection": [scaled("cross_group", 1.1), backwards("group_local", "residual"), flipped("everywhere")],
    "sec5-prior": [flipped("gap"), backwards("gap", "time"), flipped("behind"), shuffled],
    "ours-prior": [scaled("gap", 0.9), backwards("gap", "time"), lost("gap")],
    # Momentum
    "ours-momentum": [flat_in_rate, flipped("dt_entropy"), backwards("dt_entropy", "eta_Z"), lost("dt_entropy")],
    "ours-no-momentum-early": [flat_in_rate, flipped("dt_entropy"), backwards("dt_entropy", "eta_Z"), lost("dt_entropy")],
    "ours-no-momentum-frozen": [by_rate, backwards("dt_entropy", "time"), lost("dt_entropy")],
    "ours-momentum-small": [scaled("z_dt", 1.01), start_scaled("z_dt", 1.01), flipped("z_dt"), lost("z_dt")],
    "ours-momentum-numbers": [shifted("dt_entropy", 0.01), start_shifted("dt_entropy", 0.001), lost("dt_entropy")],
    "fig7-sparse": [backwards("attention_entropy", "time"), lost("attention_entropy")],
    "fig7-freezes": [moving_on, late_burst, swapped("attention_drift", "attention_entropy"), lost("attention_drift")],
    "fig10-entropy": [backwards("attention_entropy", "rate"), shuffled],
    "ours-fig10-early": [backwards("attention_entropy", "rate"), backwards("attention_entropy", "time"), shuffled],
    "ours-fig10-settled": [unsettled, lost("attention_entropy")],
    "ours-fig7-released": [backwards("attention_entropy", "time"), flat_in_time, lost("attention_entropy")],
}  # fmt: skip


def _same_force(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Every true run with the coefficients of its modified one."""
    pairs = zip(evidence[::2], evidence[1::2], strict=True)
    return [
        ds for true, other in pairs for ds in (true.assign(beta=other.beta, iota=other.iota), other)
    ]


def _slowed(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    return [ds.assign(over_label=ds.slowed, over_rest=ds.slowed) for ds in evidence]


def _halves_agree(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Training with the logits of the theory's equation."""
    half = len(evidence) // 2
    made = []
    for true, closed in zip(evidence[:half], evidence[half:], strict=True):
        made.append(true.assign(z_ct=closed.z_ct, z_dt=closed.z_dt))
    return [*made, *evidence[half:]]


def _spread_of_the_mean(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Seeds that are as far apart as the released spread would say if it were that of the mean."""
    wide = 10**0.5
    return [
        ds.assign(dt_entropy=wide * ds.dt_entropy + (1 - wide) * ds.dt_entropy.mean("seed"))
        for ds in evidence
    ]


def _nearly_the_theory(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    true, forgetful, closed = evidence
    return [true, forgetful.assign(z_dt=1.01 * closed.z_dt), closed]


REPAIRED: dict[str, Change] = {
    "sec4-original-dynamics": _same_force,
    "rem1": _slowed,
    "thm1-b-decay": every(lambda ds: ds.assign(printed=ds.linear), "bounded"),
    "thm1-beta-printed": every(lambda ds: ds.assign(beta=ds.printed), "the printed sign"),
    "lem4-eq10": _halves_agree,
    "thm4-eq122-printed": every(lambda ds: ds.assign(B=ds.printed), "the printed integral"),
    "ours-control-close": _nearly_the_theory,
    "ours-memory-measures-weak": every(
        lambda ds: ds.assign(lag=1.001 * ds.lag_present), "both measures alike"
    ),
    "fig6-spread-of-the-mean": _spread_of_the_mean,
    "fig6-ratio-two": every(
        lambda ds: ds.assign(dt_entropy=1.8 + 0.01 * ds.ratio + 1e-3 * ds.dt_entropy),
        "a clear rise",
    ),
    "fig7-freezes": lambda evidence: [made_up_text.attention(), made_up_text.attention(layers=3)],
    "fig10-entropy": lambda evidence: [made_up_text.rates()],
    "ours-fig10-settled": lambda evidence: [made_up_text.rates()],
}
