"""For every claim of the decoder, evidence on which it must not hold; and, where none of its regimes is expected to hold,
made-up evidence on which it does."""

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
    swapped,
)


def one_seed_lost(name: str) -> Change:
    """A seed that has no number is no seed."""
    return last(lambda ds: ds.assign({name: ds[name].where(ds.seed != 3)}), f"{name}: seed 3 lost")


def spread(by: float) -> Change:
    """Seeds that disagree: what is seen is no more than luck."""
    noise = lambda ds: by * xr.DataArray(np.linspace(-1, 1, ds.sizes["seed"]), {"seed": ds.seed})
    return every(lambda ds: ds.assign(accuracy=ds.accuracy + noise(ds)), f"seeds spread by {by:g}")


def _falling(name: str, by: float) -> Change:
    """The band falls by this part along the chain."""
    fall = lambda ds: ds[name].isel(step=0) * (1 - by * ds.step / (ds.test_length - 1))
    return every(
        lambda ds: ds.assign({name: fall(ds).transpose(*ds[name].dims)}), f"{name} falls by {by:g}"
    )


def _turned(ds: xr.Dataset) -> xr.Dataset:
    """Every answer looks at the clauses after the right ones."""
    return ds.assign(heat=ds.heat.roll(clause=1, roll_coords=False))


equal = every(
    lambda ds: ds.assign(
        attention_predicate=ds.attention_predicate.sel(test_length=10).broadcast_like(
            ds.attention_predicate
        )
    ),
    "as on chains of length 10",
)
weak = every(lambda ds: ds.assign(accuracy=ds.accuracy * 0.5), "half of everything")
half_order = last(lambda ds: ds.assign(heat_permuted=ds.heat), "not permuted")
nobody = every(
    lambda ds: ds.assign(heat=xr.full_like(ds.heat, 1 / ds.sizes["clause"])), "even attention"
)
few_solved = every(
    lambda ds: (
        ds.assign(accuracy=ds.accuracy.where(ds.dataset > 2000, 1.0))
        if "dataset" in ds.dims
        else ds
    ),
    "2,000 chains suffice",
)
behind = last(
    lambda ds: ds.assign(accuracy=ds.accuracy.where(ds.test_length < 20, 0.0)), "S5 ends at 10"
)

one_blind = every(
    lambda ds: ds.assign(attention_answer=ds.attention_answer.where(ds.seed != 2, 0.0)),
    "seed 2 never looks at its answer",
)
no_band = every(
    lambda ds: ds.assign(
        attention_answer=xr.zeros_like(ds.attention_answer),
        attention_predicate=xr.full_like(ds.attention_predicate, 0.95),
    ),
    "no second band",
)


def _at_size(size: int, name: str, factor: float) -> Change:
    """S5 is changed on sets of one size only."""
    change = lambda ds: ds.assign({name: ds[name].where(ds.dataset != size, factor * ds[name])})
    return last(change, f"{name}*{factor:g} on {size:,} chains")


def _short_at(size: int) -> Change:
    """S5 hardly gets beyond length 10 on sets of this size."""
    ends = lambda ds: ds.accuracy.where(
        (ds.dataset != size) | (ds.test_length <= 10), 0.2 * ds.accuracy
    )
    return last(lambda ds: ds.assign(accuracy=ends(ds)), f"S5 ends at 10 on {size:,} chains")


def _nobody_from(size: float) -> Change:
    """From embeddings of this size nobody gets beyond length 10."""
    ends = lambda ds: ds.accuracy.where((ds.embedding_scale != size) | (ds.test_length <= 10), 0.0)
    return every(lambda ds: ds.assign(accuracy=ends(ds)), f"nobody beyond 10 from size {size:g}")


