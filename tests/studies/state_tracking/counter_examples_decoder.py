"""For every claim of the decoder, evidence on which it must not hold; and, where none of its regimes is expected to hold,
made-up evidence on which it does."""

import numpy as np
import xarray as xr

from ..spoiling import Change, backwards, every, flipped, last, lost, reordered, scaled, shifted, swapped


def one_seed_lost(name: str) -> Change:
    """A seed that has no number is no seed."""
    return last(lambda ds: ds.assign({name: ds[name].where(ds.seed != 3)}), f"{name}: seed 3 lost")


def spread(by: float) -> Change:
    """Seeds that disagree: what is seen is no more than luck."""
    noise = lambda ds: by * xr.DataArray(np.linspace(-1, 1, ds.sizes["seed"]), {"seed": ds.seed})
    return every(lambda ds: ds.assign(accuracy=ds.accuracy + noise(ds)), f"seeds spread by {by:g}")


def _falling(name: str, by: float) -> Change:
    """The band falls by this part along the chain."""
    fall = lambda ds: ds[name].isel(step=0) * (1 - by * ds.step / (ds.length - 1))
    return every(lambda ds: ds.assign({name: fall(ds).transpose(*ds[name].dims)}), f"{name} falls by {by:g}")


def _turned(ds: xr.Dataset) -> xr.Dataset:
    """Every answer looks at the clauses after the right ones."""
    return ds.assign(heat=ds.heat.roll(clause=1, roll_coords=False))


equal = every(
    lambda ds: ds.assign(
        attention_predicate=ds.attention_predicate.sel(length=10).broadcast_like(ds.attention_predicate)
    ),
    "as on chains of length 10",
)
weak = every(lambda ds: ds.assign(accuracy=ds.accuracy * 0.5), "half of everything")
half_order = last(lambda ds: ds.assign(heat_permuted=ds.heat), "not permuted")
nobody = every(lambda ds: ds.assign(heat=xr.full_like(ds.heat, 1 / ds.sizes["clause"])), "even attention")
few_solved = every(
    lambda ds: ds.assign(accuracy=ds.accuracy.where(ds.dataset > 2000, 1.0)) if "dataset" in ds.dims else ds,
    "2,000 chains suffice",
)
better = last(lambda ds: ds.assign(accuracy=ds.accuracy.where(ds.length < 20, 0.0)), "S5 ends at 10")
sharper = last(
    lambda ds: ds.assign(attention_predicate=0.5 * ds.attention_predicate, attention_answer=0.5 * ds.attention_answer),
    "S5 half as sharp",
)

predicate, answer = "attention_predicate", "attention_answer"

DECODER_EXAMPLES: dict[str, list[Change]] = {
    "F1a": [reordered, weak, spread(0.6), one_seed_lost("accuracy"), lost("accuracy")],
    "F1a-updates": [backwards("accuracy", "time"), weak, spread(0.6), one_seed_lost("accuracy")],
    "F1a-set-cyclic": [scaled("accuracy", 0.5), scaled("accuracy", 1.3), lost("accuracy"), few_solved],
    "separation-decoder": [reordered, one_seed_lost("attention_answer"), lost("attention_predicate")],
    "F2": [last(_turned, "bands turned"), nobody, scaled("heat", 0.5), lost("heat")],
    "F5": [half_order, shifted("heat_permuted", 1e-5), backwards("heat_permuted", "clause"), lost("heat_permuted")],
    "F6-cyclic": [_falling(predicate, 0.5), _falling(predicate, -0.5), scaled(predicate, 0.1)],
    "F6-symmetric": [_falling(predicate, 0.0), flipped(predicate), lost(predicate)],
    "F6-length": [backwards(predicate, "length"), one_seed_lost(predicate), flipped(predicate), equal],
    "F7-cyclic": [_falling(answer, 0.0), swapped(answer, predicate), lost(answer)],
    "F7-symmetric": [_falling(answer, 0.5), scaled(answer, 0.01), lost(answer)],
}  # fmt: skip
DECODER_REPAIRED: dict[str, Change] = {
    "F1a": better,
    "separation-decoder": sharper,
    "F6-symmetric": _falling(predicate, 0.4),
    "F7-symmetric": _falling(answer, 0.0),
}
