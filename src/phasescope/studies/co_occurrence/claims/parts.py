r"""What several modules of claims use: the end of phase 1 by the paper's definition, entries by width, and guards.

Definition E.2 and Theorem E.26: $T_1 = C_{T_1}/(\sigma_1^2 m m_1)$ with a constant that is "sufficiently large": it is free,
and is scanned. In natural time that is $C_{T_1}(1 + \sigma_0^2/\sigma_1^2)$.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import at_time, ran_to_the_end, spec_of, trained

C_T1 = (10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
EXACT = ps.chosen(1e-12, "rounding of float64: sums of some hundred terms")
SOLVED = ps.chosen(1e-7, "a hundred steps of a solver with a relative error of 1e-9")


def end_of_phase_1(run: xr.Dataset, c: float) -> float:
    """kappa T_1 for a value of C_T1."""
    spec = spec_of(run)
    return c * float(1 + (spec.scale_0 / spec.scale_1) ** 2)


def in_phase_1(run: xr.Dataset, c: float) -> xr.DataArray:
    """Marks the records up to T_1."""
    return run.tau <= end_of_phase_1(run, c)


def in_phase_2(run: xr.Dataset, c: float) -> xr.DataArray:
    """Marks the records from T_1 on."""
    return run.tau >= end_of_phase_1(run, c)


def at_T1(run: xr.Dataset, name: str, c: float) -> xr.DataArray:
    """An observable at T_1."""
    return at_time(run[name], run, end_of_phase_1(run, c))


def told(x: xr.DataArray, where: xr.DataArray | None = None) -> np.ndarray:
    """The entries that a statement is about, in a row; what was lost among them stays lost."""
    if where is None:
        return x.values.ravel()
    x, marks = xr.broadcast(x, where)
    return x.values[marks.values]


def by_width(
    runs: Iterable[xr.Dataset], measure: Callable[[xr.Dataset], np.ndarray]
) -> dict[int, np.ndarray]:
    """Some entries for each width."""
    return {spec_of(run).width: measure(trained(run)) for run in runs}


def by_log_width(
    runs: Iterable[xr.Dataset], measure: Callable[[xr.Dataset], np.ndarray]
) -> dict[float, np.ndarray]:
    """The same for each log m: where a power of log m is at stake, a power of m would hide it."""
    return {float(np.log(width)): x for width, x in by_width(runs, measure).items()}


def mean_by_width(
    runs: Iterable[xr.Dataset], measure: Callable[[xr.Dataset], xr.DataArray]
) -> xr.DataArray:
    """One number for each width: the mean over seeds."""
    found = {}
    for run in runs:
        found[spec_of(run).width] = float(np.mean(measure(trained(run)).values))
    return xr.DataArray(list(found.values()), {"m": list(found)}, ["m"])


def scanned(judge: Callable[[float], ps.Verdict]) -> ps.Verdict:
    """A statement about T_1 for several values of C_T1; the paper promises it for large ones."""
    return ps.scan("C_T1", C_T1, judge)


def learns(*runs: xr.Dataset) -> ps.Verdict:
    """The loss falls all the time, and the runs go to their end: there is training to speak of."""
    falls = []
    for run in runs:
        loss = trained(run).loss
        before = loss.isel(time=slice(None, -1)).values
        after = loss.isel(time=slice(1, None)).values
        falls.append(np.min((before - after) / np.abs(before)))
    falling = ps.positive(np.array(falls), "fall of the loss between two records")
    return ps.guard(falling) & ran_to_the_end(*runs)


def where_it_learns(check: Callable[..., ps.Verdict]) -> Callable[..., ps.Verdict]:
    """A check of runs that is made only if there is training to speak of; if not it is undecided."""

    @functools.wraps(check)
    def judged(*runs: xr.Dataset) -> ps.Verdict:
        learned = learns(*runs)
        if learned.outcome is not ps.Outcome.HOLDS:
            return learned
        return check(*runs) & learned

    return judged


def drawn(x: xr.DataArray, what: str) -> ps.Verdict:
    """A positive number that differs from draw to draw: there are draws to speak of."""
    spread = x.std("seed", skipna=False) / x.mean("seed", skipna=False)
    return ps.guard(ps.positive(x, what)) & ps.guard(
        ps.at_least(spread, ps.chosen(1e-6, "more than rounding"), f"spread of {what}")
    )


def numbers(spec: Any) -> tuple[float, float, float]:
    """sigma_0^2 m, sigma_1^2 m m1 (with |a|^2 for m1), and sqrt(m)."""
    return (
        float(spec.scale_0**2 * spec.width),
        float(spec.scale_1**2 * spec.width * spec.output_norm),
        float(spec.width**0.5),
    )


def order_of_scores(spec: Any) -> float:
    r"""$\frac{\sigma_0^2 m}{\sqrt m L \sigma_1^2 m m_1} + \frac{\sigma_0^2\sqrt m}{\sqrt m\sigma_1^2 m m_1}$ of Theorem 3.3."""
    values, read_out, root = numbers(spec)
    return values / (root * spec.length * read_out) + values / root / (root * read_out)


def settled(runs: Sequence[xr.Dataset]) -> Sequence[xr.Dataset]:
    """Without noise, the widths from 4096 on; with noise all that there are."""
    is_limit = all(run.attrs.get("arm") == "orthogonal" for run in runs)
    return [run for run in runs if spec_of(run).width >= 4096] if is_limit else runs
