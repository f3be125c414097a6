"""Figures 1a and 1b: how far decoders extrapolate, by protocol, variant, training set, start, and self-training."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..claims import paired, recorded
from ..claims.comparing import concentration, ends_of_stages
from .decoder_panels import COLORS, mark_training_length, side_by_side

GROUPS = ("C6", "S5")
BESIDE_THE_LINE = {"loc": "lower left", "bbox_to_anchor": (0.06, 0.0)}  # of the training length
variants = (*recorded.norm.values(), *recorded.plain.values(), *recorded.residual.values())
protocol = (*recorded.epochs.values(), *recorded.few.values(), *recorded.epochs_norm.values())


def mean_at(accuracy: xr.DataArray, length: int) -> float:
    """The mean over seeds at one length."""
    return float(accuracy.sel(test_length=length).mean("seed"))


@ps.figure("Figure 1a", *protocol, id="figure_1a", panels=(1, 3), size=(8.4, 2.9))
def accuracy_over_length(cyclic, symmetric, few_cyclic, few_symmetric, norm, axes):
    """All values right, over the length of the chain, at the paper's own protocol: 300 epochs over a fixed set of
    chains of length 5, mean (lines) and range (bars, side by side) of 5 seeds over the last quarter of training. (a)
    50,000 chains, as close to the paper as it can be guessed: at L = 80 C6 has {c_80:.2f} and S5 {s_80:.2f}, at 160
    {c_160:.2f} and {s_160:.2f}; the paper has C6 near 1 throughout. The ranges overlap, and five seeds do not decide
    which is ahead. (b) 10,000 chains: S5 does not solve length 5 ({few_s:.2f} against {few_c:.2f}). (c) C6 with layer
    normalisation goes further ({norm_160:.2f} at 160)."""
    a, b, c = axes
    many = {"C6": late(cyclic), "S5": late(symmetric)}
    few = {"C6": late(few_cyclic), "S5": late(few_symmetric)}
    side_by_side(a, many, list(COLORS.values()))
    side_by_side(b, few, list(COLORS.values()))
    both = {"C6": late(cyclic), "C6, layer norm": late(norm)}
    side_by_side(c, both, (COLORS["C6"], ps.PALETTE[2]))
    titles = ("50,000 chains", "10,000 chains", "50,000 chains, C6")
    for panel, title in zip(axes, titles, strict=True):
        panel.set(title=title)
        mark_training_length(panel)
        ps.legend(panel, **BESIDE_THE_LINE if panel is not b else {"loc": "upper right"})
    return {
        "c_80": mean_at(late(cyclic), 80),
        "s_80": mean_at(late(symmetric), 80),
        "c_160": mean_at(late(cyclic), 160),
        "s_160": mean_at(late(symmetric), 160),
        "few_c": mean_at(late(few_cyclic), 5),
        "few_s": mean_at(late(few_symmetric), 5),
        "norm_160": mean_at(late(norm), 160),
    }


def late(run: xr.Dataset) -> xr.DataArray:
    """Accuracy, mean over the last quarter of training."""
    return paired.end(run).accuracy


@ps.figure(
    "Figure 1a, fresh chains (ours)", *variants, id="fresh_chains", panels=(1, 3), size=(8.4, 2.9)
)
def on_fresh_chains(norm_c, norm_s, plain_c, plain_s, residual_c, residual_s, axes):
    """As Figure 1a, but every chain of length 5 is new, so that nothing can be learned by heart: after 20,000 updates
    (full lines, with the range of 5 seeds) and after 5,000 (dashed). At L = 80 C6 has {norm_c:.2f} against {norm_s:.2f}
    for S5 with layer normalisation (a), {plain_c:.2f} against {plain_s:.2f} with neither it nor a residual stream, as
    in the theory (b), and {residual_c:.2f} against {residual_s:.2f} with both (c)."""
    titles = ("layer norm", "neither, as in the theory", "layer norm, residual stream")
    pairs = {
        "norm": (norm_c, norm_s),
        "plain": (plain_c, plain_s),
        "residual": (residual_c, residual_s),
    }
    numbers = {}
    for panel, title, (variant, pair) in zip(axes, titles, pairs.items(), strict=True):
        ends = {name: run.accuracy.isel(time=-1) for name, run in zip(GROUPS, pair, strict=True)}
        side_by_side(panel, ends, list(COLORS.values()))
        for name, run in zip(GROUPS, pair, strict=True):
            early = run.accuracy.sel(time=5000).mean("seed")
            panel.plot(run.test_length, early, "--", lw=1, color=COLORS[name])
            numbers[f"{variant}_{name[0].lower()}"] = mean_at(ends[name], 80)
        panel.set(title=title)
        panel.plot([], [], "--", lw=1, color="0.4", label="5,000 updates")
        mark_training_length(panel)
        ps.legend(panel, **BESIDE_THE_LINE)
    return numbers


@ps.figure(
    "Figure 1a, fixed training sets (ours)",
    *recorded.fixed.values(),
    id="training_sets",
    panels=(1, 3),
    size=(8.4, 3.1),
)
def what_the_size_of_the_training_set_does(cyclic, symmetric, axes):
    """Trained on a fixed set of chains of length 5 for 20,000 updates, with layer normalisation; mean (lines) and range
    (bars, side by side) of 5 seeds. (a, b) On 50,000 chains both groups solve length 5 and S5 falls behind ({s_50:.2f}
    against {c_50:.2f} at L = 40): the published picture. On 10,000 and 2,000 S5 does not solve length 5 either
    ({s_10:.2f} and {s_2:.2f} against {c_10:.2f} and {c_2:.2f}), on 500,000 it is ahead at L = 40 ({s_500:.2f} against
    {c_500:.2f}). (c) Attention on the two right clauses at L = 20 grows with the set; on 50,000 it is not less for S5
    ({sharp_s:.2f} against {sharp_c:.2f})."""
    runs = {"C6": cyclic, "S5": symmetric}
    sizes = [int(size) for size in cyclic.dataset.values]
    numbers = {}
    for panel, (name, run) in zip(axes, runs.items(), strict=False):
        ends = {f"{size:,} chains": run.accuracy.isel(time=-1).sel(dataset=size) for size in sizes}
        side_by_side(panel, ends, ps.shades(len(sizes))[::-1])
        panel.set(title=name)
        for size, end in zip(sizes, ends.values(), strict=True):
            numbers[f"{name[0].lower()}_{size // 1000}"] = mean_at(end, 5 if size < 50_000 else 40)
    for name, run in runs.items():
        sharp = concentration(run, 20)
        low, high = sharp.min("seed"), sharp.max("seed")
        ps.band(axes[2], run.dataset, low, high, color=COLORS[name], within=(0, 1))
        axes[2].plot(run.dataset, sharp.mean("seed"), "o-", ms=3, color=COLORS[name], label=name)
        numbers[f"sharp_{name[0].lower()}"] = float(sharp.mean("seed").sel(dataset=50_000))
    axes[2].set(
        xscale="log",
        ylim=(0, 1),
        xlabel="training chains",
        ylabel="attention, right clauses",
        title="$L = 20$",
    )
    axes[2].set_xticks(sizes, [f"{size // 1000}k" for size in sizes])
    axes[2].set_xticks([], minor=True)
    below = {"loc": "outside lower center", "ncols": 4, "fontsize": 7}
    axes[0].figure.legend(*axes[0].get_legend_handles_labels(), **below)
    ps.legend(axes[2], loc="lower right")
    return numbers


@ps.figure(
    "Figure 1a, other starts (ours)",
    *recorded.starts.values(),
    *recorded.plain.values(),
    id="starts",
    panels=(1, 2),
    size=(7.4, 3.0),
)
def what_the_size_of_the_first_embeddings_does(
    cyclic, symmetric, full_cyclic, full_symmetric, axes
):
    """The decoder without layer normalisation and residual stream, 20,000 updates on fresh chains of length 5, by the
    size of its embeddings at the start; mean (lines) and range (bars, side by side) of 5 seeds. All solve length 5; at
    L = 80, for sizes 0.2, 0.5 and 1, C6 (a) has {c_0:.2f}, {c_1:.2f} and {c_2:.2f}, S5 (b) {s_0:.2f}, {s_1:.2f} and
    {s_2:.2f}: the start moves the curve further than the group does."""
    pairs = ((cyclic, full_cyclic), (symmetric, full_symmetric))
    numbers = {}
    for panel, name, (run, full) in zip(axes, GROUPS, pairs, strict=True):
        curves = {
            f"size {size:g}": run.accuracy.sel(embedding_scale=size).isel(time=-1)
            for size in recorded.STARTS
        }
        curves["size 1"] = full.accuracy.isel(time=-1)
        side_by_side(panel, curves, ps.shades(3)[::-1])
        panel.set(title=name)
        mark_training_length(panel)
        ps.legend(panel, **BESIDE_THE_LINE)
        for k, curve in enumerate(curves.values()):
            numbers[f"{name[0].lower()}_{k}"] = mean_at(curve, 80)
    return numbers


@ps.figure(
    "Figure 1b",
    *recorded.epochs_stages.values(),
    *recorded.stages.values(),
    id="figure_1b",
    panels=(1, 3),
    size=(8.4, 2.9),
)
def self_training_and_its_control(published, taught, control, axes):
    """S5 after training at length 5 and after each of 3 stages of self-training on chains of length 10, 20 and 40; mean
    (lines) and range (bars, side by side) of 5 seeds. (a) At the paper's own protocol, 300 epochs over 50,000 chains
    and 20 for each stage: the curve moves right at each stage, at L = 80 from {p_0:.2f} to {p_1:.2f}, {p_2:.2f} and
    {p_3:.2f}; the paper ends near 1 up to 160, here it is {p_160:.2f} there. (b) Ours, on fresh chains, 8,000 updates
    and 3,000 for each stage, with layer normalisation: at L = 40 {t_0:.2f}, {t_1:.2f}, {t_2:.2f}, {t_3:.2f}. (c) Its
    control, as many updates on chains of length 5 with true labels, goes as far: {c_0:.2f}, {c_1:.2f}, {c_2:.2f},
    {c_3:.2f}."""
    a, b, c = axes
    stages = {
        "p": (a, [stage.accuracy for stage in paired.ends(published)], 80),
        "t": (b, [stage.accuracy for stage in ends_of_stages(taught)], 40),
        "c": (c, [stage.accuracy for stage in ends_of_stages(control)], 40),
    }
    colors = ("0.55", *ps.shades(3)[::-1])
    lengths = [f"then length {5 * 2**k}" for k in (1, 2, 3)]
    more = [f"{3 * k},000 more updates" for k in (1, 2, 3)]
    words = {"p": ["300 epochs", *lengths], "t": ["8,000 updates", *lengths]}
    words["c"] = ["8,000 updates", *more]
    numbers = {}
    for name, (panel, curves, length) in stages.items():
        side_by_side(panel, dict(zip(words[name], curves, strict=True)), colors)
        mark_training_length(panel)
        ps.legend(panel, **BESIDE_THE_LINE)
        for k, curve in enumerate(curves):
            numbers[f"{name}_{k}"] = mean_at(curve, length)
    numbers["p_160"] = mean_at(stages["p"][1][-1], 160)
    a.set_title("paper's protocol")
    b.set_title("fresh chains")
    c.set_title("control: length 5")
    return numbers


figures = (
    accuracy_over_length,
    on_fresh_chains,
    what_the_size_of_the_training_set_does,
    what_the_size_of_the_first_embeddings_does,
    self_training_and_its_control,
)
