"""The evidence that the claims share: each run is asked for once and used by many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import t_bar, t_snap
from ..data import common_weight
from ..theory import closed_form, decoupled, memoryless, theory, with_residuals
from ..training import population, sampled, symmetric
from . import tables

# eta_Z at eta_Y = 1; at 0 the attention is held where it starts.
RATES = (0.0, 0.01, 0.1, 1.0, 10.0)
# How many units of time the long flows last.
LATE = 1e3
# Sizes of the tables about random directions of the classes.
RANDOM_DIRECTIONS = {"tokens": 30, "classes": 5, "outputs": 40, "eta_Y": 1.0}
# K, M and the overlap rho: inside Assumption 2, which asks for 1 / (K (K - 1)) > rho >= 6 / sqrt(M).
INSIDE = ((4.0, 1e4, 0.07), (10.0, 1e6, 0.01))
SLOW = (1e-3, 1e-2, 0.1)  # eta_Z at eta_Y = 1: Assumption 1 (c), with ten for "much"
FAST = (1.0, 10.0)


def log_grid(
    unit: float, *extra: float, first: float = 1e-2, last: float = LATE, per_decade: int = 20
) -> list[float]:
    """0, evenly spaced log times from `first` to `last` units, and some more."""
    count = round(per_decade * np.log10(last / first)) + 1
    return sorted({0.0, *(unit * np.geomspace(first, last, count)), *(unit * x for x in extra)})


# Syn-Small in flow: strong correlation (rho = 0.72), K = 2, M = 34.
UNIT_SMALL = float(t_bar(2, 34, 1.0))
_small: dict[str, Any] = {
    "eta_Z": RATES,
    "horizon": UNIT_SMALL * LATE,
    "at": log_grid(UNIT_SMALL, 0.3, 3.0, 1000 / UNIT_SMALL),
}
small = ps.sweeps(symmetric, optimiser="flow", **_small)
small_decoupled = ps.sweeps(decoupled, **_small)
small_theory = ps.sweeps(theory, **_small)
small_memoryless = ps.sweeps(memoryless, **_small)

# One common token, weak correlation, as Theorem 4 assumes.
OVERLAPS = (0.01, 0.02)
CLASSES = (4.0, 10.0)
OUTPUTS = 1000.0
UNITS = {K: float(t_bar(K, OUTPUTS, 1.0)) for K in CLASSES}
_one_token: dict[str, Any] = {"common": 1, "distinct": 20}
_one = _one_token | {
    "classes": CLASSES,
    "vocabulary": OUTPUTS,
    "p_common": [float(common_weight(rho, 20)) for rho in OVERLAPS],
    "eta_Z": (1e-3, 0.1, 1.0, 10.0),
    "horizon": UNITS[10.0] * LATE,
    "at": sorted({*log_grid(UNITS[10.0], per_decade=10), *log_grid(UNITS[4.0], per_decade=10)}),
}
one = ps.sweeps(symmetric, optimiser="flow", **_one)
one_decoupled = ps.sweeps(decoupled, **_one)
one_theory = ps.sweeps(theory, **_one)
one_memoryless = ps.sweeps(memoryless, **_one)


def held(
    arm: Callable[..., ps.Plan], K: float, M: float, rho: float, first: float = 0.1, **more: Any
) -> ps.Request:
    """Attention held at an overlap rho: what the decoder alone does, up to 100 units of time."""
    unit = float(t_bar(K, M, 1.0))
    return ps.runs(
        arm,
        classes=K,
        vocabulary=M,
        p_common=float(common_weight(rho, 20)),
        eta_Z=0.0,
        horizon=100 * unit,
        at=log_grid(unit, first=first, last=100.0, per_decade=10),
        **_one_token,
        **more,
    )


def inside(
    arm: Callable[..., ps.Plan],
    eta_Z: tuple[float, ...] = SLOW,
    common: int = 1,
    sizes: tuple[tuple[float, float, float], ...] = INSIDE,
    **more: Any,
) -> tuple[ps.Request, ...]:
    """Flows inside Assumption 2 up to 1000 units of time, one sweep over the attention's rate for each size."""
    found = []
    for K, M, rho in sizes:
        unit = float(t_bar(K, M, 1.0))
        sweep = ps.sweeps(
            arm,
            classes=K,
            vocabulary=M,
            common=common,
            distinct=20,
            p_common=float(common_weight(rho, 20, common=common)),
            eta_Z=eta_Z,
            horizon=unit * LATE,
            at=log_grid(unit, per_decade=10),
            **more,
        )
        found.append(sweep)
    return tuple(found)


