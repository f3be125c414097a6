"""The evidence that the claims share: each run is asked for once and used by many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

import phasescope as ps

from ..spec import presets
from ..theory import gram, orthogonal, population, six_families
from ..training import gram_descent, weights
from . import tables

POWERS = (1, 2, 3)  # T* = m^p
WIDTHS = (128, 256, 512, 1024, 2048, 4096)
SEEDS = 3


def log_times(first: float, last: float, per_decade: float) -> list[float]:
    """Evenly spaced in log time."""
    return ps.log_times(last, first=first, per_decade=per_decade).lay_out().tolist()


# Dense where the phases meet, sparse where everything is a power of log time.
EARLY = [0.0, *log_times(0.1, 1.0, 4)[:-1], *log_times(1.0, 30.0, 22)]
LATE = [*EARLY[:-1], *log_times(30.0, 1e8, 7)]

theory_numbers = presets["theory"]
# The theorems' regime: L = 4, n = 48 with all irrelevant words distinct, m1 = 64, zeta = 0.1, to kappa t = 1e8.
theory_runs = tuple(
    ps.sweeps(gram, preset="theory", width=m, seeds=SEEDS, block=SEEDS, at=LATE) for m in WIDTHS
)
wide_runs = theory_runs[-2:]
# Only the start, in which the neurons are seen.
TO_100 = [*EARLY[:-1], *log_times(30.0, 100.0, 10)]
neuron_runs = tuple(
    ps.sweeps(
        six_families, preset="theory", width=m, seeds=SEEDS, block=SEEDS, horizon=100.0, at=TO_100
    )
    for m in WIDTHS
)
# The first phase for smaller and smaller starts.
ZETAS = (1.0, 0.5, 0.2, 0.1, 0.03)
start_runs = tuple(
    ps.sweeps(
        gram,
        preset="theory",
        width=1024,
        zeta=zeta,
        seeds=SEEDS,
        block=SEEDS,
        horizon=1e4,
        at=[*EARLY[:-1], *log_times(30.0, 1e4, 7)],
    )
    for zeta in ZETAS
)
# Larger initial weights, with the attention trained and frozen.
large_start = tuple(
    ps.sweeps(gram, preset="theory", width=m, zeta=1.0, attention=[1.0, 0.0], seeds=2, at=LATE)
    for m in (256, 2048)
)
# Fewer samples than 3 (L + 1), and more; d is the smallest that keeps all words distinct.
few = ps.sweeps(gram, preset="theory", samples=12, length=5, dim=35, width=2048, seeds=4, at=LATE)
enough = ps.sweeps(
    gram, preset="theory", samples=24, length=5, dim=67, width=2048, seeds=4, at=LATE
)
few_large_start = ps.sweeps(
    gram, preset="theory", samples=12, length=5, dim=35, width=256, zeta=1.0, seeds=4, at=LATE
)
# The paper's experiment as a flow; eight seeds with attention trained and frozen.
EPOCHS = 30_000


def of_epochs(per_decade: float) -> list[float]:
    """Times of the paper's experiment, t = 0.01 epochs, at whole epochs."""
    return [0.0, *(0.01 * np.unique(np.round(log_times(1.0, EPOCHS, per_decade)))).tolist()]


# Its gradient descent, exactly, in the Gram matrices; recorded, since eight times 30,000 steps take minutes.
RECORDED = Path(__file__).parent.parent / "recorded"
figure_1_descent = ps.recorded(
    ps.sweeps(gram_descent, preset="figure1", seeds=8, at=of_epochs(16)),
    RECORDED / "figure_1.zip",
)


def slim(ds: xr.Dataset) -> xr.Dataset:
    """What is recorded of it: the values of the special words, and neither margins nor changes, which follow from the rest."""
    return ds.sel(word=[1, 2, 3]).drop_vars(["margin", "C_all"])


figure_1 = ps.sweeps(gram, preset="figure1", attention=[1.0, 0.0], seeds=8, at=of_epochs(16))
figure_1_literal = ps.sweeps(
    gram, preset="figure1_literal", attention=[1.0, 0.0], seeds=8, at=of_epochs(16)
)
# Its gradient descent, epoch by epoch where things happen.
descent = ps.runs(weights, preset="figure1", at=of_epochs(16))
descent_literal = ps.runs(weights, preset="figure1_literal", at=of_epochs(16))
figure_1_distinct = ps.runs(gram, preset="figure1_distinct", at=of_epochs(16))

