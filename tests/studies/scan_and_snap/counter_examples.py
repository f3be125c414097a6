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

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "C1": [last(_half_sum, "all rows move"), flipped("by_hand"), scaled("automatic", 2.0), lost("by_hand")],
    "C2": [powered("rms", 2.0), powered("bias", 0.5), scaled("bias", 0.1), backwards("bias", "length")],
    "C2-path": [start_scaled("z_dt", 0.9), start_shifted("z_dt", 0.1), scaled("z_dt", 1.1), lost("z_dt")],
    "C3": [shifted("Y", 1e-9), scaled("forecast", 2.0), shifted("alone", 1e-9), scaled("overlap", 0.0), lost("Y")],
    "C4": [scaled("beta", 2.0), start_scaled("iota", 1.5), lost("beta")],
    "C4-iota": [scaled("iota", 1.01), start_scaled("iota", 0.99), shuffled, lost("iota")],
    "C4-law": [scaled("beta", 2.0), scaled("iota", 1.2), backwards("beta", "time"), flipped("beta")],
    "C4-strong": [start_scaled("beta", 1.01), scaled("beta", 1.05), lost("iota")],
    "C5": [shifted("logits", 1e-11), scaled("residual_forecast", 1.001), flipped("logits"), backwards("logits", "step")],
    "C6": [scaled("over_label", 1.001), scaled("slowed", 0.7), lost("over_label")],
    "C6-full": [scaled("over_rest", 1.02), swapped("over_rest", "over_label"), scaled("full", 0.7)],
    "C7": [shifted("closed", 2e-6), scaled("left", 1.001), flipped("solved"), lost("solved")],
    "C8": [flipped("gap"), scaled("gap", 20.0), powered("gap", 2.0), backwards("gap", "s"), lost("gap")],
    "C8-loose": [scaled("gap", 1.1), scaled("gap", 0.5), backwards("gap", "s")],
    "fig8": [scaled("steps", 1.001), scaled("flow", 0.999), swapped("steps", "flow"), backwards("steps", "eta_Y")],
    "C9": [scaled("omega_1", 1.01), backwards("omega_1", "outputs"), scaled("left", 2.0)],
    "C10": [scaled("gamma", 1.1), powered("gamma", 2.0), stretched(2.0), backwards("gamma", "time"), shuffled],
    "C10-linear": [powered("gamma", 2.0), flipped("gamma"), lost("gamma")],
    "C11": [scaled("spread", 50.0), scaled("bound", 0.01), flipped("spread"), shifted("counts", 1.0), lost("spread")],
    "C11-loose": [scaled("spread", 1.1), powered("counts", 2.0), powered("spread", 0.5)],
    "C12": [scaled("clock", 1.1), scaled("clock", 10.0), scaled("residual", 1.01), backwards("clock", "epsilon")],
    "C13": [shifted("beta", 1e-7), swapped("corrected", "printed"), flipped("beta")],
    "C13-printed": [shifted("beta", 0.1), flipped("beta"), scaled("printed", 2.0)],
    "C13-true": [shifted("found", 1e-9), scaled("forecast", 2.0), lost("found")],
    "C14": [flipped("xi_eff"), one_flipped("xi_eff"), flipped("z_dt"), lost("xi_eff")],
    "C15": [scaled("z_ct", 1.01), start_scaled("z_ct", 1.01), backwards("z_ct", "eta_Z"), lost("z_ct")],
    "C15-true": [scaled("z_ct", 2.0), flipped("z_ct"), lost("z_ct")],
    "C15-numbers": [every(lambda ds: ds.assign(z_ct=1.01 * ds.z_ct, z_dt=1.01 * ds.z_dt), "z*1.01"), shuffled],
    "C16": [flipped("z_dt"), one_flipped("z_dt"), lost("z_dt"), start_shifted("z_dt", -1.0)],
    "C17": [flipped("z_ct"), one_flipped("z_ct"), lost("z_ct")],
    "C18": [flipped("z_ct"), one_flipped("z_ct"), lost("z_ct")],
    "C18-share": [flipped("z_ct"), shifted("z_ct", -1.0), one_flipped("z_dt"), lost("z_dt")],
    "C19": [shifted("gain_defect", 1e-5), scaled("chi", 0.0), lost("gain_defect")],
    "C19-sign": [flipped("gain_defect"), scaled("gain_defect", 1.1), stretched(10.0), lost("gain_defect")],
    "C20": [bumped("z_dt"), bumped("f_dt"), backwards("z_dt", "time"), shuffled, lost("f_dt")],
    "C21": [scaled("B_n", 0.1), scaled("B_n", 100.0), flipped("z_dt"), lost("B_n")],
    "C21-wide": [scaled("B_n", 2.0), scaled("z_dt", 1.1), scaled("f_dt", 1.2)],
    "C22": [scaled("z_ct", 1.05), flipped("z_ct"), powered("z_ct", 2.0), scaled("rho", 2.0), shuffled],
    "C22-branches": [scaled("B_n", 1.05), stretched(2.0), backwards("B_n", "time"), shuffled],
    "C22-exponent": [powered("xi_eff", 0.5), flipped("xi_eff"), backwards("xi_eff", "p_common"), lost("xi_eff")],
    "C22-two": [powered("xi_eff", 2.0), scaled("xi_eff", 2.0), backwards("xi_eff", "p_common"), lost("xi_eff")],
    "C22-true": [scaled("z_ct", 1.1), scaled("z_ct", 0.9), flipped("z_ct"), lost("z_ct")],
    "C23": [every(lambda ds: ds.isel({d: slice(None, None, -1) for d in ("eta_Y", "eta_Z") if d in ds.dims}).assign_coords(
        {d: ds[d].values for d in ("eta_Y", "eta_Z") if d in ds.dims}), "rates in the other order"), shuffled],
    "6.4": [first(lambda ds: ds.assign(z_dt=ds.z_dt * (1 + 1e-3 * ds.eta_Z)), "z_dt by rate"), backwards("loss", "time"),
            first(lambda ds: ds.assign(loss=ds.loss + 1e-3 * ds.eta_Z), "loss by rate")],
    "C24": [every(lambda ds: ds.assign(dt_entropy=-ds.dt_entropy), "-entropy"), flat_in_rate, lost("dt_entropy")],
    "C24-clock": [last(lambda ds: ds.assign(dt_entropy=ds.dt_entropy * (1 + 1e-3 * ds.eta_Z)), "by rate"), flat_in_rate],
    "C25": [flat_in_ratio, every(lambda ds: ds.assign(dt_entropy=-ds.dt_entropy), "-entropy"), backwards("dt_entropy", "ratio")],
    "C25-ratio": [flipped("dt_entropy"), backwards("dt_entropy", "eta_Y"), lost("dt_entropy")],
    "C25-drift": [flipped("dt_entropy"), backwards("dt_entropy", "eta_Y"), backwards("dt_entropy", "time")],
    "C25-memory": [scaled("dt_entropy", 1.01), start_scaled("dt_entropy", 1.001), backwards("dt_entropy", "eta_Y")],
    "C25-longer": [flipped("dt_entropy"), backwards("dt_entropy", "ratio"), backwards("dt_entropy", "time")],
    "C26": [scaled("B_n", 1.05), powered("B_n", 2.0), stretched(10.0), shuffled],
    "C26-true": [powered("z_dt", 2.0), stretched(10.0), backwards("z_dt", "time"), lost("z_dt")],
    "6.5": [scaled("lag", 0.8), flipped("lag"), lost("lag")],
    "6.5-lag": [scaled("lag", 1.2), backwards("lag", "eta_Z"), lost("lag")],
    "6.5-control": [start_scaled("z_dt", 1.01), scaled("z_dt", 2.0), first(lambda ds: ds.assign(z_dt=-ds.z_dt), "-z_dt")],
    "fig3": [scaled("chi_closed", 1.01), backwards("chi_closed", "eta_Y"), powered("chi_closed", 1.01), shuffled],
    "fig9": [scaled("B_n", 1.001), backwards("B_n", "eta_Z"), shuffled],
    "fig4-log": [scaled("batch_loss", 1.2), powered("batch_loss", 1.5), backwards("batch_loss", "time")],
    "C27": [backwards("c_dt", "eta_Y"), backwards("ct_mass", "eta_Y"), shifted("dt_entropy", 0.05), lost("batch_loss")],
    "C28": [
        backwards("c_dt", "distinct_token"),
        first(lambda ds: ds.assign(c_dt=-ds.c_dt), "-c_dt"),
        start_scaled("ct_mass", 2.0),
    ],
    "C28-later": [backwards("c_dt", "distinct_token"), backwards("c_dt", "time"), flipped("c_dt")],
    "fig6": [shifted("dt_entropy", 0.1), scaled("dt_entropy", 0.9), backwards("dt_entropy", "ratio"), lost("dt_entropy")],
    "C29": [flipped("cross_group"), backwards("cross_group", "residual"), flipped("group_local"), flipped("everywhere")],
    "C30": [flipped("gap"), scaled("gap", 0.9), backwards("gap", "time"), flipped("behind")],
    "C33": [flat_in_rate, flipped("dt_entropy"), backwards("dt_entropy", "eta_Z"), lost("dt_entropy")],
    "C33-small": [scaled("z_dt", 1.01), start_scaled("z_dt", 1.01), flipped("z_dt"), lost("z_dt")],
    "C33-momentum": [shifted("dt_entropy", 0.01), start_shifted("dt_entropy", 0.001),
                     lambda evidence: [evidence[1], evidence[0], *evidence[2:]]],
}  # fmt: skip
COUNTER_EXAMPLES["C33-momentum"][-1].__name__ = "with and without exchanged"


def _same_force(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Every true run with the coefficients of its modified one."""
    pairs = zip(evidence[::2], evidence[1::2], strict=True)
    return [
        ds for true, other in pairs for ds in (true.assign(beta=other.beta, iota=other.iota), other)
    ]


def _as_predicted(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    true, closed = evidence
    return [true.assign(z_ct=closed.z_ct, z_dt=closed.z_dt), closed]


REPAIRED: dict[str, Change] = {
    "C4": _same_force,
    "C10-linear": every(lambda ds: ds.assign(gamma=0.05 * ds.time), "linear for ever"),
    "C13-printed": every(lambda ds: ds.assign(beta=ds.printed), "the printed sign"),
    "C15-true": _as_predicted,
}
