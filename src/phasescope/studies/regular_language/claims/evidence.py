"""The evidence that claims and figures share: each run is requested once and used by many."""

from __future__ import annotations

from typing import Any

import numpy as np

import phasescope as ps

from ..closed_forms import horizon, theorem_setting
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
def in_theorem_setting(N: int, records: int) -> ps.Request:
    """Even pairs there, with a record at the half of T."""
    _, _, switch, last = theorem_setting(N)
    at = {0, 1, 2, switch, (last + 1) // 2, *log_steps(switch + 1, last, records)}
    return ps.runs(symmetric, preset=f"theorem_{N}", at=sorted(at))


theorem_6 = in_theorem_setting(6, 10)
theorem_16 = in_theorem_setting(16, 20)
theorem_32 = in_theorem_setting(32, 20)
theorem_64 = in_theorem_setting(64, 40)
theorem_128 = in_theorem_setting(128, 10)
theorem_256 = in_theorem_setting(256, 4)


def parity_in_theorem_setting(base_length: int) -> ps.Request:
    """Parity at the theorems' own scalings with unit constants."""
    N = 2 * base_length - 2
    lam, eta, switch, last = theorem_setting(N)
    return ps.runs(
        symmetric,
        task="parity",
        base_length=base_length,
        lam=lam,
        eta=eta,
        switch=switch,
        steps=last,
        at=[0, 1, *log_steps(switch, (last + 1) // 2, 8), last],
    )


theorem_parity = tuple(parity_in_theorem_setting(base) for base in (9, 17, 33, 65, 129))
theorem_parity_small = tuple(parity_in_theorem_setting(base) for base in (3, 5, 9))
# Phase 1 at the theorems' scale and with small steps, eta = 1 / 16 N: t_0 = 16 c_0 for every N, here up to c_0 = 8.
EARLY_STEPS = (0, 1, 2, 3, 4, 8, 16, 32, 64, 128)


def phase_1_of(N: int, **task: Any) -> ps.Request:
    """The first 128 updates of phase 1 at lam = N^2."""
    return ps.runs(
        symmetric, lam=float(N * N), eta=1 / (16 * N), switch=128, steps=128, at=EARLY_STEPS, **task
    )


phase_1_sizes = {N: phase_1_of(N, max_length=N) for N in (16, 32, 64, 128, 256, 512, 1024)}
parity_phase_1_sizes = {
    2 * base - 2: phase_1_of(2 * base - 2, task="parity", base_length=base)
    for base in (9, 17, 33, 65, 129, 257, 513)
}
# Token scores have one number a position: N up to 1024. Attention scores have one a pair of positions: up to 128.
for_tokens = tuple(phase_1_sizes[N] for N in (64, 128, 256, 512, 1024))
for_scores = tuple(phase_1_sizes[N] for N in (16, 32, 64, 128))
parity_for_tokens = tuple(parity_phase_1_sizes[N] for N in (64, 128, 256, 512, 1024))
parity_for_scores = tuple(parity_phase_1_sizes[N] for N in (16, 32, 64, 128))
# Three updates at ever smaller steps.
ETAS = [0.02, 0.01, 0.003, 0.001, 0.0003, 0.0001]
first_steps = ps.sweeps(
    symmetric, max_length=16, lam=256.0, eta=ETAS, switch=3, steps=3, at=[0, 1, 2, 3]
)
first_steps_of_parity = ps.sweeps(
    symmetric,
    task="parity",
    base_length=9,
    lam=256.0,
    eta=ETAS,
    switch=3,
    steps=3,
    at=[0, 1, 2, 3],
)


def to_T(lam: float) -> ps.Request:
    """Even pairs at N = 6 in the theorems' setting with a larger lam: eta = lam^(-2/3), phase 1 until 1 / (eta N)."""
    eta = lam ** (-2 / 3)
    switch = int(np.ceil(1 / (6 * eta) - 1e-9))
    last = int(np.floor(horizon(lam, eta, 6) + 1e-9))
    at = [0, switch, *log_steps(switch + 1, last, 20)]
    return ps.runs(
        symmetric, max_length=6, lam=lam, eta=eta, switch=switch, steps=last, at=sorted(set(at))
    )


larger_lam = tuple(to_T(36.0 * factor) for factor in (1.0, 10.0, 100.0, 1000.0))
# Early training under the theorems' scale, with steps so small that they are a flow: tau from 0.01 to 0.3 (the theorems
# ask for 1/N = 0.016).
early_even_pairs = ps.runs(
    symmetric,
    max_length=64,
    lam=4096.0,
    eta=1e-4,
    switch=3000,
    steps=3000,
    at=log_steps(100, 3000, 40),
)
# N = 1024 by its flow: the step enters through tau alone, and the printed eta would take 65,000 steps.
THEOREM_1024 = presets["theorem_1024"]
theorem_1024 = ps.runs(
    log_flow,
    preset="theorem_1024",
    at=[0.0, 0.01, 0.1, 1.0, 2.0, 4.0, THEOREM_1024.eta * THEOREM_1024.steps],
)
theorem_sizes = (theorem_6, theorem_16, theorem_64, theorem_256)
theorem_family = (theorem_16, theorem_32, theorem_64, theorem_128, theorem_256)
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


# How long phase 1 must last: until all strings are right, and to half the loss.
until_right = tuple(
    ps.runs(
        symmetric,
        max_length=N,
        lam=float(N * N),
        eta=eta,
        switch=round(25 * N / eta),
        steps=round(25 * N / eta),
        at=[0, *log_steps(round(20 / eta), round(25 * N / eta), 300)],
    )
    for N, eta in ((6, 1.0), (12, 1.0), (24, 1.0), (48, 2.0), (96, 2.0), (192, 4.0), (384, 5.0))
)
# To half the loss, and in which order parity's steps are learned.
to_half_the_loss = [long_phase_1(N, 20.0 * N**1.46, 1.0) for N in (6, 12, 24, 48, 96)]
parity_stairs = ps.runs(
    symmetric, task="parity", base_length=16, steps=20_000, at=[0, *log_steps(100, 20_000, 150)]
)
parity_signs = [
    ps.runs(symmetric, task="parity", base_length=base, steps=100_000, at=[0, 100, 100_000])
    for base in (8, 16)
]
