"""Stage 2 drawn: the plane of the two scores, the attention they make, and how far it reaches."""

from __future__ import annotations

import numpy as np
import xarray as xr

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
    """(a) Scores of the right predicate and of the last answer, from (0, 0). Algorithm 1 on C4 leaves the diagonal
    (dotted) by a gap of {apart:.2f} at most and returns to it; Algorithm 2 climbs by log 2 a stage (dots: ends of
    stages L = 2, 4, ..., 64, for C6 to 8; C_B = 10). Grey: L*, up to which a C6 chain is followed. (b) The gap in
    attention, Delta, peaks at {peak:.2f} and closes for C4; for S3 and S4 it begins negative, changes its sign and
    stays below {late:.2f}; for C6 it grows throughout, to {six:.2f}."""
    plane, gaps = axes
    q = np.linspace(0, 6.2, 60)
    reach = np.vectorize(lambda a, b: critical_length(named("C6"), 5.0, a, b))(*np.meshgrid(q, q))
    lines = plane.contour(
        q, q, reach, levels=[8, 16, 32, 64, 128, 256], colors="0.7", linewidths=0.7
    )
    plane.clabel(lines, fontsize=6, fmt=r"$L^*$=%d")
    plane.plot([0, 6.2], [0, 6.2], color="0.5", lw=0.9, ls=":", label="equal scores")
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
    plane.plot([], [], "o", ms=3, color="0.4", label="end of a stage")
    plane.set(
        xlabel=r"$q_{43}$ (right predicate)",
        ylabel=r"$q_{44}$ (last answer)",
        xlim=(0, 6.2),
        ylim=(0, 6.2),
    )
    ps.legend(plane, loc="lower right", framealpha=0.9)
    gaps.axhline(0, color="0.6", lw=0.8)
    gaps.set(xlabel=r"$q_{43}$", ylabel=r"gap in attention $\Delta^{2,2}$", xlim=(0, 6.2))
    gaps.set_ylim(-0.2, 0.36)
    ps.legend(gaps, loc="upper right", bbox_to_anchor=(1.0, 0.98))
    return {
        "apart": float(abs(cyclic.q43 - cyclic.q44).max()),
        "peak": float(cyclic.gap.sel(step=2).max()),
        "late": float(max(three.gap.sel(step=2).max(), four.gap.sel(step=2).max())) + 0.005,
        "six": float(six.gap.sel(step=2).isel(time=-1)),
    }


