"""For every claim about Section 7, evidence on which it must not hold; and made-up evidence for those that hold nowhere."""

import numpy as np
import xarray as xr

from phasescope.testing.spoiling import (
    Change,
    backwards,
    every,
    flipped,
    last,
    lost,
    reordered,
    scaled,
    shifted,
)

from .counter_examples_decoder import half_order, nobody, one_seed_lost, weak

predicate = "attention_predicate"
answer = "attention_answer"
not_fitted = last(lambda ds: ds.assign(loss=ds.loss + 1.0), "not fitted")


def _fitted(ds: xr.Dataset) -> xr.Dataset:
    """A training loss that has come down in every seed."""
    return ds.assign(loss=1e-3 * ds.loss.clip(0, 1))


def _solved(ds: xr.Dataset) -> xr.Dataset:
    """Every chain of every length is right."""
    return _fitted(ds).assign(accuracy=xr.ones_like(ds.accuracy))


def _ends_at_20(ds: xr.Dataset) -> xr.Dataset:
    return _fitted(ds).assign(accuracy=ds.accuracy.where(ds.test_length <= 20, 0.0))


def _falls(ds: xr.Dataset, name: str, by: float) -> xr.Dataset:
    """A band that falls by this part along the chain, a little more in later seeds."""
    part = by * (1 + 0.01 * ds.seed)
    fall = ds[name].isel(step=0) * (1 - part * ds.step / (ds.test_length - 1))
    return ds.assign({name: fall.transpose(*ds[name].dims)})


def _both(first, second, name: str) -> Change:
    change = lambda evidence: [first(evidence[0]), second(evidence[-1])]
    change.__name__ = name
    return change


def falling(name: str, by: float) -> Change:
    return every(lambda ds: _falls(ds, name, by), f"{name} falls by {by:g}")


def _turned(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(heat=ds.heat.roll(clause=1, roll_coords=False))


def _all_alike(ds: xr.Dataset) -> xr.Dataset:
    """Every record is the first one after the start."""
    first = ds.accuracy.isel(time=1).broadcast_like(ds.accuracy)
    return ds.assign(accuracy=first.transpose(*ds.accuracy.dims))


def _moving(ds: xr.Dataset) -> xr.Dataset:
    """Accuracy that goes on growing."""
    return ds.assign(accuracy=np.minimum(ds.accuracy, ds.time / ds.time[-1]))


def _spread(ds: xr.Dataset) -> xr.Dataset:
    """Seeds that disagree with their pairs: what is seen is no more than luck."""
    noise = xr.DataArray(np.linspace(-1, 1, ds.sizes["seed"]), {"seed": ds.seed})
    return ds.assign(accuracy=ds.accuracy + 0.9 * noise)


def _less_at_10(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign({answer: ds[answer].where(ds.test_length != 10, 0.5 * ds[answer])})


apart = last(_spread, "seeds spread")
alike = last(_all_alike, "nothing moves")
short = last(
    lambda ds: ds.assign(accuracy=ds.accuracy.where(ds.test_length < 10, 0.0)), "ends at 5"
)

SECTION_7_EXAMPLES: dict[str, list[Change]] = {
    "fig1a-cyclic": [short, scaled("accuracy", 0.9), scaled("accuracy", 1.1), lost("accuracy")],
    "fig1a-symmetric": [
        short,
        last(_solved, "all solved"),
        not_fitted,
        scaled("accuracy", 0.5),
        lost("accuracy"),
    ],
    "fig1a-contrast": [reordered, weak, apart, one_seed_lost("accuracy"), not_fitted],
    "ours-fig1a-few": [reordered, apart, one_seed_lost("accuracy"), lost("accuracy")],
    "ours-fig1a-norm": [reordered, apart, one_seed_lost("accuracy"), not_fitted],
    "ours-fig1a-settled": [last(_moving, "still moving"), not_fitted, weak, lost("accuracy")],
    "fig1b-right": [backwards("accuracy", "time"), alike, weak, lost("accuracy")],
    "fig1b-double": [short, scaled("accuracy", 0.9), scaled("accuracy", 1.1), lost("accuracy")],
    "fig1b-end": [short, scaled("accuracy", 0.9), scaled("accuracy", 1.1), lost("accuracy")],
    "fig1b-gain": [backwards("accuracy", "time"), alike, weak, one_seed_lost("accuracy")],
    "fig2": [last(_turned, "bands turned"), nobody, scaled("heat", 0.5), not_fitted, lost("heat")],
    "fig5": [
        half_order,
        shifted("heat_permuted", 1e-4),
        backwards("heat_permuted", "clause"),
        not_fitted,
        lost("heat_permuted"),
    ],
    "fig6-fig7-length": [
        backwards(predicate, "test_length"),
        last(_less_at_10, "less at 10"),
        one_seed_lost(answer),
        flipped(predicate),
    ],
    "fig6-contrast": [reordered, falling(predicate, 0.2), one_seed_lost(predicate), not_fitted],
    "fig6-cyclic": [
        falling(predicate, 0.5),
        falling(predicate, -0.5),
        scaled(predicate, 0.1),
        lost(predicate),
    ],
    "fig6-symmetric": [falling(predicate, 0.0), flipped(predicate), not_fitted, lost(predicate)],
    "fig7-contrast": [
        reordered,
        falling(answer, 0.2),
        last(lambda ds: _falls(ds, answer, 0.9), "S5 falls more"),
        one_seed_lost(answer),
        not_fitted,
    ],
}
SECTION_7_REPAIRED: dict[str, Change] = {
    "fig1a-cyclic": every(_solved, "all solved"),
    "fig1a-symmetric": every(_fitted, "fitted"),
    "fig1a-contrast": _both(_solved, _ends_at_20, "S5 ends at 20"),
    "ours-fig1a-settled": every(_fitted, "fitted"),
    "fig1b-double": every(_solved, "all solved"),
    "fig1b-end": every(_solved, "all solved"),
    "fig2": every(_fitted, "fitted"),
    "fig5": every(_fitted, "fitted"),
    "fig6-fig7-length": every(_fitted, "fitted"),
    "fig6-contrast": _both(
        _fitted, lambda ds: _falls(_fitted(ds), predicate, 0.4), "S5 falls by 0.4"
    ),
    "fig6-symmetric": every(lambda ds: _falls(_fitted(ds), predicate, 0.4), "falls by 0.4"),
    "fig7-contrast": every(_fitted, "fitted"),
}
