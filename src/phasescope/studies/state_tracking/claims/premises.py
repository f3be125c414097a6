"""What the theorems assume, as functions of the numbers of a run.

A ratio must be at least 1. `C_B` is "a sufficiently large constant": free. Sizes of groups are taken at unit constants.
Stage 2 of the theorems begins where stage 1 has ended, that is with the limit features; the arms follow the exact
population loss, by descent or along the flow's path.
"""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..theory_model.limits import order_parameter

ARMS = ("theory_model", "features", "routing")


def is_simply_transitive(s) -> float:
    return float(s.action.is_simply_transitive)


def is_symmetric(s) -> float:
    """The group of all permutations of its values."""
    return float(s.action.name.startswith("S"))


def few_values(s):
    r"""$n_y \le \log d$."""
    return np.log(s.vocabulary) / s.action.values


def many_values(s):
    r"""$n_y \ge \Omega(\log\log d)$, at a unit constant."""
    return s.action.values / np.log(np.log(s.vocabulary))


def enough_values(s):
    r"""$n_y = \Theta(\log\log d / \log\log\log d)$, at a unit constant."""
    iterated = np.log(np.log(s.vocabulary))
    return s.action.values * np.maximum(np.log(iterated), 0.5) / iterated


def finished_features(s) -> float:
    """Stage 1 ran to its end, T_1."""
    return float(s.features == "ideal")


def along_the_path(s) -> float:
    """Stage 1 ran to its end, T_1, which descent at a fixed step does not reach."""
    return float(s.pace == "path")


def large_clip(s):
    r"""$C_B$ is sufficiently large."""
    return s.clip


def one_by_one(s):
    r"""$d \to \infty$ at fixed q: waiting is long against growing, $\kappa \ge 1$."""
    return order_parameter(s.vocabulary, s.power, s.knee, s.bias)


simply_transitive = ps.assume(
    model=ARMS,
    lane={
        "simply transitive": is_simply_transitive,
        "n_y at most log d": few_values,
        "n_y at least log log d": many_values,
        "limit features": finished_features,
        "C_B": large_clip,
    },
    free=("C_B",),
)

symmetric = ps.assume(
    model=ARMS,
    lane={
        "symmetric group": is_symmetric,
        "n_y": enough_values,
        "limit features": finished_features,
        "C_B": large_clip,
    },
    free=("C_B",),
)

# Stage 1: its order and its intervals, which need a large d.
curriculum = ps.assume(
    model=("features",),
    lane={"simply transitive": is_simply_transitive, "large d": one_by_one},
    free=("large d",),
)
symmetric_curriculum = ps.assume(
    model=("features",),
    lane={"symmetric group": is_symmetric, "large d": one_by_one},
    free=("large d",),
)

# Stage 1: its end.
end_of_stage_1 = ps.assume(
    model=("features",),
    lane={
        "simply transitive": is_simply_transitive,
        "large d": one_by_one,
        "T_1": along_the_path,
    },
    free=("large d",),
)
symmetric_end_of_stage_1 = ps.assume(
    model=("features",),
    lane={"symmetric group": is_symmetric, "large d": one_by_one, "T_1": along_the_path},
    free=("large d",),
)

copying = ps.assume(model=("theory_model",))

# The decoder of the experiments is not the model of the theorems.
theorems = ps.assume(model=ARMS)
