"""Figure 7: a small GPT on a text."""

from __future__ import annotations

import phasescope as ps

from ..claims import recorded
from ..claims.text import attention, grown, rate

BLUE, VERMILION, GREEN, *_ = ps.PALETTE
NAMES = ("settings of the page", "settings of the file")


@ps.figure("Figure 7", recorded.page, recorded.config, panels=(2, 3), size=(8.5, 4.6))
def figure_7(page, config, axes):
    """A small GPT on characters in the settings of nanoGPT's page (a, b, c) and of its file (d, e, f), mean over seeds. (a,
    d) Losses. (b, e) How much of their way to their largest norm the scores of attention, the read-out and the feed-forward
    layers have come; the read-out is the embedding, too. It is half way after {first:.0f} updates in (b) and
    {first_config:.0f} in (e), the scores after {second:.0f} and {second_config:.0f}: attention does not come first. When half
    of the loss has fallen the read-out is at {readout:.0%} of its way and the scores at {scores:.0%} in (b),
    {readout_config:.0%} and {scores_config:.0%} in (e). (c, f) The drift of attention between records, over its largest
    value, and the same divided by the learning rate, which falls: at the end {late:.0%} and {paced:.0%} are left in (c),
    {late_config:.0%} and {paced_config:.0%} in (f), so that attention slows down with the rate and not by itself."""
    for row, run, name in zip(axes.reshape(2, 3), (page, config), NAMES, strict=True):
        losses, norms, drifts = row
        for curve, color, label in (
            (run.training_loss, BLUE, "training"),
            (run.validation_loss, VERMILION, "validation"),
        ):
            _line(losses, curve, color, label)
        for curve, color, label in (
            (attention(run), VERMILION, "scores of attention"),
            (run.readout_norm, BLUE, "read-out"),
            (run.network_norm.mean("layer"), GREEN, "feed-forward"),
        ):
            _line(norms, grown(curve), color, label)
        for curve, color, label in zip(
            _drifts(run), (BLUE, VERMILION), ("drift", "drift / rate"), strict=True
        ):
            _line(drifts, curve / curve.max("time"), color, label)
        losses.set(ylabel="loss (nats)", title=name)
        norms.set(ylabel="share of its way")
        drifts.set(ylabel="over the largest", ylim=(0, 1.05))
        for panel in row:
            panel.set(xlabel="update", xlim=(0, float(run.time[-1])))
            ps.legend(panel)
    return _numbers(page) | {f"{name}_config": x for name, x in _numbers(config).items()}


def _line(axes, curve, color, label) -> None:
    mean = curve.mean("seed")
    axes.plot(mean.time, mean, color=color, lw=1.2, label=label)


def _drifts(run):
    drift = run.attention_drift.mean(("layer", "head")).isel(time=slice(1, None))
    return drift, drift / rate(run)


def _numbers(run) -> dict[str, float]:
    loss = run.validation_loss.mean("seed")
    half = float((loss[0] + loss.min()) / 2)
    middle = int((loss.values <= half).argmax())
    ends = [x.mean("seed") for x in _drifts(run)]
    halves = [
        float(ps.crossing(grown(x), 0.5, "up").mean("seed"))
        for x in (run.readout_norm, attention(run))
    ]
    return {
        "first": halves[0],
        "second": halves[1],
        "readout": float(grown(run.readout_norm).mean("seed")[middle]),
        "scores": float(grown(attention(run)).mean("seed")[middle]),
        "late": float(ends[0][-1] / ends[0].max()),
        "paced": float(ends[1][-1] / ends[1].max()),
    }


figures = (figure_7,)
