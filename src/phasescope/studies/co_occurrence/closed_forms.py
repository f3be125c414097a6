r"""What can be computed without training: the first phase and the late time of a lazy network with uniform attention.

With frozen uniform attention and a frozen kernel the values move by $\mu' = c(\mu)$ in natural time $\tau = \kappa t$.
By symmetry $G_1 = G_2$, and a random word of a sample of type $c$ has one value $r_c$:
$$G_1' = \tfrac12 g_1 - \tfrac16 g_2,\quad G_3' = \tfrac12 g_1 - \tfrac13 g_2 - \tfrac16 g_4,\quad r_c' = y_c g_c / n,$$
with $F_1 = 2 G_1 + G_3 + (L-3) r_1$, $F_2 = G_1 + G_3 + (L-2) r_2$, $F_4 = G_3 + (L-1) r_4$ and $g_c = 1/(1+e^{y_c F_c})$.

Late, $g_c n_c / n = s_c / \tau$ and all values grow like $\log\tau$ along the hard-margin solution. Its dual masses solve
$$\begin{pmatrix}3+\frac{2(L-3)}n&-4&-1\\-2&3+\frac{6(L-2)}n&1\\-1&2&1+\frac{6(L-1)}n\end{pmatrix}
\begin{pmatrix}s_1\\s_2\\s_4\end{pmatrix}=\mathbf 1,$$
or the first two rows with $s_4 = 0$ where samples without target words are no support vectors ($2 s_2 - s_1 \ge 1$).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import expit

TARGETS = ("G1", "G3", "r1", "r2", "r4")


@dataclasses.dataclass(frozen=True)
class LateTime:
    r"""The limit of a lazy network: values per $\log\tau$, and what follows from them."""

    s1: float
    s2: float
    s4: float
    samples: float
    length: float

    @property
    def G1(self) -> float:
        r"""$G(\mu_1)/\log\tau$."""
        return self.s1 - self.s2

    @property
    def G3(self) -> float:
        r"""$G(\mu_3)/\log\tau$."""
        return self.s1 - 2 * self.s2 - self.s4

    @property
    def ratio(self) -> float:
        r"""$R^* = -\dot G(\mu_3)/\dot G(\mu_1)$."""
        return -self.G3 / self.G1

    @property
    def loss(self) -> float:
        r"""The limit of $\kappa t \hat L$."""
        return self.s1 + 2 * self.s2 + self.s4

    @property
    def exponents(self) -> tuple[float, float, float, float]:
        r"""The loss of each type on unseen words falls like $\tau^{-e}$; where $e < 0$ it grows like $-e\log\tau$."""
        one = -(self.G1 + self.G3)
        return 2 * self.G1 + self.G3, one, one, -self.G3

    @property
    def random_parts(self) -> tuple[float, float, float, float]:
        r"""What the random words of a sample add to $|F| / \log\tau$."""
        L = self.length
        n = self.samples
        one = 6 * (L - 2) * self.s2 / n
        return 2 * (L - 3) * self.s1 / n, one, one, 6 * (L - 1) * self.s4 / n

    @property
    def scores(self) -> np.ndarray:
        r"""$k$ in $S - S(0) \to k\,\frac{\sigma_0^2 m}{\sqrt m L\kappa}\log^2\tau$ for the special words, [key, query].

        $k_{\nu\mu} = \sum_c y_c s_c (G(\nu) - y_c/L)$ over the types that hold both words.
        """
        values = (self.G1, self.G1, self.G3)
        holds = ((0, 1, 2), (0, 2), (1, 2), (2,))
        masses = (self.s1, self.s2, self.s2, self.s4)
        signs = (1, -1, -1, -1)
        out = np.zeros((3, 3))
        for words, mass, sign in zip(holds, masses, signs, strict=True):
            for key in words:
                for query in words:
                    out[key, query] += sign * mass * (values[key] - sign / self.length)
        return out


def late_time(samples: float, length: float) -> LateTime:
    """The late-time limit for n samples (which may be infinite) of L words, all irrelevant words distinct."""
    n = float(samples)
    L = float(length)
    full = np.array([
        [3 + 2 * (L - 3) / n, -4, -1],
        [-2, 3 + 6 * (L - 2) / n, 1],
        [-1, 2, 1 + 6 * (L - 1) / n],
    ])  # fmt: skip
    s1, s2 = np.linalg.solve(full[:2, :2], np.ones(2))
    s4 = 0.0
    if 2 * s2 - s1 < 1:
        s1, s2, s4 = np.linalg.solve(full, np.ones(3))
    return LateTime(float(s1), float(s2), float(s4), n, L)


@dataclasses.dataclass(frozen=True)
class Population:
    r"""Late time of a lazy network trained on the population: values per $\log\tau$, and $\kappa t$ times the loss."""

    G1: float
    G3: float
    random: float
    loss: float

    @property
    def ratio(self) -> float:
        """$R^*$."""
        return -self.G3 / self.G1


def population_late_time(length: float, dim: float) -> Population:
    r"""The hard-margin solution where $D = d - 3$ irrelevant words are drawn with replacement and share one value $r$.

    $D r = (L - 3) s_1 - 2 (L - 2) s_2$, since a sample of a type holds so many of them; samples without targets are no
    support vectors at any $L$ and $D$.
    """
    both = length - 3.0
    one = length - 2.0
    D = dim - 3.0
    rows = np.array([
        [3 + both**2 / D, -4 - 2 * both * one / D],
        [-2 - both * one / D, 3 + 2 * one**2 / D],
    ])  # fmt: skip
    s1, s2 = map(float, np.linalg.solve(rows, np.ones(2)))
    return Population(s1 - s2, s1 - 2 * s2, (both * s1 - 2 * one * s2) / D, s1 + 2 * s2)


def threshold(length: float) -> float:
    """Samples above which a lazy network is right about samples with one target word and unseen other words."""
    return 3 * (length + 1)


def frozen_kernel(samples: float, length: float, tau: np.ndarray) -> xr.Dataset:
    """Values and outputs of the lazy network at natural times `tau`, from zero; all laws of its first phase."""
    state = _solve(samples, length, float(np.max(tau)))(np.asarray(tau, float))
    F = _outputs(state, length)
    rates = _field(state, samples, length)
    values = dict(zip(TARGETS, state, strict=True)) | {"F1": F[0], "F2": F[1], "F4": F[2]}
    values |= {"rate_G1": rates[0], "rate_G3": rates[1], "loss": _loss(F)}
    return xr.Dataset({k: ("tau", v) for k, v in values.items()}, {"tau": np.asarray(tau, float)})


def first_phase(samples: float, length: float) -> dict[str, float]:
    r"""Landmarks of the lazy network's first phase: $\tau_{0.5}$, the peak of $F_2$, $\tau_1$, and the loss there."""
    solution = _solve(samples, length, 100.0)

    def rates(tau):
        return _field(solution(tau), samples, length)

    def outputs(tau):
        return _outputs(solution(tau), length)

    def slope_of_F2(tau):
        G1, G3, _, r2, _ = rates(tau)
        return G1 + G3 + (length - 2) * r2

    half = _root(lambda tau: rates(tau)[0] + rates(tau)[1], 1e-3, 50.0)
    peak = _root(slope_of_F2, 1e-3, 50.0)
    end = _root(lambda tau: outputs(tau)[1], peak, 100.0)
    return {
        "half": half,
        "peak": peak,
        "peak_output": float(outputs(peak)[1]),
        "peak_loss": float(np.logaddexp(0, outputs(peak)[1])),
        "end": end,
        "ratio": float(-rates(end)[1] / rates(end)[0]),
        "loss": float(_loss(outputs(end))),
    }


def _root(function, low, high) -> float:
    return float(brentq(function, low, high, xtol=1e-12))  # type: ignore[arg-type]


def _solve(samples, length, last):
    """The five numbers as a function of natural time, up to the last."""
    found = solve_ivp(
        lambda tau, x: _field(x, samples, length),
        (0.0, last),
        np.zeros(5),
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
        dense_output=True,
    )
    return found.sol


def _outputs(x, length):
    G1, G3, r1, r2, r4 = x
    return np.array(
        [2 * G1 + G3 + (length - 3) * r1, G1 + G3 + (length - 2) * r2, G3 + (length - 1) * r4]
    )


def _field(x, samples, length):
    F1, F2, F4 = _outputs(x, length)
    g1 = expit(-F1)
    g2 = expit(F2)
    g4 = expit(F4)
    of_words = [g1 / 2 - g2 / 6, g1 / 2 - g2 / 3 - g4 / 6]
    of_random = [g1 / samples, -g2 / samples, -g4 / samples]
    return np.array([*of_words, *of_random])


def _loss(F):
    return np.logaddexp(0, -F[0]) / 2 + np.logaddexp(0, F[1]) / 3 + np.logaddexp(0, F[2]) / 6
