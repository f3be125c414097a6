r"""The max-margin read-out for a given attention: $\min \|u\|$ subject to $y_n T(X_n) \ge 1$ for every training
string.

By symmetry it has equal entries for both tokens, so $u^*$ is given by $v^*$ with $\|u^*\| = \sqrt2 \|v^*\|$, and a
string enters only through its length and whether it matches: the $2N - 1$ rows $+\varphi^{L+}$, $-\varphi^{L-}$ of a
matrix $A$ with $A v \ge 1$. When the attention hardly tells the classes apart the rows are nearly opposite and
$\|u^*\|$ is huge; weights rounded to 16 digits then no longer determine it. `max_margin` says so;
`max_margin_of_scores` starts from the scores instead and works with as many digits as asked.
"""

from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import nnls

from . import data

EPSILON = np.finfo(float).eps


class Margin(NamedTuple):
    r"""A read-out with the evidence that it is the one sought.

    `feasibility` is $\min(A v)$, 1 at a solution. `gap` is how far $\|v\|$, once scaled to be feasible, lies above the
    lower bound $\sum z / \|A^\top z\|$ of its multipliers, relative to it. `rounding` bounds the error of $A v$ from
    the rounding of $A$. Where no read-out was found, `v` is nan, `norm` and `gap` are infinite, and `reliable` is
    False.
    """

    v: Float[np.ndarray, " position"]
    norm: float  # of u*, that is sqrt(2) times the norm of v
    feasibility: float
    gap: float
    active: int
    rounding: float

    @property
    def reliable(self) -> bool:
        return bool(abs(self.feasibility - 1) < 1e-6 and self.gap < 1e-6 and self.rounding < 1e-6)


def margin_rows(
    attention: Float[np.ndarray, "case length position"],
    pivots: Int[np.ndarray, " length"],
    alpha: Float[np.ndarray, " length"] | None = None,
) -> Float[np.ndarray, "row position"]:
    r"""$+\varphi^{L+}$ and $-\varphi^{L-}$ of the classes that occur in training."""
    return _rows(attention, pivots, alpha)


def max_margin(rows: Float[np.ndarray, "row position"]) -> Margin:
    r"""Least-distance programming by non-negative least squares, in units in which the answer is of order 1.

    $\min \|x\|$ subject to $A x \ge h$ has the solution $x = -r_{1..n} / r_{n+1}$, where $r = E z - e_{n+1}$ is the
    residual of the best $z \ge 0$ for $E = [A^\top; h^\top]$. With $h = 1$ the last entry is $1/(1 + \|v^*\|^2)$, lost
    to rounding for a norm above $10^7$; so $h$ is lowered until $\|x\| \approx 1$.
    """
    best = _nothing(rows.shape[1])
    if not np.isfinite(rows).all():
        return best
    h = 1.0
    for _ in range(12):
        x, z = _least_distance(rows, h)
        size = np.linalg.norm(x)
        if np.isfinite(size):
            for candidate in ((x / h, z), _polish(rows, z)):
                found = _certify(rows, *candidate)
                best = found if found.gap < best.gap else best
        if np.isfinite(size) and 0.1 < size < 10:
            break
        h = h / size if np.isfinite(size) and size > 0.1 else h * 1e-3
        if h < 1e-14:
            break
    return best


