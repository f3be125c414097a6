"""Figures 1a and 1b: how far decoders extrapolate, by variant, training set, start, and self-training with its control."""

from __future__ import annotations

import phasescope as ps

from ..claims import recorded
from ..claims.comparing import concentration, ends_of_stages
from .decoder_panels import COLORS, over_lengths

variants = (*recorded.norm.values(), *recorded.plain.values(), *recorded.residual.values())
SHADES = ("#9ecae1", "#4292c6", "#08519c", "#000000")  # from few to many


@ps.figure("Figure 1a", *variants, id="figure_1a", panels=(1, 3), size=(8.2, 2.9))
def accuracy_over_length(norm_c, norm_s, plain_c, plain_s, residual_c, residual_s, axes):
    """All values right, over the length of the chain; trained on fresh chains of length 5, 20,000 updates (dashed: 5,000), mean
    and range of 5 seeds. At equal updates C6 is ahead of S5 in no variant: at L = 80 it is 0.28 against 0.55 with layer
    normalisation, 0.93 against 0.94 without, 0.54 against 0.70 with a residual stream as well."""
    titles = ("layer normalisation", "neither, as in the theory", "with a residual stream too")
    pairs = ((norm_c, norm_s), (plain_c, plain_s), (residual_c, residual_s))
    for panel, title, pair in zip(axes, titles, pairs, strict=True):
        for name, run in zip(("C6", "S5"), pair, strict=True):
            over_lengths(panel, run.accuracy.isel(time=-1), name, COLORS[name])
            panel.plot(
                run.test_length,
                run.accuracy.sel(time=5000).mean("seed"),
                "--",
                lw=1,
                color=COLORS[name],
            )
        panel.set(ylabel="accuracy", title=title)
        panel.legend(loc="lower left", fontsize=7)


@ps.figure(
    "Figure 1a, fixed training sets",
    *recorded.fixed.values(),
    id="training_sets",
    panels=(1, 3),
    size=(8.4, 2.9),
)
def what_the_size_of_the_training_set_does(cyclic, symmetric, axes):
    """Trained on a fixed set of chains of length 5 for 20,000 updates, mean and range of 5 seeds. On 50,000 chains both groups
    solve length 5 and S5 falls behind (0.42 against 0.87 at L = 40): the published picture. On fewer S5 does not solve length 5
    either (0.48 and 0.00 against 1.00 and 0.94), on 500,000 it is ahead (0.94 against 0.75). Right: attention on the two right
    clauses at L = 20 grows with the set; on 50,000 it is not less for S5 (0.67 against 0.61)."""
    runs = {"C6": cyclic, "S5": symmetric}
    for panel, (name, run) in zip(axes, runs.items(), strict=False):
        for size, color in zip(run.dataset.values, SHADES, strict=False):
            over_lengths(
                panel, run.accuracy.isel(time=-1).sel(dataset=size), f"{int(size):,} chains", color
            )
        panel.set(ylabel="accuracy", title=name)
    for name, run in runs.items():
        sharp = concentration(run, 20)
        axes[2].fill_between(
            run.dataset, sharp.min("seed"), sharp.max("seed"), color=COLORS[name], alpha=0.13, lw=0
        )
        axes[2].plot(run.dataset, sharp.mean("seed"), "o-", ms=3, color=COLORS[name], label=name)
    axes[2].set(
        xscale="log",
        ylim=(0, 1),
        xlabel="training chains",
        ylabel="attention, right clauses",
        title="$L = 20$",
    )
    axes[0].legend(loc="lower left", fontsize=6.5)
    axes[2].set_xticks(cyclic.dataset.values, [f"{int(n) // 1000}k" for n in cyclic.dataset.values])
    axes[2].set_xticks([], minor=True)
    axes[2].legend(loc="lower right", fontsize=7)


@ps.figure(
    "Figure 1a, other starts",
    *recorded.starts.values(),
    *recorded.plain.values(),
    id="starts",
    panels=(1, 2),
    size=(7.4, 3.0),
)
def what_the_size_of_the_first_embeddings_does(
    cyclic, symmetric, full_cyclic, full_symmetric, axes
):
    """The decoder without layer normalisation and residual stream, 20,000 updates on fresh chains of length 5, mean and range of
    5 seeds, by the size of its embeddings at the start. All solve length 5; at L = 80 C6 has 0.13, 0.41 and 0.93, S5 0.03, 0.52
    and 0.94: the start moves the curve further than the group does."""
    pairs = ((cyclic, full_cyclic), (symmetric, full_symmetric))
    for panel, name, (run, full) in zip(axes, ("C6", "S5"), pairs, strict=True):
        curves = {size: run.accuracy.sel(embedding_scale=size) for size in recorded.STARTS} | {
            1.0: full.accuracy
        }
        for (size, accuracy), color in zip(curves.items(), SHADES, strict=False):
            over_lengths(panel, accuracy.isel(time=-1), f"size {size:g}", color)
        panel.set(ylabel="accuracy", title=name)
    axes[0].legend(loc="lower left", fontsize=7)


@ps.figure("Figure 1b", *recorded.stages.values(), id="figure_1b", panels=(1, 2), size=(7.4, 3.0))
def self_training_and_its_control(taught, control, axes):
    """S5 after 8,000 updates at length 5 (grey) and after each of 3 stages of 3,000: left on self-labelled chains of length 10,
    20 and 40, right on chains of length 5 with true labels. Mean and standard deviation of 5 seeds. The curve moves right at
    each stage (at L = 40: 0.49, 0.81, 0.87, 0.88), and as far in the control (0.46, 0.77, 0.82, 0.93)."""
    colors = ("0.55", ps.PALETTE[5], ps.PALETTE[0], ps.PALETTE[1])
    for panel, run in zip(axes, (taught, control), strict=True):
        for k, (end, color) in enumerate(zip(ends_of_stages(run), colors, strict=False)):
            words = f"then length {5 * 2**k}" if run is taught else f"{3 * k},000 more updates"
            mean = end.accuracy.mean("seed")
            spread = end.accuracy.std("seed", ddof=1)
            over_lengths(
                panel,
                end.accuracy,
                words if k else "8,000 updates",
                color,
                band=(mean - spread, mean + spread),
            )
        panel.set(ylabel="accuracy")
        panel.legend(loc="lower left", fontsize=7)
    axes[0].set_title("self-training")
    axes[1].set_title("control: length 5, true labels")


figures = (
    accuracy_over_length,
    what_the_size_of_the_training_set_does,
    what_the_size_of_the_first_embeddings_does,
    self_training_and_its_control,
)
