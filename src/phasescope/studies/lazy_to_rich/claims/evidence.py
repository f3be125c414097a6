"""The evidence that claims and figures share: each run is asked for once and used by many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import phasescope as ps

from ..theory import exact_flow, joint_flow, mean_field_flow, paper_flow, stage_one
from ..training import high_dimensional, online_sgd


def moments(end: float, count: int = 600, first: float = 0.05) -> list[float]:
    """Record times of a flow, even in log time, so close that eight of them carry ten digits of what is between."""
    times = np.geomspace(first, end, count)
    times[-1] = end
    return [0.0, *times.tolist()]


def every(interval: float, end: float) -> list[float]:
    """Record times of descent, from the start on."""
    return (interval * np.arange(round(end / interval) + 1)).tolist()


def updates(last: int, eta: float = 0.1, count: int = 60) -> list[float]:
    """Record times of descent where each is expensive, even in the log of the number of updates."""
    counts = sorted({round(k) for k in np.geomspace(1, last, count)})
    return [round(eta * k, 12) for k in counts]


def until(end: float, count: int = 1000) -> dict[str, Any]:
    """A flow up to `end`, recorded as closely as events ask for."""
    return {"horizon": end, "at": moments(end, count)}


def closely(end: float, first: float, last: float) -> dict[str, Any]:
    """A flow up to `end` with a steep transition somewhere from `first` to `last`.

    Records are 0.25 % apart there, 2 % elsewhere.
    """
    before = np.geomspace(0.05, first, round(50 * np.log(first / 0.05)), endpoint=False)
    inside = np.geomspace(first, last, round(400 * np.log(last / first)), endpoint=False)
    after = np.geomspace(last, end, round(50 * np.log(end / last)))[:-1]
    return {"horizon": end, "at": [0.0, *np.concatenate([before, inside, after]).tolist(), end]}


# Stage I: the first layer alone, from the appendix's start (p = 0) and from the main text's (p = sigma).
STAGE_ONE_END = 1e4  # of the paper's 100,000 steps of 0.1
stage_one_runs = ps.sweeps(stage_one, p_start=(0.0, 0.01), **until(1e8))
joint = ps.runs(joint_flow, **until(1e4))

# Stage II at the settings of Figure 1, to the end of its 100,000 steps: the true model, its limit of many keys, the
# printed equations, and what lies between.
END = 10_000.0
CLOSE = moments(END, 1000)
true = ps.runs(exact_flow, preset="figure_1", at=CLOSE)
limit = ps.runs(mean_field_flow, preset="figure_1", at=CLOSE)
paper = ps.runs(paper_flow, preset="figure_1", at=CLOSE)
true_tied = ps.runs(exact_flow, preset="figure_1", kappa=2.0, at=CLOSE)
paper_untied = ps.runs(paper_flow, preset="figure_1", kappa=1.0, at=CLOSE)
true_boolean = ps.runs(exact_flow, preset="figure_3", at=CLOSE)
true_unbalanced = ps.runs(exact_flow, preset="figure_1", imbalance=2.0, at=CLOSE)
unbalanced_steps = ps.runs(
    online_sgd, imbalance=2.0, eta=1.0, batch=64, steps=200, at=every(1.0, 200.0)
)


def over(arm: Any, end: float, count: int = 1000, **axes: Any) -> ps.Request:
    """A sweep of a flow, recorded as closely as events ask for."""
    return ps.sweeps(arm, **until(end, count), **axes)


# Scaling: one field at a time, the others as in Figure 1. T_III grows like (1 + alpha)^2 / w*^2.
ALPHAS = (3.0, 4.5, 7.0, 10.0, 15.0)
# The printed equations, which cost little, are looked at further out, where corrections to an exponent are smaller.
PRINTED_ALPHAS = (6.0, 9.0, 14.0, 20.0, 30.0)
SIGMAS = tuple(np.geomspace(1e-2, 1e-8, 7))
LENGTHS = (60, 150, 400, 1000)
PRINTED_LENGTHS = (150, 400, 1000, 2500)
TARGETS = tuple(np.geomspace(0.08, 0.24, 5))  # w*, from sigma = 1e-7
paper_alphas = over(paper_flow, 4e5, alpha=PRINTED_ALPHAS)
true_alphas = over(exact_flow, 2.4e5, alpha=ALPHAS)
paper_sigmas = over(paper_flow, 7e3, sigma=SIGMAS)
true_sigmas = over(exact_flow, 1.4e4, sigma=SIGMAS)
# What is left of the start falls like 1 / ln(1 / sigma): further out for a limit.
SMALLER = tuple(np.geomspace(1e-2, 1e-10, 9))
paper_smaller = over(paper_flow, 9e3, 1500, sigma=SMALLER)
true_smaller = over(exact_flow, 1.8e4, 1500, sigma=SMALLER)
paper_targets = over(paper_flow, 2.1e5, 1500, w_star=TARGETS, sigma=1e-7)
true_targets = over(exact_flow, 4e5, 1500, w_star=TARGETS, sigma=1e-7)
paper_lengths = over(paper_flow, 1e5, length=PRINTED_LENGTHS)
true_lengths = over(exact_flow, 9.5e4, length=LENGTHS)
# The proof's observation time where its premises hold: w* = 0.3.
paper_alphas_mild = over(paper_flow, 1.8e5, alpha=ALPHAS, w_star=0.3)
paper_sigmas_mild = over(paper_flow, 2e4, sigma=SIGMAS, w_star=0.3)
paper_lengths_mild = over(paper_flow, 8e4, length=LENGTHS, w_star=0.3)
# Everything that the durations of Theorem 4 are read off: over alpha, sigma, w* and the length.
PAPER_MILD = (paper_alphas_mild, paper_sigmas_mild, paper_targets, paper_lengths_mild)
PAPER = (paper_alphas, paper_sigmas, paper_targets, paper_lengths)
TRUE = (true_alphas, true_sigmas, true_targets, true_lengths)

# Phase I: from what length on the 4-gram comes before anything else. Head 1 is the same in every arm.
LONG = tuple(round(40 * 10 ** (k / 4)) for k in range(15))  # 40 to 126,000
paper_long = over(paper_flow, 400.0, 300, alpha=(1.0, 3.0, 10.0), length=LONG)
true_long = over(exact_flow, 400.0, 300, length=LONG[10::2])

# The 4-gram head alone: its flow is the same in every arm of Stage II, and cheap for any length.
four_gram_alphas = over(paper_flow, 1.2e4, 700, alpha=[0.3, 0.5, 1.0, 3.0, 10.0])
four_gram_long_alphas = over(paper_flow, 1.2e4, 700, alpha=[1.0, 1.5, 3.0, 10.0], length=10_000)
four_gram_sigmas = over(
    paper_flow, 1000.0, 500, sigma=tuple(np.geomspace(1e-2, 1e-4, 5)), length=1_000_000
)
four_gram_lengths = over(paper_flow, 1000.0, sigma=1e-6, length=(100, 400, 1600, 6400, 25_600))

# The induction head over its target: the printed equations exist for w* < 1/sqrt(2), and are steep near it.
paper_mild = over(paper_flow, 4e4, w_star=[0.1, 0.2, 0.3, 0.38])
paper_strong = over(paper_flow, 4000.0, 4000, w_star=[0.45, 0.49, 0.6, 0.65])
paper_steep = over(paper_flow, 4000.0, 4000, w_star=[0.62, 0.65, 0.67, 0.68])
true_mild = over(exact_flow, 2.5e4, 1200, w_star=[0.2, 0.35, 0.49])
true_steep = over(exact_flow, 2.5e4, 1200, w_star=[0.52, 0.55, 0.58, 0.6])
# While h settles: w stays below a hundredth of w*.
settling = over(paper_flow, 500.0, 600, w_star=[0.1, 0.2, 0.3, 0.38, 0.49, 0.6], sigma=5e-4)


def descent(preset: str) -> ps.Request:
    """Descent on samples: a quarter of the batch, until the emergence is over; `--full` is the paper's own size."""
    small = ps.runs(online_sgd, preset=preset, batch=250, steps=45_000, at=_times(45_000))
    return ps.sized(small, ps.runs(online_sgd, preset=preset, at=_times(100_000)))


