"""Explicit Runge-Kutta pairs, as a kernel needs them: plain numbers, taken from a solver of diffrax."""

from __future__ import annotations

import dataclasses

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
        """All its numbers one after the other: the square of rows, then times, growth and error."""
        square = np.zeros((self.stages, self.stages))
        for stage, row in enumerate(self.rows):
            square[stage, : len(row)] = row
        return np.concatenate([square.ravel(), self.times, self.growth, self.error])


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
