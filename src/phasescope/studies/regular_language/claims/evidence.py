"""The evidence that claims and figures share: each run is requested once and used by many."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..spec import presets
from ..theory import frozen, log_flow
from ..training import exhaustive, symmetric

E40 = float(np.exp(40))
E100 = float(np.exp(100))


def log_steps(first: int, last: int, count: int) -> list[int]:
    """Whole times, evenly spaced in log time."""
    return sorted({round(t) for t in np.geomspace(first, last, count)})


def every_step(last: int) -> range:
    """All times from the start."""
    return range(last + 1)


# The paper's experiments, recorded at every step: phase times are then exact.
figure_2 = ps.runs(symmetric, preset="figure_2", at=every_step(2000))
figure_3 = ps.runs(symmetric, preset="figure_3", at=every_step(2000))
figure_4 = ps.runs(symmetric, preset="figure_4", at=every_step(10_000))
figure_5 = ps.runs(symmetric, preset="figure_5", at=every_step(10_000))
figure_6 = ps.runs(symmetric, preset="figure_6", at=every_step(2000))
# The same settings, further.
even_pairs_to_1e4 = ps.runs(symmetric, steps=10_000, at=every_step(10_000))
parity_to_1e4 = ps.runs(symmetric, task="parity", steps=10_000, at=every_step(10_000))
even_pairs_long = ps.runs(symmetric, steps=2_000_000, at=[0, *log_steps(1, 2_000_000, 300)])
parity_long = ps.runs(
    symmetric, task="parity", steps=2_000_000, at=[0, *log_steps(1, 2_000_000, 300)]
)
even_pairs_flow = ps.runs(log_flow, horizon=E40)
parity_flow = ps.runs(log_flow, task="parity", horizon=E40)
even_pairs_frozen = ps.runs(frozen, horizon=E100)
# The theorems' own setting: lam = N^2, eta = N^(-4/3), phase 1 until 1 / (eta N).
theorem_6 = ps.runs(symmetric, preset="theorem_6")
theorem_16 = ps.runs(symmetric, preset="theorem_16")
theorem_64 = ps.runs(symmetric, preset="theorem_64", at=[0, 1, 2, 3, 4, *log_steps(5, 645, 40)])
theorem_256 = ps.runs(symmetric, preset="theorem_256", at=[0, 7, 6501])
# Early training under the theorems' scale, with steps so small that they are a flow: tau from 0.01 to 0.3, for parity
# to 0.15, where its laws were read off (the theorems ask for 1/N = 0.016 and 0.033).
early_even_pairs = ps.runs(
    symmetric,
    max_length=64,
    lam=4096.0,
    eta=1e-4,
    switch=3000,
    steps=3000,
    at=log_steps(100, 3000, 40),
)
early_parity = ps.runs(
    symmetric,
    task="parity",
    base_length=16,
    lam=900.0,
    eta=1e-4,
    switch=1500,
    steps=1500,
    at=log_steps(100, 1500, 40),
)
# N = 1024 by its flow: the step enters through tau alone, and the printed eta would take 65,000 steps.
THEOREM_1024 = presets["theorem_1024"]
theorem_1024 = ps.runs(
    log_flow,
    preset="theorem_1024",
    at=[0.0, 0.01, 0.1, 1.0, 2.0, 4.0, THEOREM_1024.eta * THEOREM_1024.steps],
)
theorem_sizes = (theorem_6, theorem_16, theorem_64, theorem_256)
# All strings in full coordinates.
full_even_pairs = ps.runs(exhaustive, steps=400, at=every_step(400))
reduced_even_pairs = ps.runs(symmetric, steps=400, at=every_step(400))
full_even_pairs_8 = ps.runs(exhaustive, max_length=8, steps=400, at=every_step(400))
reduced_even_pairs_8 = ps.runs(symmetric, max_length=8, steps=400, at=every_step(400))


def long_phase_1(N: int, last: float, eta: float, first: float = 20.0) -> ps.Request:
    """Phase 1 for ever at lam = N^2, recorded in log time; steps up to 5 follow the same path in tau within 1%."""
    steps = round(last / eta)
    return ps.runs(
        symmetric,
        max_length=N,
        lam=float(N * N),
        eta=eta,
        switch=steps,
        steps=steps,
        at=[0, *log_steps(max(1, round(first / eta)), steps, 70)],
    )


# How long phase 1 must last, and in which order parity's steps are learned.
to_half_the_loss = [long_phase_1(N, 20.0 * N**1.46, 1.0) for N in (6, 12, 24, 48, 96)]
parity_stairs = ps.runs(
    symmetric, task="parity", base_length=16, steps=20_000, at=[0, *log_steps(100, 20_000, 150)]
)
parity_signs = [
    ps.runs(symmetric, task="parity", base_length=base, steps=100_000, at=[0, 100, 100_000])
    for base in (8, 16)
]
