"""Explicit Runge-Kutta pairs, as a kernel needs them: plain numbers, taken from a solver of diffrax."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import diffrax
import numpy as np

from .program import Unfusable


@dataclasses.dataclass(frozen=True)
class Pair:
    r"""A pair of methods, one of which measures the error of the other.

    With the slopes $k_i = h\,f(t + c_i h, y + \sum_{j<i} a_{ij} k_j)$ of a step of size $h$, what moves grows by
    $\sum_i b_i k_i$, and the error is $\sum_i e_i k_i$. `rows` are the $a_{ij}$, `times` the $c_i$, `growth` the $b_i$ and
    `error` the $e_i$; the error shrinks like the power `order` of the step.
    """

    rows: tuple[tuple[float, ...], ...]
    times: tuple[float, ...]
    growth: tuple[float, ...]
    error: tuple[float, ...]
    order: float

    @property
    def stages(self) -> int:
        """How many slopes a step needs."""
        return len(self.times)

    @property
    def products(self) -> int:
        """How many products with a slope a step needs, for each number that moves."""
        return sum(bool(x) for row in (*self.rows, self.growth, self.error) for x in row)

    def table(self) -> np.ndarray:
        """Its numbers one after the other, for a kernel that looks them up: see `Places`. What is zero is left out."""
        ends = [(b, e) for b, e in zip(self.growth, self.error, strict=True)]
        lists = [_nonzero(row) for row in self.rows] + [_nonzero(list(map(any, ends)))]
        sums = [*self.rows, self.growth]
        slopes = np.zeros((len(lists), self.stages))
        weights = np.zeros_like(slopes)
        for row, (used, numbers) in enumerate(zip(lists, sums, strict=True)):
            slopes[row, : len(used)] = used
            weights[row, : len(used)] = [numbers[place] for place in used]
        error = np.zeros(self.stages)
        error[: len(lists[-1])] = [self.error[place] for place in lists[-1]]
        counts = [len(used) for used in lists]
        return np.concatenate([self.times, counts, slopes.ravel(), weights.ravel(), error])


@dataclasses.dataclass(frozen=True)
class Places:
    """Where the table of a pair with so many stages has what.

    First the time of each stage. Then for each of the sums, which are those of the stages and the growth at the end: how many
    slopes it has, which ones, and their weights. Last, for the slopes at the end, their weights in the error.
    """

    stages: int

    @property
    def counts(self) -> int:
        return self.stages

    @property
    def slopes(self) -> int:
        return self.counts + self.stages + 1

    @property
    def weights(self) -> int:
        return self.slopes + (self.stages + 1) * self.stages

    @property
    def error(self) -> int:
        return self.weights + (self.stages + 1) * self.stages


def _nonzero(numbers: Sequence[float]) -> list[int]:
    return [place for place, number in enumerate(numbers) if number]


def pair_of(solver: diffrax.AbstractSolver) -> Pair:
    """The pair that a solver of diffrax steps with; slopes at the end that serve its interpolation alone are left out.

    Raises `Unfusable` if it is no explicit pair.
    """
    name = type(solver).__name__
    if not isinstance(solver, diffrax.AbstractERK):
        raise Unfusable(f"its solver {name} is no explicit Runge-Kutta pair")
    tableau = solver.tableau
    if not isinstance(tableau, diffrax.ButcherTableau) or tableau.b_error is None:
        raise Unfusable(f"its solver {name} has no estimate of the error")
    if type(solver).step is not diffrax.AbstractERK.step:
        raise Unfusable(f"its solver {name} has steps of its own")
    growth = np.asarray(tableau.b_sol, float)
    error = np.asarray(tableau.b_error, float)
    count = int(np.flatnonzero((growth != 0) | (error != 0))[-1]) + 1
    rows = [(), *(tuple(map(float, row)) for row in tableau.a_lower)]
    times = np.append(0.0 if tableau.c1 is None else tableau.c1, tableau.c)
    return Pair(
        rows=tuple(rows[:count]),
        times=tuple(map(float, times[:count])),
        growth=tuple(map(float, growth[:count])),
        error=tuple(map(float, error[:count])),
        order=_order(solver),
    )


def _order(solver: diffrax.AbstractERK) -> float:
    """The power of the step that its error shrinks like."""
    found = solver.error_order(diffrax.ODETerm(lambda t, y, args: y))
    if found is None:
        raise Unfusable(f"its solver {type(solver).__name__} does not say its order")
    return float(found)
