r"""What the theorems assume, as data. Their constants are free: $\lambda \ge c_\lambda N^2$ and so on, for some constant.

A ratio must be at least 1, at unit constants. Where the paper leaves the constant open it is listed as free.
"""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms

ARMS = {
    "training": ("symmetric", "exhaustive"),
    "population": ("log_flow", "frozen"),
    "closed form": ("symmetric", "exhaustive"),
}


def is_even_pairs(s) -> float:
    return float(s.task == "even_pairs")


def is_parity(s) -> float:
    return float(s.task == "parity")


def has_two_phases(s) -> float:
    return float(s.schedule == "two_phase")


def large_lam(s):
    r"""$\lambda = \Omega(L_{\max}^2)$."""
    return s.lam / s.size**2


def small_eta(s):
    r"""$\eta = O(\min\{1/L_{\max}, \lambda^{-2/3}\})$."""
    return np.minimum(1 / s.size, s.lam ** (-2 / 3)) / s.eta


def short_phase_1(s):
    r"""$t_0 = O(1/(\eta L_{\max}))$, rounded up to a whole step."""
    return 1 / (s.eta * s.size * np.maximum(s.switch - 1, 0.5))


def in_phase_1(s, t):
    r"""$t \le t_0 = O(1/(\eta L_{\max}))$."""
    return 1 / (s.eta * s.size * t)


def until_T(s, t):
    r"""$t \le T = O(\lambda^{2/3}/(\eta L_{\max}))$, with the proof's constant."""
    return closed_forms.horizon(s.lam, s.eta, s.size) / t


theorem_4_1 = ps.assume(
    model=ARMS,
    lane={
        "even_pairs": is_even_pairs,
        "two_phases": has_two_phases,
        "c_lam": large_lam,
        "c_eta": small_eta,
    },
    record={"c_0": in_phase_1},
    free=("c_lam", "c_eta", "c_0"),
)

# Of the end of phase 1, and of what follows it.
theorem_4_4 = ps.assume(
    model=ARMS,
    lane={
        "even_pairs": is_even_pairs,
        "two_phases": has_two_phases,
        "c_lam": large_lam,
        "c_eta": small_eta,
        "c_0": short_phase_1,
    },
    record={"c_T": until_T},
    free=("c_lam", "c_eta", "c_0", "c_T"),
)

theorem_5_1 = ps.assume(
    model=ARMS,
    lane={"parity": is_parity, "two_phases": has_two_phases, "c_lam": large_lam},
    record={"c_0": in_phase_1},
    free=("c_lam", "c_0"),
)

theorem_5_2 = ps.assume(
    model=ARMS,
    lane={
        "parity": is_parity,
        "two_phases": has_two_phases,
        "c_lam": large_lam,
        "c_0": short_phase_1,
    },
    record={"c_T": until_T},
    free=("c_lam", "c_0", "c_T"),
)

# Lemmas B.1 and C.1 hold "during the entire training process": from zero, on all strings.
even_pairs = ps.assume(model=ARMS, lane={"even_pairs": is_even_pairs})
parity = ps.assume(model=ARMS, lane={"parity": is_parity})
