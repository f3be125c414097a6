"""Chain of thought: in which order parity's steps are learned, and on which inputs the model then thinks right."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..phases import learned_by_length, spec_of
from . import panels
from .panels import BLUE, GREEN, VERMILION


@ps.figure(
    "Theorem 5.1, beyond phase 1 (ours)",
    evidence.parity_stairs,
    *evidence.parity_signs,
    panels=(1, 2),
    size=(7.2, 2.7),
)
def parity_stairs(stairs, short, long, axes):
    """(a) Parity with a chain of thought on 16 tokens, lam = 2. The lengths up to L_0 = 16, which are even pairs, are
    learned by t = {even:.0f}; then the steps of thought one after another, from {first:.0f} (L = 17) to {slowest:.0f} (L =
    {split:d}), and those beyond in the opposite order, {after:.0f} (L = {next:d}) to {last:.0f} (L = 30). (b)
    The pivots split into two groups, 2 to 10 with negative and 11 to 15 with positive token scores (L_0 = 8: 2 to 6,
    and 7). The slowest length is the one whose pivot stands at the split (dotted)."""
    left, right = axes
    base = spec_of(stairs).base_length
    times = learned_by_length(stairs)
    slowest = int(times.length[int(np.argmax(times.values))])
    draw_learning_times(times, base, left)
    draw_pivot_scores(short, long, right)
    right.set(xticks=range(2, base, 2))
    mark_slowest(left, slowest, f"$L = {slowest}$")
    mark_slowest(right, slowest - base + 1, f"$c = {slowest - base + 1}$")
    longest = int(times.length[-1])
    after = min(slowest + 1, longest)
    return {
        "even": float(times.sel(length=slice(None, base)).max()),
        "first": float(times.sel(length=base + 1)),
        "slowest": float(times.max()),
        "split": slowest,
        "after": float(times.sel(length=after)),
        "next": after,
        "last": float(times.sel(length=longest)),
    }


def draw_learning_times(times, base: int, axes) -> None:
    """When each length is learned for good: even pairs, then the steps of thought."""
    even_pairs = times.sel(length=slice(None, base))
    thought = times.sel(length=slice(base + 1, None))
    label = f"even pairs, $L \\leq L_0 = {base}$"
    axes.plot(even_pairs.length, even_pairs, "o-", ms=3.5, lw=1, color=BLUE, label=label)
    label = "steps of thought, $L > L_0$"
    axes.plot(thought.length, thought, "o-", ms=3.5, lw=1, color=VERMILION, label=label)
    axes.set(xlabel="length $L$", ylabel="learned for good from $t$", yscale="log", ylim=(90, 4e4))
    panels.legend(axes, loc="upper left")


def draw_pivot_scores(short, long, axes) -> None:
    """The token score of every pivot at the end, for two base lengths."""
    for run, color, marker in ((short, GREEN, "s"), (long, VERMILION, "o")):
        base = spec_of(run).base_length
        score = run.token_score.isel(time=-1).sel(position=slice(2, base - 1))
        style = {"ms": 3.5, "lw": 1, "color": color, "label": f"$L_0 = {base}$"}
        axes.plot(score.position, score, marker + "-", **style)
    axes.axhline(0, color="k", lw=0.8, zorder=0)
    axes.set(xlabel="pivot $c = L - L_0 + 1$", ylabel=r"token score $v_c$ at $t = 10^5$")
    panels.legend(axes, loc="lower right")


def mark_slowest(axes, where: int, label: str) -> None:
    """A dotted line at what is learned last."""
    axes.axvline(where, color="0.35", ls=":", lw=1.2)
    axes.annotate(
        label,
        (where, 0.03),
        xycoords=("data", "axes fraction"),
        xytext=(-3, 0),
        textcoords="offset points",
        ha="right",
        fontsize=7.5,
        color="0.35",
    )


@ps.figure(
    "Algorithm 1 and Section 5 (ours)",
    evidence.figure_2,
    evidence.figure_3,
    panels=(1, 2),
    size=(7.2, 2.6),
)
def chain_of_thought(even, parity, axes):
    """Parity by chain of thought, over all inputs of a length. (a) An even-pairs model with truncated thought
    (Algorithm 1) is right on all inputs of 2 to N = 6 tokens from t = {even:.0f} on, and guesses on longer ones. (b) A
    parity model with full thought is right on inputs of exactly L_0 = 4 tokens, from {parity:.0f} on (it was before,
    and lost it), and of 2, where one step of even pairs is enough; on all others it guesses, shorter ones included.
    There is no generalisation over length: in a string longer than any in training the attention is uniform."""
    from matplotlib.colors import ListedColormap

    colors = ListedColormap(["0.87", BLUE])
    cases = (
        (even, axes[0], "even-pairs model, truncated thought"),
        (parity, axes[1], "parity model, full thought"),
    )
    for run, panel, name in cases:
        right = run.cot_accuracy.sel(time=slice(50, None)).transpose("input_length", "time")
        image = panel.pcolormesh(
            right.time,
            right.input_length,
            right,
            cmap=colors,
            vmin=0.25,
            vmax=1.25,
            rasterized=True,
        )
        longest = run.sizes["length"]
        beyond = "longer than any string in training"
        panel.axhline(longest + 0.5, color="k", ls="--", lw=1)
        panel.text(55, longest + 0.6, beyond, fontsize=7.5, va="bottom")
        panel.set(xscale="log", xlabel="updates $t$")
        panel.set(ylabel="tokens in the input", yticks=right.input_length)
        panel.set_title(name, fontsize=9)
        panel.grid(False)
    bar = axes[1].figure.colorbar(image, ax=axes, ticks=[0.5, 1], label="accuracy")
    bar.ax.grid(False)
    trained = even.cot_accuracy.sel(input_length=slice(2, 6)).min("input_length")
    return {
        "even": float(ps.sustained(trained == 1)),
        "parity": float(ps.sustained(parity.cot_accuracy.sel(input_length=4) == 1)),
    }


figures = (parity_stairs, chain_of_thought)