def max_margin_of_scores(
    b: Float[np.ndarray, "case length"],
    M: Float[np.ndarray, "length position"],
    pivots: Int[np.ndarray, " length"],
    lam: float,
    *,
    digits: int = 100,
    alpha: Float[np.ndarray, " length"] | None = None,
) -> Margin:
    """The same from the scores of the attention, in decimal arithmetic: for huge norms, and lengths up to 64 or so."""
    if not (np.isfinite(b).all() and np.isfinite(M).all() and np.isfinite(lam)):
        return _nothing(M.shape[1])
    with localcontext(prec=digits):
        rows = _rows(_decimal_attention(b, M, pivots, lam), pivots, alpha)
        tolerance = Decimal(10) ** (-2 * digits // 3)
        z = _nonnegative(rows @ rows.T + Decimal(1), tolerance)
        if z is None or 1 - sum(z) <= tolerance:
            return _nothing(M.shape[1])
        z = z / (1 - sum(z))
        v = rows.T @ z
        smallest = min(rows @ v)
        norm = Decimal(sum(v * v)).sqrt()
        gap = norm * norm / (smallest * sum(z)) - 1
        return Margin(
            v=v.astype(float),
            norm=float(norm * Decimal(2).sqrt()),
            feasibility=float(smallest),
            gap=abs(float(gap)),
            active=int(np.sum(z > 0)),
            rounding=float(norm * Decimal(10) ** (2 - digits)),
        )


def _decimal_attention(b, M, pivots, lam):
    """The attention of both cases, in the decimal arithmetic of the context."""
    exact = np.vectorize(Decimal, otypes=[object])
    E = exact(M) / Decimal(lam)
    B = exact(b) / Decimal(lam)
    attention = np.full((2, *M.shape), Decimal(0), dtype=object)
    for case in range(2):
        for L, c in enumerate(pivots, start=1):
            scores = E[L - 1, :L].copy()
            scores[c - 1] = B[case, L - 1]
            weights = np.array([(score - max(scores)).exp() for score in scores])
            attention[case, L - 1, :L] = weights / sum(weights)
    return attention


def _rows(attention, pivots, alpha):
    occurs = np.asarray(data.class_weights(pivots, alpha)) > 0
    return np.concatenate([attention[0][occurs[0]], -attention[1][occurs[1]]])


def _least_distance(rows, h):
    r"""$\min \|x\|$ subject to $A x \ge h$: the solution and its multipliers; nan where none is found."""
    E = np.vstack([rows.T, np.full(len(rows), h)])
    target = np.zeros(len(E))
    target[-1] = 1.0
    try:
        z, _ = nnls(E, target, maxiter=100 * len(rows))
    except RuntimeError:  # the iteration did not end: other units must be tried
        return np.full(rows.shape[1], np.nan), np.zeros(len(rows))
    r = E @ z - target
    if r[-1] > -1e-13:
        return np.full(rows.shape[1], np.nan), z
    return -r[:-1] / r[-1], z


def _polish(rows, z):
    """Solve the active rows as equations; the minimal solution and its multipliers."""
    active = z > 1e-12 * np.max(z)
    v = np.linalg.lstsq(rows[active], np.ones(active.sum()), rcond=None)[0]
    multipliers = np.zeros(len(rows))
    multipliers[active] = np.linalg.lstsq(rows[active].T, v, rcond=None)[0]
    return v, np.maximum(multipliers, 0.0)


def _certify(rows, v, z):
    """The read-out with its evidence: how feasible it is, and how far above the bound of its multipliers."""
    smallest = np.min(rows @ v)
    pull = np.linalg.norm(rows.T @ z)
    if not (smallest > 0 and pull > 0):
        return _nothing(rows.shape[1])
    gap = np.linalg.norm(v) / smallest * pull / np.sum(z) - 1
    return Margin(
        v=v,
        norm=float(np.sqrt(2) * np.linalg.norm(v)),
        feasibility=float(smallest),
        gap=abs(float(gap)),
        active=int(np.sum(z > 1e-12 * np.max(z))),
        rounding=float(EPSILON * np.max(np.abs(rows) @ np.abs(v))),
    )


def _nothing(positions):
    """What is returned where no read-out was found."""
    return Margin(
        v=np.full(positions, np.nan),
        norm=np.inf,
        feasibility=np.nan,
        gap=np.inf,
        active=0,
        rounding=np.inf,
    )


def _nonnegative(gram, tolerance):
    r"""The same least squares over $z \ge 0$, the way of Lawson and Hanson, from $E^\top E$; $E^\top e_{n+1} = 1$."""
    z = np.full(len(gram), Decimal(0), dtype=object)
    free: list[int] = []
    for _ in range(
        10 * len(gram)
    ):  # it takes about one round a row, but cycles where the rows do not separate
        slope = 1 - gram @ z
        bound = [i for i in range(len(z)) if i not in free]
        if not bound or max(slope[bound]) <= tolerance:
            return z
        free.append(max(bound, key=lambda i: slope[i]))
        while free:
            trial = _solve(gram[np.ix_(free, free)], tolerance)
            if trial is None:
                return None
            if min(trial) > 0:
                z[free] = trial
                break
            here = z[free]
            steps = [
                x / (x - y) if y <= 0 else Decimal(1) for x, y in zip(here, trial, strict=True)
            ]
            z[free] = here + min(steps) * (trial - here)
            blocking = {i for i, step in zip(free, steps, strict=True) if step == min(steps)}
            z[list(blocking)] = Decimal(0)
            free = [i for i in free if i not in blocking]
    return None


def _solve(gram, tolerance):
    """$K x = 1$ by elimination; None where $K$, which is positive, is singular."""
    n = len(gram)
    table = np.concatenate([gram, np.full((n, 1), Decimal(1), dtype=object)], axis=1)
    for i in range(n):
        if table[i, i] <= tolerance * gram[i, i]:
            return None
        table[i, i:] = table[i, i:] / table[i, i]
        for j in range(i + 1, n):
            table[j, i:] = table[j, i:] - table[j, i] * table[i, i:]
    x = table[:, -1]
    for i in reversed(range(n)):
        x[i] = x[i] - sum(table[i, i + 1 : n] * x[i + 1 :])
    return x