def _times(steps: int) -> list[float]:
    return sorted({*updates(steps), *every(10.0, 0.1 * steps)})


figure_1 = descent("figure_1")
figure_3 = descent("figure_3")

# What goes wrong in Stage II when Stage I is taken as stated, and when the printed index range is.
blurred = ps.runs(online_sgd, preset="frozen_first_layer", steps=40_000, at=every(100.0, 4000.0))
printed_range = ps.runs(online_sgd, preset="printed_range", steps=45_000, at=every(100.0, 4500.0))

# Figure 4: descent in D dimensions, in closed form. D = 20; with `--full` D = 100, and the paper's 100,000 updates of
# gradient descent.
GD: dict[str, Any] = {"preset": "figure_4_gd"}
ADAM: dict[str, Any] = {"preset": "figure_4_adam", "steps": 4000}
IN_CLOSED_FORM: dict[str, Any] = {"sampled": False}
matrix_gd = ps.sized(
    ps.runs(high_dimensional, dim=20, steps=40_000, at=every(4.0, 4000.0), **GD, **IN_CLOSED_FORM),
    ps.runs(high_dimensional, at=every(10.0, 10_000.0), **GD, **IN_CLOSED_FORM),
)
matrix_adam = ps.sized(
    ps.runs(high_dimensional, dim=20, at=every(0.0125, 2.0), **ADAM, **IN_CLOSED_FORM),
    ps.runs(high_dimensional, at=every(0.0125, 2.0), **ADAM, **IN_CLOSED_FORM),
)
# The paper's own experiment, computed on one GPU and recorded, in all readings of what the text leaves open.
RECORDED = Path(__file__).parent.parent / "recorded"
READINGS: dict[str, Any] = {
    "shape": ["matrix", "diagonal"],
    "reading": ["linear", "squared"],
    "reduction": ["mean", "sum"],
}
figure_4_gd = ps.recorded(
    ps.sweeps(high_dimensional, preset="figure_4_gd", at=every(10.0, 10_000.0), **READINGS),
    RECORDED / "figure_4_gd.zip",
)
figure_4_adam = ps.recorded(
    ps.sweeps(
        high_dimensional,
        preset="figure_4_adam",
        at=sorted({*every(0.0125, 3.0), *every(0.25, 50.0)}),
        **READINGS,
    ),
    RECORDED / "figure_4_adam.zip",
)

# The logistic law, from sigma = 0.01 w*.
logistic_weak = ps.runs(exact_flow, w_star=0.2, sigma=0.002, **until(2.5e4))
logistic_strong = ps.runs(exact_flow, w_star=0.49, sigma=0.0049, **until(END))

# Sharpness over the start and the target: 640 runs, of the figure alone.
SIGMA_GRID = tuple(np.geomspace(1e-5, 0.05, 32))
TARGET_GRID = tuple(np.linspace(0.25, 0.6, 20))
diagram_true = over(exact_flow, 3e4, w_star=TARGET_GRID, sigma=SIGMA_GRID)
diagram_paper = ps.sweeps(
    paper_flow, **closely(3e4, 400.0, 12_000.0), w_star=TARGET_GRID, sigma=SIGMA_GRID
)
