"""Stage 2 drawn: the plane of the two scores, the attention they make, and how far it reaches."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..actions import named
from ..claims import evidence
from ..phases import solved, stage_ends
from ..theory_model.limits import critical_length


@ps.figure(
    "The routing plane",
    evidence.path["C4"],
    evidence.weak["S3"],
    evidence.weak["S4"],
    evidence.weak["C6"],
    id="plane",
    panels=(1, 2),
    size=(7.6, 3.4),
)
def the_plane_of_the_two_scores(cyclic, three, four, six, axes):
    """Left: scores of the right predicate and of the last answer, from (0, 0). Algorithm 1 on C4 leaves the diagonal by a
    gap of 0.3 at most and returns to it; Algorithm 2 climbs by log 2 a stage (dots: ends of stages L = 2, 4, ..., 64, for
    C6 to 8; C_B = 10). Grey: L*, up to which a C6 chain is followed. Right: the gap in attention, Delta, peaks at 0.11 and
    closes for C4; for S3 and S4 it begins negative and changes its sign."""
    plane, gaps = axes
    q = np.linspace(0, 6.2, 60)
    reach = np.vectorize(lambda a, b: critical_length(named("C6"), 5.0, a, b))(*np.meshgrid(q, q))
    lines = plane.contour(
        q, q, reach, levels=[2, 4, 8, 16, 32, 64, 128, 256], colors="0.75", linewidths=0.7
    )
    plane.clabel(lines, fontsize=6, fmt=r"$L^*$=%d")
    plane.plot([0, 6.2], [0, 6.2], color="0.6", lw=0.8, ls=":")
    runs = {
        "C4, Algorithm 1": cyclic,
        "S3, Algorithm 2": three,
        "S4, Algorithm 2": four,
        "C6, Algorithm 2": six,
    }
    for (label, run), color in zip(runs.items(), ps.PALETTE, strict=False):
        plane.plot(run.q43, run.q44, color=color, label=label)
        gaps.plot(run.q43, run.gap.sel(step=2), color=color, label=label)
        if "2" in label:
            ends = stage_ends(run)
            plane.plot(ends.q43, ends.q44, "o", ms=3, color=color)
            gaps.plot(ends.q43, ends.gap.sel(step=2), "o", ms=3, color=color)
    plane.set(
        xlabel=r"$q_{43}$ (right predicate)",
        ylabel=r"$q_{44}$ (last answer)",
        xlim=(0, 6.2),
        ylim=(0, 6.2),
    )
    plane.legend(loc="lower right", fontsize=7, frameon=True, framealpha=0.9, edgecolor="none")
    gaps.axhline(0, color="0.6", lw=0.8)
    gaps.set(xlabel=r"$q_{43}$", ylabel=r"$\Delta^{2,2}$", xlim=(0, 6.2))


@ps.figure(
    "Figures 3 and 4",
    evidence.path["C4"],
    evidence.weak["S3"],
    id="schematics",
    panels=(2, 3),
    size=(7.6, 4.6),
)
def attention_as_the_scores_make_it(cyclic, symmetric, axes):
    """Attention at L = 5, rows are queries (answers 0 to 4), columns predicates 1 to 5 and answers 0 to 4. Top, C4 under
    Algorithm 1: when step 1 is learned, at the peak of the gap, and at eps = 0.003. Bottom, S3 under Algorithm 2 at the
    ends of stages 2, 8 and 64: each row keeps two bright cells of one half."""
    first = int(np.argmax(cyclic.step_loss.sel(step=1).values < 0.01))
    peak = int(np.argmax(cyclic.gap.sel(step=2).values))
    ends = stage_ends(symmetric)
    top = [
        (cyclic.isel(time=i), f"C4: {name}")
        for i, name in ((first, "step 1 learned"), (peak, "peak"), (-1, "end"))
    ]
    bottom = [(ends.isel(length=i), f"S3: after L = {int(ends.length[i])}") for i in (0, 2, -1)]
    for panel, (at, title) in zip(axes.ravel(), top + bottom, strict=True):
        image = panel.imshow(attention_map(at, 5), vmin=0, vmax=0.6, cmap="viridis", aspect="auto")
        panel.set(xlabel="clause", ylabel="query", title=title, xticks=[0, 4, 5, 9], yticks=[0, 4])
        panel.set_xticklabels(["p1", "p5", "a0", "a4"])
        panel.set_yticklabels(["a0", "a4"])
        panel.grid(False)
    axes[0, 0].figure.colorbar(image, ax=axes, label="attention", shrink=0.6)


def attention_map(at, length: int) -> np.ndarray:
    """Row l: the softmax from answer l over all predicates and answers 0..l."""
    rows = np.full((length, 2 * length), np.nan)
    q43, o43, q44, o44 = (float(np.exp(at[name])) for name in ("q43", "o43", "q44", "o44"))
    for ell in range(length):
        weights = np.concatenate([np.full(length, o43), np.full(ell + 1, o44)])
        weights[ell] = q43
        weights[length + ell] = q44
        rows[ell, : length + ell + 1] = weights / weights.sum()
    return rows


@ps.figure(
    "Theorems 4.1 and 5.1: reach",
    evidence.reach,
    *evidence.weak.values(),
    *evidence.strong.values(),
    id="reach",
    panels=(1, 3),
    size=(8.2, 2.9),
)
def how_far_a_chain_is_followed(table, weak_3, weak_4, weak_6, strong_3, strong_4, axes):
    """Left: C6 with limit features at q = 3: the probability of the last answer crosses a half near L* = 19.5 (dashed).
    Middle: rollouts at twice the length of a stage, at its end: with C_B = 20, E_1 = 13.9 all are right; with C_B = 10,
    E_1 = 3.95 S4 fails from L = 16 on. Right: e^q43 + e^q44 over L_k, nearly constant: between 1.5 and 3.3 or 4 and 7.5."""
    left, middle, right = axes
    left.plot(table.chain_length, table["last"], label="last answer")
    left.plot(table.chain_length, table.rollout, label="all answers, greedy")
    left.axvline(float(table.predicted), ls="--", lw=1, color="0.35")
    left.annotate("$L^*$", (float(table.predicted) + 0.4, 0.9), color="0.35", fontsize=8)
    left.set(xlabel="chain length $L$", ylabel="probability", ylim=(-0.03, 1.08))
    left.legend(fontsize=7, loc="lower left")
    runs = {"S3": weak_3, "S4": weak_4, "C6": weak_6, "S3 ": strong_3, "S4 ": strong_4}
    colors = {"S3": ps.PALETTE[0], "S4": ps.PALETTE[1], "C6": ps.PALETTE[2]}
    for label, run in runs.items():
        style = {
            "color": colors[label.strip()],
            "ls": "-" if label.endswith(" ") else "--",
            "marker": "o",
            "ms": 3,
        }
        name = f"{label.strip()}, $C_B$={20 if label.endswith(' ') else 10}"
        ends = stage_ends(run)
        middle.plot(ends.length, solved(run, 2), label=name, **style)
        right.plot(
            ends.length, (np.exp(ends.q43) + np.exp(ends.q44)) / ends.length, label=name, **style
        )
    middle.set(xlabel="$L_k$", ylabel="rollouts right at $2L_k$", xscale="log", ylim=(-0.03, 1.08))
    right.set(xlabel="$L_k$", ylabel=r"$(e^{q_{43}}+e^{q_{44}})/L_k$", xscale="log", ylim=(0, 10.5))
    for panel in (middle, right):
        panel.set_xscale("log", base=2)
    right.legend(fontsize=6.5, loc="upper center", ncols=2)


figures = (
    the_plane_of_the_two_scores,
    attention_as_the_scores_make_it,
    how_far_a_chain_is_followed,
)
