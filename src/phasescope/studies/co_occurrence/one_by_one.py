"""A block of runs, advanced one after the other.

Mapping an adaptive solver over lanes makes all of them take the steps of the slowest and copies every state at every
step: for states of ten thousand numbers and more that costs three times what the runs cost one by one. Descent in
lanes is no faster than runs one by one either: the products of matrices of a single run fill the cache and the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax.random as jr
from jaxtyping import Array, PyTree

import phasescope as ps

from .spec import Spec


class OneByOne(ps.Dynamics):
    """The motion `of(spec)` of `run.moving`, without randomness: a lane takes exactly the steps of the run by itself."""

    of: Callable[[Any], ps.Dynamics]
    spec: Spec
    divisible: ClassVar[bool] = False

    def init(self, params: PyTree) -> PyTree:
        return self.of(self.spec).init(params)

    def advance(self, state: ps.State, t0: Array, t1: Array, key: Array) -> ps.State:
        moving, carry = ps.one_by_one(self.moved)(self.spec, state, t0, t1)
        return ps.State(state.params._replace(moving=moving), state.memory, carry)

    def moved(self, spec: Spec, state: ps.State, t0: Array, t1: Array) -> tuple[PyTree, PyTree]:
        """What moves, and what its dynamics carries, at t1; what a run started from would only be copied."""
        no_key = jr.key(0)  # the motion draws no random numbers
        after = self.of(spec).advance(state, t0, t1, no_key)
        return after.params.moving, after.carry


class StepsOneByOne(OneByOne):
    """The same for a motion that counts steps."""

    divisible: ClassVar[bool] = True
