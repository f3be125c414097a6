"""Flows that do not act on each other, each solved at its own pace.

Behind a frozen first layer the heads of the second are independent. Head 1 is stiff: its value
relaxes at a rate near 1 as long as the flow lasts, so that an explicit solver takes some 4,000
cheap steps to t = 10^4, bound by stability. Head 2 needs 200 steps, each with many evaluations of
the kernels' table. As one system they would take the steps of the first at the price of the second.
"""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Array, PyTree

import phasescope as ps


class IndependentFlows(ps.Dynamics):
    """Follow each of `parts`; what one moves (its `where`) must not enter the field of another."""

    parts: tuple[ps.flow, ...]
    divisible: ClassVar[bool] = False

    def init(self, params: PyTree) -> PyTree:
        return tuple(part.init(params) for part in self.parts)

    def advance(self, state: ps.State, t0: Array, t1: Array, key: Array) -> ps.State:
        params = state.params
        carries = []
        for part, carry in zip(self.parts, state.carry, strict=True):
            after = part.advance(ps.State(state.params, state.memory, carry), t0, t1, key)
            params = ps.put(params, part.where, part.where(after.params))
            carries.append(after.carry)
        return ps.State(params, state.memory, tuple(carries))