# Training, the decoupled decoder and the theory's equation inside the assumptions.
inside_true = inside(symmetric, optimiser="flow")
inside_decoupled = inside(decoupled, sizes=INSIDE[1:])
inside_theory = inside(theory)
# The same where the attention is as fast as the decoder, or faster: Assumption 1 (c) is broken.
inside_fast = inside(symmetric, FAST, sizes=INSIDE[1:], optimiser="flow")
# Both with the residuals of training summed beside it, and Syn-Small.
inside_residuals = inside(with_residuals)
inside_residuals_fast = inside(with_residuals, FAST, sizes=INSIDE[1:])
small_residuals = ps.sweeps(with_residuals, **_small)
# Three common tokens, each as frequent in every class.
inside_several = inside(symmetric, common=3, sizes=INSIDE[:1], optimiser="flow")
inside_several_theory = inside(theory, common=3, sizes=INSIDE[:1])

# Both rates together at a fixed ratio of ten, and the decoder's rate alone.
_four: dict[str, Any] = _one_token | {
    "classes": INSIDE[0][0],
    "vocabulary": INSIDE[0][1],
    "p_common": float(common_weight(INSIDE[0][2], 20)),
}
RESCALED_AT = tuple(float(x) for x in 2.0 ** np.arange(0, 15.25, 0.25))
inside_rescaled = ps.sweeps(
    symmetric,
    ratio=10.0,
    eta_Z=(0.025, 0.05, 0.1, 0.2),
    optimiser="flow",
    horizon=RESCALED_AT[-1],
    at=RESCALED_AT,
    **_four,
)
_ratios: dict[str, Any] = _four | {
    "eta_Y": (10.0, 30.0, 100.0, 300.0),
    "eta_Z": 1.0,
    "horizon": 1e5,
    "at": tuple(np.geomspace(1.0, 1e5, 51)),
}
inside_ratios = ps.sweeps(symmetric, optimiser="flow", **_ratios)
inside_ratios_theory = ps.sweeps(theory, **_ratios)

held_4 = held(symmetric, 4.0, 300.0, 0.0188, optimiser="flow")
held_4_decoupled = held(decoupled, 4.0, 300.0, 0.0188)
held_10 = held(symmetric, 10.0, 1000.0, 0.0275, optimiser="flow")
held_10_decoupled = held(decoupled, 10.0, 1000.0, 0.0275)
held_inside = tuple(
    request
    for size in INSIDE
    for request in (
        held(symmetric, *size, first=1e-3, optimiser="flow"),
        held(decoupled, *size, first=1e-3),
    )
)

# The force on a held attention against its overlap.
_force = _one_token | {
    "classes": 10.0,
    "p_common": [float(common_weight(rho, 20)) for rho in (1e-4, 2e-4, 4e-4, 7e-4, 1e-3)],
    "eta_Z": 0.0,
    "horizon": UNITS[10.0],
    "at": [0.3 * UNITS[10.0], UNITS[10.0]],
}
force = ps.sweeps(symmetric, vocabulary=1e3, optimiser="flow", **_force)
# The same inside Assumption 2, with outputs enough for the smallest overlap.
_force_inside = _force | {
    "vocabulary": 1e10,
    "horizon": float(t_bar(10.0, 1e10, 1.0)),
    "at": [0.3 * float(t_bar(10.0, 1e10, 1.0)), float(t_bar(10.0, 1e10, 1.0))],
}
force_inside = ps.sweeps(symmetric, optimiser="flow", **_force_inside)
force_inside_theory = ps.sweeps(theory, **_force_inside)

