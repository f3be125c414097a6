"""For every claim, evidence on which it must not hold; and, where none of its rows is expected to hold, made-up
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

from .. import made_up_text
from ..made_up_text import faster, steady


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


def both(change: Change, other: Change) -> Change:
    """One change after the other."""
    spoil = lambda evidence: other(change(evidence))
    spoil.__name__ = f"{change.__name__}, {other.__name__}"
    return spoil


def one_twice(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """The first dataset in the place of the second."""
    return [evidence[0], evidence[0]]


def on_text(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """A plateau that ends as keys and queries grow exponentially and an induction head forms, made up."""
    return [made_up_text.figure_2(normalised) for normalised in (False, True)[: len(evidence)]]


def _stairs(ds: xr.Dataset) -> xr.Dataset:
    """Three falls of a factor hundred with waits between them."""
    n = np.linspace(0, 1, ds.sizes["time"])
    fall = sum(1 / (1 + np.exp(-(n - at) / 0.02)) for at in (0.2, 0.5, 0.8))
    return ds.assign(loss_ih=("time", 3e-3 * np.exp(-np.log(100) * fall)))


one_weight = told(kappa=4.0)
uneven = last(
    lambda ds: ds.assign(w_q=ds.w_q * (1 + 1e-6 * ds.time), balance=ds.balance + 1e-9 * ds.time),
    "uneven weights",
)
slower = first(stretched(2.0))
bent = first(every(lambda ds: ds.assign_coords(alpha=ds.alpha**1.5), "alpha^1.5"))
longer = last(lambda ds: ds.assign_coords(length=ds.length**1.5), "length^1.5")
heads = swapped("loss_g4", "loss_ih")
slower_when_long = every(
    lambda ds: ds.assign(loss_g4=0.1 * np.exp(-ds.time / ds.length**0.3)), "slower in long input"
)
frozen = first(
    every(lambda ds: ds.assign(w_kq=0 * ds.w_kq + ds.w_kq.isel(time=0, drop=True)), "w frozen")
)
no_longer = last(
    lambda ds: ds.assign(loss_ih=ds.loss_ih ** (1 / (1 + ds.alpha))), "slower in alpha"
)
abrupt = every(
    lambda ds: ds.assign(loss_ih=3e-3 / (1 + np.exp((ds.time - 3000) / 100))), "an abrupt emergence"
)
stairs = every(_stairs, "stairs")

TIMES = [bent, longer, first(lost("loss_ih")), lost("loss_ih")]

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "lem2": [flipped("first_slope"), backwards("first_slope", "time"), lost("first_slope"), shuffled],
    "ours-lem2-law": [flipped("first_slope"), scaled("first_slope", 0.5), shifted("first_slope", 0.1), stretched(2.0)],
    "fig1-stage1": [scaled("first_slope", 0.1), flipped("first_slope"), lost("first_slope"), shuffled],
    "ours-stage1-end": [shifted("first_slope", 0.001), backwards("first_slope", "p_start"), lost("first_slope")],
    "secC.2-q": [flipped("change"), scaled("spread", 2.0), backwards("spread", "slope"), lost("change")],
    "lem3": [uneven, shifted("balance", 1e-9), scaled("w_q", 1.01), lost("balance")],
    "ours-lem3-descent": [scaled("w_k", 1.01), powered("balance", 2.0), told(eta=2.0), shuffled],
    "sec3.2-fixed-point": [shifted("count", 1.0), flipped("growth"), shifted("w", 1e-3), lost("growth")],
    "ours-saddle": [flipped("growth"), scaled("growth", 2.0), shifted("w", 1e-3)],
    "sec3.2-start": [powered("loss_g4", 0.5), powered("loss_ih", 0.5), flipped("loss_g4"), lost("loss_ih")],
    "thm4-phase1": [heads, backwards("loss_ih", "time"), lost("loss_ih"), shuffled],
    "ours-phase1-size": [stretched(2.0), backwards("loss_ih", "time"), lost("loss_ih")],
    "thm4-TI": [slower_when_long, flipped("loss_g4"), lost("loss_g4")],
    "thm4-growth": [frozen, flipped("w_kq"), first(lost("w_kq")), lost("w_kq")],
    "ours-plateau-rate": [stretched(1.05), powered("w_kq", 1.05), one_weight, lost("w_kq")],
    "thm4-phase4-g4": [powered("loss_g4", 0.5), backwards("loss_g4", "time"), lost("loss_g4")],
    "ours-G4-quarter": [powered("loss_g4", 0.5), scaled("loss_g4", 2.0), stretched(2.0), shuffled],
    "thm4-phase4-ih": [no_longer, backwards("loss_ih", "time"), first(lost("loss_ih")), lost("loss_ih")],
    "ours-convergence-rate": [powered("loss_ih", 1.1), stretched(1.1), one_weight, lost("loss_ih")],
    "thm4-TII": TIMES,
    "thm4-TIII": TIMES,
    "ours-TII-exponents": TIMES,
    "ours-TIII-exponents": TIMES,
    "secC.4-TII": TIMES,
    "eq17-half-time": [bent, longer, first(lost("w_kq")), lost("w_kq")],
    "thm4-sudden": [powered("loss_ih", 0.1), backwards("loss_ih", "time"), lost("loss_ih")],
    "fig1-order": [heads, backwards("loss_g4", "time"), lost("loss_ih")],
    "ours-fig1-order-times": [heads, stretched(1.1), lost("loss_g4")],
    "ours-plateau-share": [scaled("level", 1.1), swapped("S", "level"), lost("level")],
    "ours-fig1-sharpness": [abrupt, backwards("loss_ih", "time"), lost("loss_ih")],
    "eq7": [scaled("printed", 1.001), scaled("direct", 2.0), shifted("sampled", 0.01), scaled("deviation", 100.0)],
    "ours-TI-law": [stretched(1.5), first(stretched(1.5)), lost("loss_g4")],
    "ours-TI-alpha": [stretched(1.1), lost("loss_g4")],
    "eq8-half": [stretched(100.0), lost("g"), flipped("g")],
    "eq8": [backwards("g", "time"), lost("g"), flipped("g")],
    "ours-eq8-law": [stretched(1.5), stretched(0.5), lost("g")],
    "eq8-p1": [shifted("p", 100.0), lost("p"), lost("g")],
    "secC.3.1-stable": [scaled("g", 1.5), scaled("g", 0.9), backwards("p", "time"), shuffled],
    "secC.3.1-lyapunov": [flipped("lyap_uv_rate"), scaled("lyap_uv_rate", 0.5), scaled("lyap_uv_rate", 1e-3), shuffled],
    "eq9": [powered("p", 0.5), scaled("g", 1.01), lost("p")],
    "ours-eq9-law": [powered("p", 1.1), scaled("g", 1.01), stretched(2.0), shuffled],
    "eq10": [scaled("printed", 1.01), shifted("sampled", 0.02), scaled("deviation", 10.0)],
    "eq10-softmax": [scaled("printed_S", 1.1), scaled("printed_rate", 1.1), lost("printed_level")],
    "ours-eq10-length": [scaled("S", 1.2), swapped("S", "printed_S"), lost("slope")],
    "ours-eq10-gap": [swapped("S", "printed_S"), scaled("printed_level", 1.1), scaled("slope", 1.1), lost("S")],
    "ours-many-keys": [swapped("S", "printed_S"), swapped("limit_slope", "printed_slope"), scaled("X", 1.01)],
    "eq12": [scaled("h", 0.9), flipped("h"), lost("h")],
    "eq12-corrected": [scaled("h", 0.99), flipped("h"), lost("h")],
    "eq13": [stretched(5.0), lost("h"), scaled("h", 0.5)],
    "eq13-law": [stretched(1.05), scaled("h", 0.97), lost("h")],
    "eq13-theta": [longer, first(backwards("h", "time")), first(lost("h")), lost("h")],
    "ours-settling-softmax": [stretched(1.5), scaled("h", 0.9), lost("h")],
    "secC.3.2-P1": [flipped("growth_rate"), scaled("w_kq", 1.5), scaled("h", 0.98), shuffled],
    "eq11": [powered("w_kq", 1.5), scaled("w_kq", 0.8), lost("w_kq")],
    "eq14": [first(powered("h", 0.9)), first(shifted("h", 0.1)), first(scaled("h", 0.5)), first(lost("h"))],
    "eq14-R": [scaled("R", 1.05), scaled("R", 0.99), lost("R")],
    "eq15": [powered("w_kq", 2.0), stretched(0.1), lost("w_kq")],
    "eq15-corrected": [first(stretched(0.1)), lost("w_kq"), shuffled],
    "eq16": [stretched(0.05), first(stretched(0.05)), first(lost("w_kq")), lost("w_kq")],
    "eq16-first": [stretched(0.1), first(stretched(0.1)), first(lost("w_kq")), lost("w_kq")],
    "eq17": [stretched(10.0), flipped("w_kq"), lost("w_kq")],
    "eq17-late": [stretched(2.0), scaled("w_kq", 0.5), lost("w_kq")],
    "secC.4-start": [scaled("w_kq", 1e7), lost("w_kq"), lost("h")],
    "secC.3.2-lyapunov": [flipped("lyap_vh_rate"), scaled("lyap_vh_rate", 0.04), backwards("lyap_vh", "time"), shuffled],
    "lem6": [scaled("ratio", 3.0), flipped("ratio"), lost("ratio")],
    "lem7": [scaled("formula", 1 + 1e-9), powered("integral", 2.0), lost("integral")],
    "lem8": [scaled("norm", 1.001), scaled("printed", 1.01), lost("norm")],
    "lem8-corrected": [scaled("norm", 1.001), scaled("printed", 1.01), lost("norm")],
    "lem10": [flipped("above"), scaled("below", 9.0), lost("above"), shifted("first_weight", 0.5)],
    "lem10-used": [flipped("excess"), scaled("excess", 0.1), lost("excess")],
    "fig1-phases": [backwards("loss_ih", "time"), backwards("loss_g4", "time"), lost("loss_ih"), shuffled],
    "ours-fig1-flow": [slower, first(scaled("w_kq", 1.02)), first(shifted("h", 0.01)), reordered, shuffled],
    "ours-fig1-many-keys": [stretched(0.4), slower, lost("loss_ih")],
    "fig3-phases": [backwards("loss_ih", "time"), backwards("loss_g4", "time"), lost("loss_ih"), shuffled],
    "fig3-similar": [stretched(1.25), reordered, lost("loss_ih")],
    "ours-fig3-flow": [slower, first(scaled("w_kq", 1.02)), first(shifted("h", 0.01)), shuffled],
    "ours-blurred-floor": [scaled("loss_g4", 0.9), scaled("loss_g4", 1.05), lost("loss_g4")],
    "ours-printed-range": [scaled("loss_g4", 0.9), scaled("loss_ih", 0.5), shifted("g", 0.5), lost("loss_ih")],
    "fig2-plateau": [steady, lost("training_loss"), flipped("training_loss"), shuffled],
    "fig2-positions-first": [faster, swapped("slope_norm", "key_query_norm"), shuffled],
    "fig2-exponential": [faster, lost("key_query_norm"), shuffled],
    "ours-fig2-power": [on_text, faster, lost("key_query_norm"), shuffled],
    "fig2-escape": [faster, steady, lost("key_query_norm")],
    "ours-fig2-induction": [scaled("induction", 0.1), flipped("repeat_gain"), backwards("induction", "time")],
    "ours-fig2-norm": [faster, one_twice],
    "fig4-gd": [scaled("score_error", 0.5), heads, lost("loss_ih")],
    "fig4-adam-escapes": [powered("loss_ih", 0.01), backwards("loss_ih", "time"), lost("loss_ih")],
    "fig4-adam-order": [powered("loss_g4", 0.1), lost("loss_g4"), backwards("loss_ih", "time")],
    "fig4-adam-plateaus": [powered("loss_ih", 0.0), backwards("loss_ih", "time"), lost("loss_ih")],
    "ours-fig4-gd": [scaled("score_error", 0.5), heads, backwards("loss_ih", "time"), lost("loss_ih")],
    "ours-fig4-adam": [shifted("score_error", 0.5), backwards("loss_ih", "time"), lost("loss_ih")],
    "ours-fig4-adam-order": [heads, backwards("loss_ih", "time"), lost("loss_g4")],
    "ours-fig4-adam-plateaus": [stairs, backwards("loss_ih", "time"), lost("loss_ih")],
    "ours-factor": [first(stretched(1.2)), first(lost("loss_ih")), lost("loss_ih")],
    "ours-fig1-factor": [stretched(1.01), first(stretched(2.0)), reordered, lost("loss_ih")],
    "ours-fig3-times": [stretched(1.01), reordered, lost("loss_ih")],
    "ours-logistic": [stretched(1.1), lost("loss_ih")],
    "ours-logistic-times": [stretched(1.1), reordered, lost("loss_ih")],
    "ours-witness": [backwards("loss_ih", "time"), powered("loss_ih", 0.0), lost("loss_ih"), shuffled],
    "ours-joint": [scaled("first_slope", 1.5), swapped("p", "w_kq"), lost("first_slope")],
    "ours-joint-numbers": [scaled("first_slope", 1.1), scaled("w_kq", 1.1), lost("first_slope")],
    "ours-records": [scaled("loss", 1.02), scaled("h", 1.02), scaled("lyap_uv_rate", 1.02), lost("growth_rate")],
}  # fmt: skip


def _clock(factor: float) -> Change:
    """The same run on another clock, to its end."""

    def wind(ds: xr.Dataset) -> xr.Dataset:
        end = ds.attrs["planned_end"] * factor
        return ds.assign_coords(time=ds.time * factor).assign_attrs(planned_end=end)

    return every(wind, f"time*{factor:g}")


def _lazy_first(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(loss_g4=ds.loss_ih, loss_ih=ds.loss_g4**3)


REPAIRED: dict[str, Change] = {
    "fig1-stage1": every(lambda ds: ds.assign(first_slope=4 * ds.first_slope), "a sharper layer"),
    "eq8-half": _clock(1e-7),
    "eq8": every(
        lambda ds: ds.assign(g=0 * ds.g + 1 - np.exp(-ds.time / 5)), "the same from every start"
    ),
    "eq8-p1": every(lambda ds: ds.assign(p=ds.p - 20), "a smaller slope"),
    "eq12": every(lambda ds: ds.assign(h=1.001 * ds.h), "a larger value"),
    "eq13": _clock(0.15),
    "eq17": every(
        lambda ds: ds.assign(w_kq=ds.w_kq * np.exp(0.1 * ds.time.clip(0, 20))), "faster start"
    ),
    "lem8": every(lambda ds: ds.assign(norm=ds.printed), "both sides the same"),
    "lem10": every(lambda ds: ds.assign(above=ds.above + 2), "larger right side"),
    "fig2-plateau": on_text,
    "fig2-exponential": on_text,
    "fig2-escape": on_text,
    "ours-fig2-induction": on_text,
    "ours-fig2-norm": on_text,
    "fig4-adam-order": every(_lazy_first, "4-gram first"),
    "fig4-adam-plateaus": stairs,
}
