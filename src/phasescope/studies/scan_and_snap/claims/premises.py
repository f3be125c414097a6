r"""What the statements of the paper assume, as functions of the numbers of a run.

Assumption 1 (b), endless sequences, is a matter of the arm: `symmetric` and `population` have them,
`sampled` has not. The classes of this study have equal overlaps $\rho$, so that the eigenvalues of
$E$ are $(K-1)\rho$ and $-\rho$, and Assumption 2 is $1/(K(K-1)) > \rho \ge 6/\sqrt M$: there are such
overlaps only for $M > 36 K^2 (K-1)^2$. It is held against the overlap at the start.

Gradient flow has no step size, so that $\eta_Y < 1$ of Theorem 1 says nothing about it. Momentum
and Adam are not in the theory; rows on them say so (`breaks`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import phasescope as ps

TRUE = ("symmetric", "population", "with_residuals")
PRINTED = ("theory",)
ARMS = {"population": TRUE, "printed equations": PRINTED, "training": ("sampled",)}

# "Much faster" is read as a factor of ten.
MUCH = 10.0


def overlap(s: Any) -> Any:
    r"""$\rho$ at the start: of the squared attention, the part on common tokens."""
    own = float((np.linspace(s.p_min, s.p_max, s.distinct) ** 2).sum())
    common = s.common * s.p_common**2
    return common / (common + own)


def speed_ratio(s: Any) -> Any:
    """How much faster than the attention the decoder learns, in units of "much"."""
    return s.rate_Y / np.maximum(s.eta_Z, 1e-12) / MUCH


FAST_DECODER = {"fast_decoder": speed_ratio}  # Assumption 1 (c)
WEAK = {  # Assumption 2
    "many_outputs": lambda s: s.M / s.K**2,
    "largest_eigenvalue": lambda s: 1 / (s.K * (s.K - 1) * overlap(s)),
    "smallest_eigenvalue": lambda s: overlap(s) * np.sqrt(s.M) / 6,
}

# Rows that compare training, or the decoder of Lemma 3, with another description have runs of both.
COMPARED = {"population": (*TRUE, "decoupled", "theory")}

# Assumption 2 alone: Theorem 1 with the attention held.
weak_correlation = ps.assume(model=ARMS, lane=WEAK, free=("many_outputs",))

# Assumptions 1 (c) and 2: what is said about the attention of training.
slow_attention = ps.assume(
    model=ARMS, lane=WEAK | FAST_DECODER, free=("many_outputs", "fast_decoder")
)

# The same, held against another description.
weak_compared = ps.assume(model=COMPARED, lane=WEAK, free=("many_outputs",))
slow_compared = ps.assume(
    model=COMPARED, lane=WEAK | FAST_DECODER, free=("many_outputs", "fast_decoder")
)

# Section 6: one common token besides.
one_common_token = ps.assume(
    model=ARMS,
    lane=WEAK | FAST_DECODER | {"one_common_token": lambda s: 1 / s.common},
    free=("many_outputs", "fast_decoder"),
)