# Theorem 4 against its own equation, updates summed as printed.
SNAP_10 = float(t_snap(10.0, 1000.0, 0.5))
theorem_4 = ps.runs(
    theory,
    classes=10.0,
    vocabulary=1000.0,
    p_common=float(common_weight(0.01, 20)),
    eta_Y=0.5,
    eta_Z=0.5,
    class_weight="sum",
    horizon=14 * SNAP_10,
    at=sorted([0.0, *np.geomspace(1.0, 14 * SNAP_10, 80), 1000.0]),
    **_one_token,
)
# Where the decoupled force turns round: strong correlation, one common token.
turning = ps.sweeps(
    decoupled,
    classes=2.0,
    vocabulary=34.0,
    p_common=float(common_weight(0.7, 20)),
    eta_Z=(0.3, 1.0, 3.0, 10.0),
    horizon=UNIT_SMALL * LATE,
    at=log_grid(UNIT_SMALL),
    **_one_token,
)

# Syn-Medium in flow: the ratio of the rates, the number of classes, and the horizon eta_Z t.
RATIOS = (0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
HORIZONS = (1e2, 1e3, 1e4, 1e5, 1e6)
_medium: dict[str, Any] = {
    "per_last": 2,
    "classes": (2.0, 6.0, 10.0, 20.0, 100.0),
    "eta_Y": RATIOS,
    "eta_Z": 1.0,
    "horizon": 1e6,
    "at": HORIZONS,
}
medium = ps.sweeps(symmetric, optimiser="flow", **_medium)
medium_memoryless = ps.sweeps(memoryless, **_medium)

# The same path at other rates: eta_Y = eta_Z, recorded on a grid that is closed under doubling.
DOUBLED = tuple(float(x) for x in 2.0 ** np.arange(-3, 15.25, 0.25))
rescaled = ps.sweeps(
    symmetric,
    ratio=1.0,
    eta_Z=(0.25, 0.5, 1.0, 2.0),
    optimiser="flow",
    horizon=DOUBLED[-1],
    at=DOUBLED,
)

# The closed forms of Theorems 1 and 4.
speed = ps.runs(
    closed_form,
    classes=10.0,
    vocabulary=1000.0,
    eta_Y=0.5,
    eta_Z=0.5,
    class_weight="sum",
    horizon=2e6,
    at=ps.log_times(2e6, 1500),
)
speeds = ps.sweeps(
    closed_form,
    preset="figure_3",
    eta_Y=(0.5, 1.0, 2.0, 5.0, 10.0),
    at=ps.log_times(1000.0, 600),
)
figure_3 = ps.sweeps(
    closed_form, preset="figure_3", eta_Y=(0.5, 1.0, 2.0, 5.0, 10.0), at=ps.linear_times(1000)
)
_snaps = [float(t_snap(10.0, 1000.0, 2 * eta)) for eta in (0.1, 0.25, 0.5, 1.0)]
figure_9 = ps.sweeps(
    closed_form,
    preset="figure_9",
    ratio=2.0,
    eta_Z=(0.1, 0.25, 0.5, 1.0),
    at=sorted({*_snaps, *range(1001)}),
)
# Theorem 4's own equation, and what it says at all times.
theorem_4_alone = ps.tables(
    tables.snapping.single_token, classes=10.0, outputs=1000.0, eta=0.5, rho_0=1.0
)
figure_8 = ps.tables(tables.decoder.steps_and_flow, outputs=1000, eta_Y=(0.5, 1.0, 2.0), last=60)

# The paper's experiments. Syn-Small, 100 updates.
every_update = ps.linear_times(100)
figure_4 = ps.runs(sampled, preset="figure_4", at=every_update)
figure_4_right = ps.runs(sampled, preset="figure_4", eta_Y=10.0, at=every_update)
figure_4_seeds = ps.sweeps(sampled, preset="figure_4", eta_Y=(1.0, 10.0), seeds=8, at=(0, 99, 100))
_figure_5 = {"preset": "figure_5", "ratio": 1.0, "eta_Z": (0.1, 0.5, 1.0), "at": every_update}
figure_5 = ps.sweeps(sampled, **_figure_5)
figure_5_endless = ps.sweeps(symmetric, **_figure_5)
figure_5_later = ps.runs(
    symmetric, optimiser="adam", eta_Y=0.1, eta_Z=0.1, steps=1000, at=(0, 100, 1000)
)
# How long sequences must be: momentum 0.9, both rates 0.3, 60 updates.
_lengths = {"eta_Y": 0.3, "eta_Z": 0.3, "steps": 60, "at": (0, 60)}
short_sequences = ps.sweeps(sampled, seq_length=(16, 128, 4096), seeds=8, **_lengths)
endless_sequences = ps.runs(population, **_lengths)

# Syn-Medium, 100 updates from random tables; 10 seeds. Each number of classes is a program of its
# own.
FIGURE_6 = {
    "preset": "figure_6",
    "eta_Z": (0.5, 1.0, 2.0, 3.0),
    "ratio": (1.0, 2.0, 5.0, 10.0),
    "seeds": 10,
    "at": (0, 100),
    "block": 16,  # the sixteen runs of one seed share their draws
}
figure_6 = {2 * n: ps.sweeps(sampled, num_last=n, **FIGURE_6) for n in (1, 3, 5, 10)}
# The same from zero and with endless sequences.
_twin = {"per_last": 2, "classes": (2.0, 6.0, 10.0, 20.0), "at": (0, 100)}
twin = ps.sweeps(
    symmetric, eta_Z=(0.5, 1.0, 2.0, 3.0), ratio=(0.5, 1.0, 2.0, 3.0, 5.0, 10.0), **_twin
)
longer_twin = ps.sweeps(
    symmetric,
    per_last=2,
    classes=_twin["classes"],
    eta_Z=0.5,
    ratio=(0.5, 1.0, 2.0, 3.0, 5.0, 10.0),
    steps=4000,
    at=(0, 100, 1000, 4000),
)
# Momentum against none at the same effective rate eta / (1 - mu).
INERT = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0)
FREE = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0)
with_momentum = ps.sweeps(symmetric, eta_Z=INERT, ratio=(1.0, 2.0), **_twin)
without_momentum = ps.sweeps(symmetric, eta_Z=FREE, ratio=(1.0, 2.0), momentum=0.0, **_twin)
_one_table = {"per_last": 2, "classes": 20.0, "at": (0, 100)}
momentum_of_Y = ps.runs(symmetric, eta_Y=6.0, eta_Z=30.0, momentum_Z=0.0, **_one_table)
momentum_of_Z = ps.runs(
    symmetric, eta_Y=60.0, eta_Z=3.0, momentum=0.0, momentum_Z=0.9, **_one_table
)

# Syn-Small up to the same effective time eta t / (1 - mu) = 1000, in steps of different size.
FREE_STEPS = {1.0: 1000, 10.0: 100}
INERT_STEPS = {0.1: 1000, 0.3: 333, 1.0: 100, 3.0: 33}
free_steps = [
    ps.runs(symmetric, eta_Y=eta, eta_Z=eta, momentum=0.0, steps=n, at=(0, n))
    for eta, n in FREE_STEPS.items()
]
inert_steps = [
    ps.runs(symmetric, eta_Y=eta, eta_Z=eta, steps=n, at=(0, n)) for eta, n in INERT_STEPS.items()
]


def at_rho(run: xr.Dataset, rho: float = 0.01, K: float = 10.0) -> xr.Dataset:
    """One setting of a sweep over overlaps and class numbers."""
    return run.sel(classes=K).isel(p_common=OVERLAPS.index(rho))
