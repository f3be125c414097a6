"""What the paper could not draw: the universal first phase, the late laws, the sample-size threshold, where attention matters."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..closed_forms import first_phase, frozen_kernel, late_time, threshold
from ..phases import first_phase_end, frozen, spec_of, trained
from . import panels
from .panels import BLUE, GREEN, PURPLE, SKY, VERMILION

NEW_WORDS = {"ls": ":", "marker": "o", "ms": 3.5, "mfc": "w", "markevery": 7}
WIDTHS = {128: SKY, 512: GREEN, 2048: BLUE, 4096: PURPLE}


ORTHOGONAL = tuple(evidence.ladder[k] for k in (0, 1, 2))  # m = 256, 1024, 4096


@ps.figure("Theorem 3.1", *evidence.theory_runs, *ORTHOGONAL, panels=(1, 2), size=(7.6, 3.0))
def universal_first_phase(*given):
    """Phase 1 in natural time tau = kappa t, n = 48, L = 4. (a) Values of the words (means over 3 seeds, four widths)
    lie on the solution of five equations with frozen uniform attention (dashed), in which nothing is left to choose.
    (b) The end of phase 1 falls like 1/m over m = 128 to 4096. The five equations have every sample right from kappa
    T_1 = {five:.1f} on, and so have runs from an orthogonal start (open circles: {low_exact:.1f} to {high_exact:.1f});
    from a random start (dots, 3 seeds) some samples begin on the wrong side, and the last of them comes right later,
    at kappa T_1 between {low:.1f} and {high:.1f}."""
    *shown, axes = given
    runs = shown[: len(evidence.theory_runs)]
    exact_runs = shown[len(evidence.theory_runs) :]
    values, times = axes
    spec = spec_of(runs[0])
    marks = first_phase(spec.samples, spec.length)
    for run in runs:
        color = WIDTHS.get(spec_of(run).width)
        if color is not None:
            early = run.sel(time=slice(0.1, 60)).mean("seed")
            for word in (1, 2, 3):
                label = f"$m = {spec_of(run).width}$" if word == 1 else None
                values.plot(
                    early.time, early.G.sel(word=word), color=color, label=label, **panels.DATA
                )
    tau = np.geomspace(0.1, 60, 200)
    exact = frozen_kernel(spec.samples, spec.length, tau)
    values.plot(tau, exact.G1, label="five equations", **panels.THEORY)
    values.plot(tau, exact.G3, **panels.THEORY)
    values.axhline(0, color="0.5", lw=0.6)
    values.text(30, 2.1, r"$G(\mu_1), G(\mu_2)$", ha="right", fontsize=8)
    values.text(30, -2.4, r"$G(\mu_3)$", ha="right", fontsize=8)
    values.set(
        xscale="log",
        xlim=(0.1, 60),
        xlabel=r"natural time $\tau = \kappa t$",
        ylabel=r"value of a word $G(\mu)$",
    )
    ps.legend(values, loc="upper left")
    panels.shade_phases(values, marks["end"])
    widths = np.array([spec_of(run).width for run in runs], float)
    T1 = np.array([first_phase_end(run) / run.kappa.isel(time=0) for run in runs])
    times.plot(
        np.repeat(widths, T1.shape[1]),
        T1.ravel(),
        "o",
        ms=4,
        color=BLUE,
        label="random start, 3 seeds",
    )
    exact_widths = [spec_of(run).width for run in exact_runs]
    exact_ends = [float(first_phase_end(run)) for run in exact_runs]
    exact_T1 = [end / float(run.kappa[0]) for end, run in zip(exact_ends, exact_runs, strict=True)]
    circles = {"ms": 6, "mfc": "none", "color": VERMILION, "label": "orthogonal start: no noise"}
    times.plot(exact_widths, exact_T1, "o", **circles)
    times.plot(
        widths,
        marks["end"] / (widths + spec.zeta**2 * spec.neurons / spec.length),
        label="five equations: no noise",
        **panels.THEORY,
    )
    times.set(xscale="log", yscale="log", xlabel="width $m$", ylabel="end of phase 1, $T_1$")
    times.set_xticks(widths, [f"{m:.0f}" for m in widths])
    times.minorticks_off()
    ps.legend(times, loc="upper right")
    ends = np.concatenate([np.ravel(first_phase_end(run)) for run in runs])
    return {
        "five": marks["end"],
        "low": ends.min(),
        "high": ends.max(),
        "low_exact": min(exact_ends),
        "high_exact": max(exact_ends),
    }


@ps.figure(
    "Theorem 3.3: the late laws (ours)",
    evidence.theory_runs[-1],
    evidence.many,
    panels=(1, 3),
    size=(8.2, 2.8),
)
def late_laws(wide, many, axes):
    """Late time at n = 48, L = 4, m = 4096 (3 seeds, a curve each) and for n = 10^7, L = 5 in the lazy limit; dashed:
    hard-margin solution. (a) kappa t times the loss tends to {loss_few:.2f} and to {loss_many:.0f}. (b) The ratio R of the
    rates of the common word and the targets tends to {ratio_few:.3f} and {ratio_many:.3f}: gradients balance by
    themselves. (c) Losses on training samples (solid) and on samples with new irrelevant words (dotted, with circles);
    the latter falls at n = 48 like t^{exponent:.2f} only."""
    cases = ((wide, BLUE, "$n = 48$, 3 seeds"), (many, VERMILION, "$n = 10^7$"))
    for run, color, label in cases:
        spec = spec_of(run)
        limit = late_time(spec.samples, spec.length)
        lanes = [run.sel(seed=s) for s in run.seed.values] if "seed" in run.dims else [run]
        for i, lane in enumerate(lanes):
            lane = lane.sel(time=slice(3, None))
            style = {"color": color, "lw": 1.4, "alpha": 0.8, "label": label if i == 0 else None}
            axes[0].plot(lane.time, lane.tau * lane.loss, **style)
            axes[1].plot(lane.time, lane.R, **style)
            axes[2].plot(lane.time, lane.loss, **style)
            axes[2].plot(
                lane.time,
                lane.test_loss,
                **style | NEW_WORDS | {"label": "new words" if i == 0 else None},
            )
        axes[0].axhline(limit.loss, **panels.THEORY)
        axes[1].axhline(limit.ratio, **panels.THEORY)
    for panel in axes[:2]:
        panel.plot([], [], **panels.THEORY, label="hard margin")
    axes[0].set(ylabel=r"$\kappa t\,\hat L$", ylim=(0, 18.5))
    axes[1].set(ylabel=r"$R = -\dot G(\mu_3)\,/\,\max\,\dot G(\mu_{1,2})$", ylim=(0.8, 1.6))
    axes[2].set(ylabel="loss", yscale="log")
    for panel in axes:
        panel.set(xscale="log", xlabel=r"natural time $\kappa t$")
        ps.legend(panel, loc="lower left" if panel is axes[2] else "lower right")
    few, most = (late_time(spec_of(run).samples, spec_of(run).length) for run, *_ in cases)
    late = wide.test_loss.sel(time=slice(float(wide.time[-1]) / 100, None))
    return {
        "loss_few": float(few.loss),
        "loss_many": float(most.loss),
        "ratio_few": float(few.ratio),
        "ratio_many": float(most.ratio),
        "exponent": float(ps.local_slope(late).mean()),
    }


SAMPLES = {5: (6, 12, 18, 24, 36, 60, 120), 20: (24, 42, 60, 66, 90, 150, 300)}
_threshold = tuple(
    evidence.lazy(n, L, evidence.TO_S_80) for L, counts in SAMPLES.items() for n in counts
)


@ps.figure("Sample-size threshold (ours)", *_threshold, panels=(1, 2), size=(7.6, 3.0))
def sample_threshold(*given):
    """A lazy network is right about new samples with one target word if and only if it has seen more than 3 (L + 1) samples.
    (a) Output on such samples (they are negatives) over log time, L = 5: for n = 12 it rises for ever, for n = 18 = 3 (L + 1)
    it stops, for n = 24 it falls; dashed: the slope of the hard-margin solution. (b) That slope over n / [3 (L + 1)]:
    runs (markers) to s = 80 on the closed form (lines), L = 5 and 20; dashed: the threshold."""
    *runs, axes = given
    output, slope = axes
    colors = {12: VERMILION, 18: GREEN, 24: BLUE, 60: PURPLE}
    for run in runs:
        spec = spec_of(run)
        if spec.length == 5 and spec.samples in colors:
            F, color = run.test_F.sel(type=2), colors[spec.samples]
            output.plot(run.s, F, color=color, label=f"$n = {spec.samples}$", **panels.DATA)
            line = float(F[-1]) - late_time(spec.samples, 5).exponents[1] * (
                run.s - float(run.s[-1])
            )
            output.plot(run.s[run.s > 10], line[run.s > 10], **panels.THEORY)
    output.axhline(0, color="0.4", lw=0.8)
    output.set(
        xlabel=r"log time $s = \log(1 + \kappa t)$",
        ylabel=r"output, $\mu_1$ and new words",
        ylim=(-10, 7),
    )
    output.text(2, 6, "wrong", fontsize=8, color="0.35", va="top")
    output.text(2, -9.4, "right", fontsize=8, color="0.35", va="bottom")
    output.plot([], [], **panels.THEORY, label="hard margin")
    ps.legend(output, loc="lower right")
    for L, color, marker in ((5, BLUE, "o"), (20, VERMILION, "s")):
        ratio = np.geomspace(0.3, 8, 200)
        slope.plot(
            ratio, [-late_time(x * threshold(L), L).exponents[1] for x in ratio], color=color, lw=1
        )
        chosen = [run for run in runs if spec_of(run).length == L]
        late = [run.isel(time=np.flatnonzero(run.s >= 40)[[0, -1]]) for run in chosen]
        found = [
            float(r.test_F.sel(type=2).diff("time").sum() / r.s.diff("time").sum()) for r in late
        ]
        slope.plot(
            [spec_of(r).samples / threshold(L) for r in chosen],
            found,
            marker,
            ms=5,
            color=color,
            label=f"$L = {L}$",
        )
    slope.axhline(0, color="0.4", lw=0.8)
    slope.axvline(1, color="0.35", ls="--", lw=1, label="threshold")
    slope.plot([], [], color="0.4", lw=1, label="closed form")
    slope.set(
        xscale="log",
        xlim=(0.3, 8),
        xlabel=r"samples, $n\,/\,[3(L+1)]$",
        ylabel="growth of that output per $s$",
    )
    slope.set_xticks([0.3, 0.5, 1, 2, 4, 8], ["0.3", "0.5", "1", "2", "4", "8"])
    slope.minorticks_off()
    ps.legend(slope, loc="lower left")


SETTING = "0.35"  # of the lines at the paper's two settings
# |a|^2 from 256 (a_j = +-1) over 1 (the picture of the paper) down to 1e-6, halved from run to run.
NORMS = tuple(2.0**k for k in range(8, -21, -1))


@ps.figure(
    "Where attention matters (ours)",
    evidence.relevance_over(NORMS),
    panels=(1, 2),
    size=(7.6, 3.0),
)
def where_attention_matters(runs, axes):
    """The sizes of the experiment (n = 60, orthogonal start) with ever smaller output weights, at kappa t = 10^6, over
    chi = sigma_0^2 / (L kappa), the speed of the scores in natural time. (a) Loss with frozen attention over loss:
    {literal:.3f} for |a|^2 = 256 (a_j = +-1), {picture:.2f} for |a|^2 = 1 (the picture of the paper), {least:.1f} to
    {most:.1f} from chi = 0.3 on. (b) Learned logits: where attention matters the pattern of Theorem 3.2 breaks, and the
    common word is attended to (S_31 > 0) instead of shunned, from chi = {turn:.1f} on."""
    ratio, scores = axes
    spec, end = spec_of(runs), runs.isel(time=-1)
    norm = np.asarray(runs.output) ** 2 * spec.neurons
    chi = spec.scale_0**2 / (spec.length * spec.width * norm * (spec.scale_0**2 + spec.scale_1**2))
    gain = np.asarray(frozen(end).loss / trained(end).loss)
    ratio.plot(chi, gain, "o-", color=BLUE, ms=3.5, lw=1.2)
    for position, name in ((256.0, r"$a_j = \pm1$"), (1.0, r"$a_j = \pm1/\sqrt{m_1}$")):
        i = int(np.argmin(abs(norm - position)))
        for panel in axes:
            panel.axvline(chi[i], color=SETTING, ls="--", lw=1)
            panel.annotate(
                name,
                (chi[i], 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(3, 0),
                textcoords="offset points",
                va="top",
                fontsize=7.5,
                color=SETTING,
            )
    ratio.axhline(1, color="0.4", lw=0.8)
    ratio.set(ylabel="loss, attention frozen / trained", yscale="log")
    ratio.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    ratio.minorticks_off()
    logits = trained(end).C / spec.width**0.5
    entries = {
        (1, 2): (BLUE, "$S_{12}$"),
        (3, 1): (VERMILION, "$S_{31}$"),
        (3, 3): (GREEN, "$S_{33}$"),
        (1, 1): (PURPLE, "$S_{11}$"),
    }
    for (key, query), (color, name) in entries.items():
        scores.plot(
            chi, logits.sel(key=key, query=query), "o-", color=color, ms=3, lw=1.2, label=name
        )
    scores.axhline(0, color="0.4", lw=0.8)
    scores.set(ylabel=r"learned logit $(S - S(0))/\sqrt{m}$", yscale="symlog")
    scores.set_yscale("symlog", linthresh=0.01)
    ps.legend(scores, loc="lower left")
    for panel in axes:
        panel.set(xscale="log", xlabel=r"$\chi = \sigma_0^2 / (L\kappa)$")
    turned = np.asarray(logits.sel(key=3, query=1) > 0)
    return {
        "literal": gain[np.argmin(abs(norm - 256))],
        "picture": gain[np.argmin(abs(norm - 1))],
        "least": gain[chi >= 0.3].min(),
        "most": gain[chi >= 0.3].max(),
        "turn": chi[turned & (chi > 0.1)].min() if turned.any() else np.nan,
    }


figures = (
    universal_first_phase,
    late_laws,
    sample_threshold,
    where_attention_matters,
)