def the_start_does_nothing(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Smaller embeddings reach what full ones do."""
    pairs = zip(evidence[:2], evidence[2:], strict=True)
    return [
        ds.assign(accuracy=full.accuracy.broadcast_like(ds.accuracy)) for ds, full in pairs
    ] + evidence[2:]


def _short_starts(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(accuracy=ds.accuracy.where(ds.test_length <= 10, 0.1 * ds.accuracy))


def _same_fit(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(test_loss=ds.loss)


def _stage_undone(ds: xr.Dataset) -> xr.Dataset:
    """The last stage forgets what lies beyond its length."""
    return ds.assign(
        accuracy=ds.accuracy.where(
            (ds.time < ds.time[-1]) | (ds.test_length < 80), ds.accuracy - 0.1
        )
    )


def _nothing_learned(ds: xr.Dataset) -> xr.Dataset:
    """Every stage ends as the first did."""
    return ds.assign(
        accuracy=ds.accuracy.sel(time=8000).broadcast_like(ds.accuracy).transpose(*ds.accuracy.dims)
    )


def _control_short(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(accuracy=ds.accuracy.where(ds.test_length <= 10, 0.0))


predicate = "attention_predicate"
answer = "attention_answer"

DECODER_EXAMPLES: dict[str, list[Change]] = {
    "ours-fresh-contrast": [behind, weak, spread(0.6), one_seed_lost("accuracy"), lost("accuracy")],
    "ours-fresh-updates": [
        backwards("accuracy", "time"),
        weak,
        spread(0.6),
        one_seed_lost("accuracy"),
    ],
    "ours-fresh-attention": [
        reordered,
        one_seed_lost("attention_answer"),
        lost("attention_predicate"),
    ],
    "ours-fresh-bands": [last(_turned, "bands turned"), nobody, scaled("heat", 0.5), lost("heat")],
    "ours-fresh-order": [
        half_order,
        shifted("heat_permuted", 1e-5),
        backwards("heat_permuted", "clause"),
        lost("heat_permuted"),
    ],
    "ours-fresh-falls": [
        _falling(predicate, 0.5),
        _falling(answer, 0.0),
        swapped(answer, predicate),
        scaled(predicate, 0.1),
        lost(answer),
    ],
    "ours-fresh-length": [
        backwards(predicate, "test_length"),
        one_seed_lost(predicate),
        flipped(predicate),
        equal,
    ],
    "ours-sets-cyclic": [
        scaled("accuracy", 0.5),
        scaled("accuracy", 1.3),
        lost("accuracy"),
        few_solved,
    ],
    "ours-sets-small": [
        reordered,
        spread(0.6),
        one_seed_lost("accuracy"),
        shifted("loss", 0.1),
        lost("loss"),
    ],
    "ours-sets-picture": [
        reordered,
        weak,
        spread(0.6),
        one_seed_lost("accuracy"),
        _at_size(50_000, "accuracy", 0.5),
    ],
    "ours-sets-half-octave": [reordered, spread(0.6), one_seed_lost("accuracy"), lost("accuracy")],
    "ours-sets-large": [
        reordered,
        weak,
        spread(0.6),
        one_seed_lost("accuracy"),
        _at_size(500_000, "accuracy", 0.5),
    ],
    "ours-sets-overfit": [
        last(_same_fit, "no gap"),
        backwards("test_loss", "dataset"),
        scaled("test_loss", 0.1),
        scaled("test_loss", 10.0),
        shifted("loss", 0.1),
        lost("test_loss"),
    ],
    "ours-sets-attention-small": [
        reordered,
        one_seed_lost(answer),
        scaled(predicate, 3.0),
        lost(predicate),
    ],
    "ours-sets-attention": [
        reordered,
        one_seed_lost(answer),
        scaled(predicate, 3.0),
        lost(predicate),
    ],
    "ours-stages-right": [
        backwards("accuracy", "time"),
        last(_stage_undone, "the last stage undone"),
        last(_nothing_learned, "nothing gained"),
        scaled("accuracy", 0.5),
        spread(0.6),
        one_seed_lost("accuracy"),
        lost("accuracy"),
    ],
    "ours-stages-control": [
        last(_control_short, "the control ends at 10"),
        weak,
        spread(0.6),
        one_seed_lost("accuracy"),
        lost("accuracy"),
    ],
    "ours-start": [
        the_start_does_nothing,
        weak,
        spread(0.6),
        one_seed_lost("accuracy"),
        lost("accuracy"),
    ],
    "ours-start-contrast": [
        reordered,
        spread(0.6),
        one_seed_lost("accuracy"),
        _nobody_from(0.2),
        _nobody_from(0.5),
        lost("accuracy"),
    ],
    "ours-residual-optional": [
        one_blind,
        no_band,
        reordered,
        shifted(answer, 0.1),
        scaled("accuracy", 0.9),
        lost(answer),
    ],
}
DECODER_REPAIRED: dict[str, Change] = {
    "ours-sets-half-octave": _short_at(50_000),
    "ours-sets-attention": _at_size(50_000, predicate, 0.5),
    "ours-start-contrast": last(_short_starts, "S5 ends at 10"),
}
