"""For every claim, evidence on which it must not hold; and, where none of its regimes is expected to hold, made-up
evidence on which it does, so that the failure found is one that the check can tell from success."""

import json

import numpy as np
import xarray as xr

from phasescope.testing.spoiling import (
    Change,
    backwards,
    every,
    flipped,
    last,
    lost,
    powered,
    reordered,
    scaled,
    shifted,
    shuffled,
    stretched,
    swapped,
)


def all_scaled(name: str, factor: float) -> Change:
    """A dropped factor, in every dataset."""
    return every(lambda ds: ds.assign({name: factor * ds[name]}), f"{name}*{factor:g} everywhere")


def all_stretched(factor: float) -> Change:
    """Another clock, in every dataset."""
    return every(lambda ds: ds.assign_coords(time=ds.time * factor), f"time*{factor:g} everywhere")


def first(change: Change) -> Change:
    """Spoil the first dataset instead of the last."""
    spoil = lambda evidence: [change([evidence[0]])[0], *evidence[1:]]
    spoil.__name__ = f"first {change.__name__}"
    return spoil


def told(**numbers: float) -> Change:
    """The same records said to come from other numbers: another regime."""

    def tell(ds: xr.Dataset) -> xr.Dataset:
        spec = json.loads(ds.attrs["spec"]) | numbers
        told = ds.assign_attrs(spec=json.dumps(spec))
        if "eta" in numbers:
            return told.assign_attrs(planned_end=spec["steps"] * spec["eta"])
        return told

    return every(tell, "told " + ", ".join(f"{k}={v:g}" for k, v in numbers.items()))


