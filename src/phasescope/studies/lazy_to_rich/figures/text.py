"""Figure 2: a standard transformer on a text."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import recorded
from ..claims.figure_2 import growth
from ..spec import BATCHES_OF_AN_EPOCH
from .panels import BLUE, GREEN, VERMILION

VARIANTS = ("no normalisation", "layer normalisation")


@ps.figure("Figure 2", recorded.figure_2, recorded.figure_2_norm, panels=(2, 3), size=(8.5, 4.6))
def figure_2(plain, norm, axes):
    """A two-layer transformer with ALiBi on text, {epochs:.0f} epochs, without (a, b, c) and with layer normalisation (d, e,
    f); a line a seed. (a, d) Loss on fixed sequences: without normalisation it falls ever more slowly, and there is no
    plateau to escape from; with normalisation, which learns faster, it rises from {least:.3g} to {last:.3g} nats on
    validation text. (b, e) The norm of the slopes p and the growth of the norm of keys and queries over its start: without
    normalisation the slopes are at {ahead:.0f} times their start when keys and queries have grown by {then:.2g}. (c, f) The
    largest previous-token score of the first layer and the largest induction score of the second, {back:.0f} tokens back:
    {induction:.3f} at the end without normalisation, where uniform attention gives about {uniform:.3f}. The slopes of the
    second layer, {gentle:.1f} to {steep:.1f}, leave no weight so far back, and by themselves give a token {itself:.0%} or
    more of its own attention."""
    for row, run, name in zip(axes.reshape(2, 3), (plain, norm), VARIANTS, strict=True):
        loss, weights, heads = row
        for seed in run.seed.values:
            one = run.sel(seed=seed)
            first = seed == run.seed.values[0]
            _line(loss, one.training_loss, BLUE, "training" if first else None)
            _line(loss, one.validation_loss, GREEN, "validation" if first else None)
            _line(weights, one.slope_norm, BLUE, r"$\|p\|$" if first else None)
            _line(
                weights,
                growth(one).where(growth(one) > 0),
                VERMILION,
                "growth of keys, queries" if first else None,
            )
            before = one.previous_token.isel(layer=0).max("head")
            _line(heads, before, GREEN, "previous token" if first else None)
            after = one.induction.isel(layer=-1).max("head")
            _line(heads, after, VERMILION, "induction" if first else None)
        loss.set(ylabel="loss (nats)")
        loss.set_title(name)
        weights.set(ylabel="norm; growth", yscale="log", ylim=(1e-5, None))
        heads.set(ylabel="score of a head", ylim=(-0.01, None))
        for panel in row:
            panel.set(xlabel="update (thousands)", xlim=(0, float(run.time[-1]) / 1000))
            ps.legend(panel)
    validation = norm.validation_loss.mean("seed")
    return _numbers(plain) | {"least": float(validation.min()), "last": float(validation[-1])}


def _line(axes, curve, color, label) -> None:
    axes.plot(curve.time / 1000, curve, color=color, lw=1.2, label=label)


def _numbers(run) -> dict[str, float]:
    slopes = (run.slope_norm / run.slope_norm.isel(time=0)).mean("seed")
    middle = int(np.argmax(slopes.values >= slopes.values.max() / 2))
    context = int(ps.number(run, "context"))
    half = context // 2
    second = run.slope.isel(time=-1, layer=-1)
    return {
        "epochs": float(run.time[-1]) / BATCHES_OF_AN_EPOCH,
        "back": float(half - 1),
        "gentle": float(second.min()),
        "steep": float(second.max()),
        "itself": float(-np.expm1(-second.min())),
        "ahead": float(slopes[middle]),
        "then": float(growth(run).mean("seed")[middle]),
        "induction": float(run.induction.isel(time=-1, layer=-1).max("head").mean("seed")),
        "uniform": float(np.mean(1 / np.arange(half, 2 * half + 1))),
    }


figures = (figure_2,)
