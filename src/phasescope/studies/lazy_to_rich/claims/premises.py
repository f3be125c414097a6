"""What the statements of the paper assume, as functions of the numbers of a run.

The appendix speaks of three descriptions. Theorem 4 is about gradient flow of the softmax model
(`exact_flow`; `mean_field_flow` with many keys). Equations (7) to (9) are exact for it, and the same
in every arm. Equations (10) to (18) are about a simplified model, exp / (L - 2) for the softmax and
one weight for two: `paper_flow`.
"""

from __future__ import annotations

import functools

import phasescope as ps

from ..closed_forms import largest_target

POPULATION = ("exact_flow", "mean_field_flow")
PRINTED = ("paper_flow",)
TRAINED = ("online_sgd",)

# sigma << 1: from here on ln(1/sigma) is larger than the constants beside it.
SMALL = 1e-4

stage_1 = ps.assume(model=("stage_one",))

theorem_4 = ps.assume(
    model={"training": TRAINED, "population": POPULATION, "printed equations": PRINTED},
    lane={
        "large_alpha": lambda s: s.alpha,  # alpha = Omega(1)
        "bounded_target": lambda s: 1 / s.w_star,  # w* = O(1)
        "small_start": lambda s: 1 / s.sigma,  # sigma << 1
        "long_input": lambda s: s.length,  # L >> 1
    },
    free=("large_alpha", "bounded_target", "small_start", "long_input"),
)

# Appendix C.3.1: the flow of p and g, which all arms share.
four_gram = ps.assume(
    model={"training": TRAINED, "population": (*POPULATION, *PRINTED)},
    lane={
        "large_alpha": lambda s: s.alpha,
        "long_input": lambda s: s.length * s.sigma,  # L = Omega(1 / sigma)
    },
    free=("large_alpha", "long_input"),
)

# Before (8): alpha > 1.
alpha_above_one = ps.assume(
    model={"population": (*POPULATION, *PRINTED)},
    lane={"alpha_above_one": lambda s: s.alpha, "long_input": lambda s: s.length * s.sigma},
    free=("long_input",),
)

# Appendix C.3.2: the flow of w and h in the simplified model, which exists for w* < 1 / sqrt(2).
simplified = ps.assume(
    model={"printed equations": PRINTED},
    lane={"bounded_target": lambda s: 0.5 / s.w_star**2, "small_start": lambda s: 1 / s.sigma},
    free=("bounded_target", "small_start"),
)


@functools.cache
def _largest() -> float:
    return largest_target()


# From (14) on: 0 < w* < c with an unnamed c. R(w*) < 1 + 0.04 w* makes it 0.387.
small_target = ps.assume(
    model={"printed equations": PRINTED},
    lane={"small_target": lambda s: _largest() / s.w_star, "small_start": lambda s: 1 / s.sigma},
    free=("small_target", "small_start"),
)

# The second Lyapunov function: w*^2 <= 0.3, which the paper states.
second_lyapunov = ps.assume(
    model={"printed equations": PRINTED},
    lane={"target_below_0.3": lambda s: 0.3 / s.w_star**2},
)