other_kernel = last(lambda ds: ds.assign_attrs(arm="mean_field_flow"), "of another arm")
one_weight = told(kappa=4.0)
uneven = last(
    lambda ds: ds.assign(w_q=ds.w_q * (1 + 1e-6 * ds.time), balance=ds.balance + 1e-9 * ds.time),
    "uneven weights",
)
slower = first(stretched(2.0))
bent = first(every(lambda ds: ds.assign_coords(alpha=ds.alpha**1.5), "alpha^1.5"))
heads = swapped("loss_g4", "loss_ih")

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "C-L2": [flipped("first_slope"), scaled("first_slope", 0.5), shifted("first_slope", 0.1), stretched(2.0), shuffled],
    "C-L2-end": [scaled("first_slope", 0.1), flipped("first_slope"), lost("first_slope"), shuffled],
    "C-L2-100k": [shifted("first_slope", 0.001), reordered, lost("first_slope")],
    "C-q": [flipped("change"), scaled("spread", 2.0), backwards("spread", "slope"), lost("change")],
    "C-L3": [uneven, shifted("balance", 1e-9), scaled("w_q", 1.01), lost("balance")],
    "C-L3-gd": [scaled("w_k", 1.01), powered("balance", 2.0), told(eta=2.0), shuffled],
    "C-fix": [shifted("count", 1.0), flipped("growth"), shifted("w", 1e-3), lost("growth")],
    "C-fix-saddle": [flipped("growth"), scaled("growth", 2.0), shifted("w", 1e-3)],
    "C-L0": [scaled("loss_g4", 2.0), scaled("loss_ih", 2.0), swapped("loss_g4", "loss_ih"), lost("loss_ih")],
    "C-T4a": [heads, backwards("loss_ih", "time"), lost("loss_ih"), shuffled],
    "C-T4a-size": [reordered, slower, told(length=40), lost("loss_ih")],
    "C-T4b": [bent, stretched(0.5), first(lost("loss_ih")), lost("loss_ih")],
    "C-T4b-robust": [bent, stretched(0.5), first(lost("loss_ih")), lost("loss_ih")],
    "C-T4c": [bent, stretched(0.5), first(lost("loss_ih")), lost("loss_ih")],
    "C-exp": [stretched(1.05), powered("w_kq", 1.05), one_weight, lost("w_kq")],
    "C-T4d1": [powered("loss_g4", 0.5), scaled("loss_g4", 2.0), stretched(2.0), shuffled],
    "C-T4d2": [powered("loss_ih", 1.1), stretched(1.1), one_weight, lost("loss_ih")],
    "C-order": [heads, backwards("loss_g4", "time"), lost("loss_ih")],
    "C-order-times": [heads, stretched(1.1), lost("loss_g4")],
    "C-share": [scaled("loss_ih", np.nan), backwards("loss_ih", "time")],
    "C-sharp": [powered("loss_ih", 0.1), backwards("loss_ih", "time"), lost("loss_ih")],
    "C-7": [scaled("printed", 1.001), scaled("direct", 2.0), shifted("sampled", 0.01), scaled("deviation", 100.0)],
    "C-TI": [stretched(1.5), first(stretched(0.9)), lost("loss_g4")],
    "C-TI-law": [stretched(1.5), first(stretched(1.1)), lost("loss_g4")],
    "C-8": [stretched(100.0), lost("g"), flipped("g")],
    "C-8-law": [first(stretched(2.0)), stretched(1.01), lost("g")],
    "C-P2": [scaled("g", 1.5), scaled("g", 0.9), backwards("p", "time"), shuffled],
    "C-Lyap1": [flipped("lyap_uv_rate"), scaled("lyap_uv_rate", 0.5), scaled("lyap_uv_rate", 1e-3), shuffled],
    "C-9": [powered("p", 1.1), scaled("g", 1.01), stretched(2.0), shuffled],
    "C-10": [scaled("printed", 1.01), shifted("sampled", 0.02), scaled("deviation", 10.0)],
    "C-10-softmax": [scaled("S", 1.2), scaled("printed_S", 1.1), lost("slope")],
    "C-10-gap": [swapped("S", "printed_S"), scaled("printed_level", 1.1), scaled("slope", 1.1), lost("S")],
    "C-mf": [swapped("S", "printed_S"), swapped("limit_slope", "printed_slope"), scaled("X", 1.01), backwards("S", "N")],
    "C-P1": [flipped("growth_rate"), scaled("w_kq", 1.5), scaled("h", 0.98), shuffled],
    "C-11": [powered("w_kq", 1.5), scaled("w_kq", 0.8), scaled("h", 1.01), lost("w_kq")],
    "C-13": [stretched(5.0), lost("h"), scaled("h", 0.5)],
    "C-13-law": [stretched(1.05), scaled("h", 0.97), lost("h")],
    "C-13-time": [backwards("h", "time"), lost("h"), stretched(20.0)],
    "C-14": [powered("h", 0.9), shifted("h", 0.1), scaled("h", 0.5), lost("h")],
    "C-14-wide": [shifted("h", 0.1), lost("h"), scaled("h", 0.5)],
    "C-14-R": [scaled("R", 1.05), scaled("R", 0.99), lost("R")],
    "C-15": [powered("w_kq", 2.0), stretched(0.1), lost("w_kq")],
    "C-15-corrected": [stretched(0.2), lost("w_kq"), shuffled],
    "C-17": [stretched(10.0), flipped("w_kq"), lost("w_kq")],
    "C-17-late": [stretched(2.0), scaled("w_kq", 0.5), lost("w_kq")],
    "C-Lyap2": [flipped("lyap_vh_rate"), scaled("lyap_vh_rate", 0.04), backwards("lyap_vh", "time"), shuffled],
    "C-lem7": [scaled("formula", 1 + 1e-9), powered("integral", 2.0), lost("integral")],
    "C-lem10": [flipped("above"), scaled("below", 9.0), lost("above"), shifted("first_weight", 0.5)],
    "C-lem10-used": [flipped("excess"), scaled("excess", 0.1), lost("excess")],
    "C-F1": [slower, first(scaled("w_kq", 1.02)), first(shifted("h", 0.01)), reordered, shuffled],
    "C-F1-paper": [stretched(0.4), slower, lost("loss_ih")],
    "C-F3": [slower, first(scaled("w_kq", 1.02)), first(shifted("h", 0.01)), shuffled],
    "C-F3-similar": [stretched(1.1), reordered, lost("loss_ih")],
    "C-F4-gd": [scaled("score_error", 0.5), heads, backwards("loss_ih", "time"), lost("loss_ih")],
    "C-F4-adam": [shifted("score_error", 0.5), stretched(2.0), backwards("loss_ih", "time"), lost("loss_ih")],
    "C-F4-order": [powered("loss_g4", 0.1), lost("loss_g4"), backwards("loss_ih", "time")],
    "C-F4-plateaus": [backwards("loss_ih", "time"), lost("loss_ih")],
    "F1-pt": [scaled("loss_g4", 0.9), scaled("loss_g4", 1.05), scaled("w_kq", 1.1), lost("loss_g4")],
    "F1-idx": [scaled("loss_g4", 0.9), scaled("loss_ih", 0.5), shifted("g", 0.5), lost("loss_ih")],
    "R-factor": [stretched(1.01), first(stretched(2.0)), reordered, lost("loss_ih")],
    "R-logistic": [stretched(1.1), reordered, lost("loss_ih")],
    "R-witness": [backwards("loss_ih", "time"), powered("loss_ih", 0.0), lost("loss_ih"), shuffled],
    "R-joint": [scaled("first_slope", 1.1), scaled("w_kq", 1.1), swapped("p", "w_kq"), lost("first_slope")],
}  # fmt: skip