# The orthogonal start with distinct words, where all sizes are mere numbers; m = 10^6 makes it lazy.
LAZY = {"preset": "theory", "width": 10**6, "dim": 10**9}
TO_S_80 = float(np.exp(80.0))
many = ps.runs(orthogonal, samples=10_000_002, length=5, at=LATE, **LAZY)
sixty = ps.runs(orthogonal, samples=60, length=5, at=LATE, **LAZY)


def lazy(samples: int, length: int, horizon: float = 1e8) -> ps.Request:
    """One lazy run, recorded to its end."""
    return ps.runs(
        orthogonal,
        samples=samples,
        length=length,
        horizon=horizon,
        at=ps.log_times(horizon, first=0.1, per_decade=5),
        **LAZY,
    )


# The theorems' regime without noise, in the limit of many rows: 9 widths over nearly five decades.
LADDER = tuple(4**k for k in range(4, 13))
LADDER_END = 1e30
ladder = tuple(
    ps.runs(
        orthogonal,
        preset="theory",
        width=m,
        horizon=LADDER_END,
        at=[*EARLY[:-1], *log_times(30.0, LADDER_END, 7)],
    )
    for m in LADDER
)

test_runs = tuple(lazy(n, L, float(np.exp(40.0))) for n, L in ((48, 4), (24, 5), (600, 5)))
ratio_runs = (lazy(48, 4), lazy(600, 5), lazy(6000, 5))
coefficient_runs = tuple(lazy(n, 5) for n in (24, 60, 90))
threshold_runs = tuple(
    lazy(n, L, TO_S_80) for n, L in ((12, 5), (18, 5), (24, 5), (60, 20), (66, 20))
)
# All samples there are, of five words from vocabularies of 8, 64 and a million.
population_runs = tuple(
    ps.runs(
        population,
        **LAZY | {"length": 5, "dim": dim, "at": ps.log_times(1e8, first=0.1, per_decade=5)},
    )
    for dim in (8, 64, 10**6)
)
# The sizes of the experiment with a Kaiming start and ever smaller output weights, |a|^2 = 256 ... 1e-6.
NORMS = (256.0, 16.0, 1.0, 1 / 16, 1 / 256, 1e-3, 1e-4, 1e-5, 1e-6)


def relevance_over(norms: tuple[float, ...]) -> ps.Request:
    """Attention trained and frozen, over |a|^2."""
    return ps.sweeps(
        orthogonal,
        preset="orthogonal",
        sigma_0=(2 / 64) ** 0.5,
        sigma_1=(2 / 128) ** 0.5,
        output=tuple((norm / 256) ** 0.5 for norm in norms),
        attention=[1.0, 0.0],
        horizon=1e6,
        at=ps.log_times(1e6, first=0.1, per_decade=8),
    )


relevance = relevance_over(NORMS)
# The smallest sizes, for statements that are exact.
SMALL = {
    "preset": "tiny",
    "clock": "natural",
    "horizon": 1e4,
    "at": ps.log_times(1e4, first=0.1, per_decade=5),
}
small_families = ps.runs(six_families, **SMALL)
SMALL_DESCENT = {
    "preset": "tiny",
    "steps": 2000,
    "at": [round(0.01 * k, 2) for k in range(0, 2001, 100)],
}
SMALL_SYMMETRIC = {
    "preset": "theory",
    "samples": 12,
    "length": 5,
    "dim": 35,
    "zeta": 1.0,
    "width": 64,
    "horizon": 1e4,
    "at": SMALL["at"],
}

# The closed system where every irrelevant word stands in one place only, and where words repeat.
distinct_words = ps.tables(tables.closed_system_errors, words="distinct")
shared_words = ps.tables(tables.closed_system_errors, words="shared")
# Draws of the weights at time 0: over the width, over the size of the start, over the number of samples.
START_WIDTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
START_ZETAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
START_SAMPLES = (24, 36, 48, 72, 96, 144)
starts = ps.tables(tables.draws_over_width, widths=START_WIDTHS, zeta=0.1, seeds=40)
starts_over_zeta = ps.tables(tables.draws_over_zeta, zetas=START_ZETAS, width=1024, seeds=80)
starts_over_samples = ps.tables(
    tables.draws_over_samples, counts=START_SAMPLES, width=1024, seeds=30
)
