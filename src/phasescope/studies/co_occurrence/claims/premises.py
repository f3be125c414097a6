r"""What the statements of the paper assume, as functions of the numbers of a run.

Condition 1 hides constants and logarithms in all of its bounds: they are free, and stand here with constant 1.
The smallness of the start, $\sigma_0 = 1/\tilde\Theta(\sqrt{Lm})$, is one of them: it is our $\zeta = \sigma_0 \sqrt{Lm}$.
"""

from __future__ import annotations

import numpy as np

import phasescope as ps

FLOWS = ("weight_flow", "six_families", "gram")
# The exact limit of many rows of W_Q, W_K, W_V and W: they start orthogonal, and nothing is drawn.
LIMIT = ("orthogonal",)
MODEL = {"training": FLOWS, "population": LIMIT}


def distinct_words(s) -> float:
    """Assumption 2.3 (ii): all irrelevant words are different."""
    return float(s.words == "distinct")


def unit_outputs(s):
    """a_j = +1 or -1."""
    return np.minimum(s.output, 1 / s.output)


condition_1 = ps.assume(
    model=MODEL,
    lane={
        "distinct_words": distinct_words,
        "unit_outputs": unit_outputs,
        "m_over_m1": lambda s: s.width / s.neurons,
        "m_over_L2": lambda s: s.width / s.length**2,
        "n_over_L2": lambda s: s.samples / s.length**2,
        "small_start": lambda s: 1 / (s.scale_0 * (s.length * s.width) ** 0.5),
    },
    free=("m_over_m1", "m_over_L2", "n_over_L2", "small_start"),
)

# The equations of motion hold at all sizes, for every start and for words that repeat.
any_flow = ps.assume(model={"training": FLOWS, "population": (*LIMIT, "population")})

# What we say of a network without noise: distinct words, orthogonal start, so wide that its kernel stays.
lazy = ps.assume(
    model=MODEL,
    lane={
        "distinct_words": distinct_words,
        "kernel_stays": lambda s: 0.01 * s.kappa**2 / s.output_norm,
    },
)

# Descent is near its flow where a step moves the fastest direction by less than its size.
small_steps = ps.assume(lane={"eta_kappa_below_1": lambda s: 1 / (s.eta * s.kappa)})