def _clock(factor: float) -> Change:
    """The same run on another clock, to its end."""

    def wind(ds: xr.Dataset) -> xr.Dataset:
        end = ds.attrs["planned_end"] * factor
        return ds.assign_coords(time=ds.time * factor).assign_attrs(planned_end=end)

    return every(wind, f"time*{factor:g}")


def _first_everywhere(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """The losses of one run in all of them: what does not depend on the length."""
    return [ds.assign(loss_g4=(ds.loss_g4.dims, evidence[0].loss_g4.values)) for ds in evidence]


def _softmax_is_printed(ds: xr.Dataset) -> xr.Dataset:
    near = lambda name: 1.06 * ds[f"printed_{name}"] / ds.printed_S
    return ds.assign(
        S=near("S"),
        printed_S=near("S"),
        slope=1.001 * ds.printed_slope,
        level=0.999 * ds.printed_level,
    )


def _stairs(ds: xr.Dataset) -> xr.Dataset:
    """Three falls of a factor hundred with waits between them."""
    n = np.linspace(0, 1, ds.sizes["time"])
    fall = sum(1 / (1 + np.exp(-(n - at) / 0.02)) for at in (0.2, 0.5, 0.8))
    return ds.assign(loss_ih=("time", 3e-3 * np.exp(-np.log(100) * fall)))


def _lazy_first(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(loss_g4=ds.loss_ih, loss_ih=ds.loss_g4**3)


REPAIRED: dict[str, Change] = {
    "C-share": every(
        lambda ds: ds.assign(loss_ih=3e-3 / (1 + np.exp((ds.time - 3000) / 500))),
        "most of it on the plateau",
    ),
    "C-TI": _first_everywhere,
    "C-8": _clock(1e-5),
    "C-10-softmax": every(_softmax_is_printed, "as printed"),
    "C-13": _clock(0.15),
    "C-14-wide": every(lambda ds: ds.assign(h=0.5 + 0.02 * (ds.h - 0.5)), "smaller overshoot"),
    "C-17": every(
        lambda ds: ds.assign(w_kq=ds.w_kq * np.exp(0.1 * ds.time.clip(0, 20))), "faster start"
    ),
    "C-lem10": every(lambda ds: ds.assign(above=ds.above + 2), "larger right side"),
    "C-F4-order": every(_lazy_first, "4-gram first"),
    "C-F4-plateaus": every(_stairs, "stairs"),
}