@ps.figure(
    "Figures 3 and 4",
    evidence.path["C4"],
    evidence.weak["S3"],
    id="schematics",
    panels=(2, 3),
    size=(7.6, 4.6),
)
def attention_as_the_scores_make_it(cyclic, symmetric, axes):
    """Attention at L = 5, rows are queries (answers 0 to 4, upwards), columns predicates 1 to 5 and answers 0 to 4. (a,
    b, c) C4 under Algorithm 1: when step 1 is learned, at the peak of the gap, and at eps = 0.003. (d, e, f) S3 under
    Algorithm 2 at the ends of stages 2, 8 and 64: each row keeps two bright cells, at the end of {predicate:.2f} and
    {answer:.2f} in the last row."""
    first = int(np.argmax(cyclic.step_loss.sel(step=1).values < 0.01))
    peak = int(np.argmax(cyclic.gap.sel(step=2).values))
    ends = stage_ends(symmetric)
    top = [
        (cyclic.isel(time=i), f"C4: {name}")
        for i, name in ((first, "step 1 learned"), (peak, "peak"), (-1, "end"))
    ]
    bottom = [(ends.isel(length=i), f"S3: after L = {int(ends.length[i])}") for i in (0, 2, -1)]
    for panel, (at, title) in zip(axes.ravel(), top + bottom, strict=True):
        found = attention_map(at, 5)
        image = panel.imshow(found, vmin=0, vmax=0.6, cmap="viridis", aspect="auto", origin="lower")
        panel.axvline(4.5, color="w", lw=1)
        panel.set(xlabel="predicate  |  answer", ylabel="answer that asks", title=title)
        panel.set_xticks(range(10), [*range(1, 6), *range(5)], fontsize=7)
        panel.set_yticks(range(5), [str(n) for n in range(5)], fontsize=7)
        panel.grid(False)
    axes[0, 0].figure.colorbar(image, ax=axes, label="attention", shrink=0.6)
    return {"predicate": found[4, 4], "answer": found[4, 9]}


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
    """(a) C6 with limit features at q = 3: the probability of the last answer crosses a half near L* = {critical:.1f}
    (dashed); that all answers of a greedy rollout are right, later. (b) Rollouts at twice the length of a stage, at
    its end: with C_B = 20, E_1 = 13.9 (full lines) all are right; with C_B = 10, E_1 = 3.95 (dashed) {S3_first:.2f}
    (S3) and {S4_first:.2f} (S4) are right at L_k = 2, of S4 half or less from L_k = {S4_half:d} on, and C6 never
    has it ({C6_all:s}). (c) With the names of (b): (e^q43 + e^q44) / L_k falls as the stages get longer: from
    {weak_high:.1f} to {weak_low:.1f} with C_B = 10, from {strong_high:.1f} to {strong_low:.1f} with C_B = 20, which
    is by factors of {weak_fall:.1f} and {strong_fall:.1f} over five doublings of L_k."""
    left, middle, right = axes
    left.plot(table.chain_length, table["last"], label="last answer")
    left.plot(table.chain_length, table.rollout, label="all answers, greedy")
    critical = float(table.predicted)
    left.axvline(critical, ls="--", lw=1, color="0.35")
    left.annotate(
        f"$L^* = {critical:.1f}$", (critical - 0.5, 0.45), ha="right", color="0.35", fontsize=7.5
    )
    left.set(xlabel="chain length $L$", ylabel="probability", ylim=(-0.03, 1.08))
    last, rollout = (line.get_color() for line in left.lines[:2])
    left.text(22.3, 0.27, "last\nanswer", color=last, fontsize=7.5)
    left.text(29.8, 0.6, "all answers,\ngreedy", color=rollout, fontsize=7.5)
    groups = {"S3": ps.PALETTE[0], "S4": ps.PALETTE[1], "C6": ps.PALETTE[2]}
    runs = {
        ("S3", 10): weak_3,
        ("S4", 10): weak_4,
        ("C6", 10): weak_6,
        ("S3", 20): strong_3,
        ("S4", 20): strong_4,
    }
    sums = {}
    for (name, clip), run in runs.items():
        style = {
            "color": groups[name],
            "ls": "-" if clip == 20 else "--",
            "marker": "s" if name == "S4" else "o",
            "ms": 3,
            "label": f"{name}, $C_B = {clip}$",
        }
        if (name, clip) == ("S4", 20):  # broad, beneath S3, with which it coincides in (b)
            style |= {"lw": 3, "ms": 6.5, "mfc": "w", "zorder": 1.9}
        ends = stage_ends(run)
        middle.plot(ends.length, solved(run, 2), **style)
        sums[name, clip] = (np.exp(ends.q43) + np.exp(ends.q44)) / ends.length
        right.plot(ends.length, sums[name, clip], **style)
    middle.set(xlabel="stage length $L_k$", ylabel="rollouts right at $2L_k$", ylim=(-0.03, 1.08))
    right.set(xlabel="stage length $L_k$", ylabel=r"$(e^{q_{43}}+e^{q_{44}})\,/\,L_k$")
    right.set_ylim(0, 8.5)
    for panel in (middle, right):
        panel.set_xscale("log", base=2)
        panel.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    ps.legend(middle, loc="lower left", fontsize=6.3)
    first = {name: float(solved(runs[name, 10], 2)[0]) for name in ("S3", "S4")}
    weak = np.concatenate([sums["S3", 10], sums["S4", 10]])
    strong = np.concatenate([sums["S3", 20], sums["S4", 20]])
    return {
        "critical": critical,
        "S3_first": first["S3"],
        "S4_first": first["S4"],
        "S4_half": int(_first_at_half(solved(weak_4, 2))),
        "C6_all": ", ".join(f"{float(x):.2f}" for x in solved(weak_6, 2)),
        "weak_high": weak.max(),
        "weak_low": weak.min(),
        "strong_high": strong.max(),
        "strong_low": strong.min(),
        "weak_fall": weak.max() / weak.min(),
        "strong_fall": strong.max() / strong.min(),
    }


def _first_at_half(share: xr.DataArray) -> float:
    """The first stage from which on half of the rollouts or fewer are right; twice the last if there is none."""
    lengths = [*share.length.values, 2 * share.length.values[-1]]
    above = np.flatnonzero(share.values > 0.5)
    return float(lengths[above[-1] + 1 if above.size else 0])


figures = (
    the_plane_of_the_two_scores,
    attention_as_the_scores_make_it,
    how_far_a_chain_is_followed,
)
