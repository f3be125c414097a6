"""Forked arms: an arm whose run begins in the middle of another one, with a part of the parameters held fixed."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..errors import PlanError
from .dynamics import Dynamics, State
from .flow import flow
from .plan import Arm, DeclaredArm, Plan


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a forked run begins: the place in the plan, and the arrays of the state there, in order.

    `local` is the time since the stage began, in its own units (0: not yet entered), `offset` the dataset's time at which
    it began.
    """

    stage: int
    local: float
    offset: float
    leaves: Sequence[np.ndarray]

    def last_time(self, plan: Plan) -> float:
        """The dataset's last time of a plan that is begun here, if no stage is left early."""
        rest = plan.stages[self.stage :]
        lengths = [float(times[-1]) if (times := stage.lay_out()).size else 0.0 for stage in rest]
        return self.offset + sum(
            length * float(stage.unit) for length, stage in zip(lengths, rest, strict=True)
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ForkedArm(DeclaredArm):
    """An arm whose run begins where another one stood at a time; made by `ps.fork`.

    `told` says all that decides where it begins, as one line of JSON: the other run, the time, what was reset or
    replaced. `begin` finds the state; it is asked only if the run is not stored. `clamp` has the full names of the
    parameters that are held fixed. `replaced` has the arrays that were put in place of others, by full name in the order of
    the names; `told` has their digests.
    """

    told: str = ""
    clamp: tuple[str, ...] = ()
    begin: Callable[[], Origin] | None = dataclasses.field(
        default=None, metadata={"identity": False}
    )
    replaced: Mapping[str, np.ndarray] = dataclasses.field(
        default_factory=dict, metadata={"identity": False}
    )

    def __call__(self, spec: Any, /) -> Plan:
        plan = self.function(spec)
        if not self.clamp or not isinstance(plan, Plan):
            return plan
        stages = tuple(
            dataclasses.replace(stage, dynamics=held(stage.dynamics, self.clamp, self.__name__))
            for stage in plan.stages
        )
        return dataclasses.replace(plan, stages=stages)

    @property
    def has_other_numbers(self) -> bool:
        """Whether it goes on with other numbers, or what it is a fork of does: its clock may then be another."""
        of = self.function
        before = isinstance(of, ForkedArm) and of.has_other_numbers
        return before or bool(json.loads(self.told)["change"])

    @functools.cached_property
    def origin(self) -> Origin:
        """Where the run begins; found once."""
        assert self.begin is not None
        return self.begin()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForkedArm) or self.function != other.function:
            return False
        return (self.told, self.clamp) == (other.told, other.clamp)

    def __hash__(self) -> int:
        return hash((self.function, self.told, self.clamp))


def forked(
    arm: Arm,
    told: str,
    clamp: tuple[str, ...],
    begin: Callable[[], Origin],
    replaced: Mapping[str, np.ndarray],
) -> ForkedArm:
    """The arm, begun elsewhere; it reads the same fields."""
    if isinstance(arm, DeclaredArm):
        return ForkedArm(arm, arm.reads, arm.continuous, arm.spec, told, clamp, begin, replaced)
    return ForkedArm(arm, told=told, clamp=clamp, begin=begin, replaced=replaced)


def held(dynamics: Dynamics, names: tuple[str, ...], arm: str) -> Dynamics:
    """The dynamics with the parameters of these names held fixed at every step."""
    if isinstance(dynamics, flow):
        return dataclasses.replace(dynamics, field=_Still(dynamics.field, dynamics.where, names))
    if not dynamics.divisible:
        raise PlanError(
            f"{arm}: parameters can be clamped where they move by steps or along a flow, not in a closed form."
        )
    return clamped(dynamics, names)


class clamped(Dynamics):
    """Steps of another dynamics, after each of which the parameters of some names are put back."""

    inner: Dynamics
    names: tuple[str, ...] = eqx.field(static=True)

    def advances_blocks(self) -> bool:
        return self.inner.advances_blocks()

    def init(self, params: PyTree) -> PyTree:
        return self.inner.init(params)

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        dynamic, static = eqx.partition(state, eqx.is_array)

        def step(t: Array, dynamic: State) -> State:
            before = eqx.combine(dynamic, static)
            after = self.inner.advance(before, t, t + 1, key)
            kept = _chosen(after.params, before.params, self.names)
            return eqx.filter(State(kept, after.memory, after.carry), eqx.is_array)

        return eqx.combine(jax.lax.fori_loop(t0, t1, step, dynamic), static)


class _Still(eqx.Module):
    """The velocity of a flow, with zeros for the parameters of some names."""

    field: Callable[[Any], Any]
    where: Callable[[PyTree], PyTree]
    names: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, params: PyTree) -> PyTree:
        moves = self.where(jax.tree_util.tree_map_with_path(self._moves, params))
        return jax.tree.map(
            lambda rate, m: rate if m else jnp.zeros_like(rate), self.field(params), moves
        )

    def _moves(self, path: Any, _: Any) -> bool:
        return _full_name(path) not in self.names


def parameter_shapes(params: PyTree) -> dict[str, tuple[int, ...]]:
    """The shapes of all arrays of the parameters by full name: `params.W`, or `params` if they are one array."""
    found = jax.tree_util.tree_flatten_with_path(params)[0]
    is_one = lambda leaf: eqx.is_array(leaf) or _is_shape(leaf)
    return {_full_name(path): leaf.shape for path, leaf in found if is_one(leaf)}


def digest_of(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """A word for the numbers of each array."""
    found = {}
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        text = f"{data.dtype.str}{data.shape}".encode()
        found[name] = hashlib.sha256(text + data.tobytes()).hexdigest()[:32]
    return found


def _chosen(after: PyTree, before: PyTree, names: tuple[str, ...]) -> PyTree:
    """The tree `after`, with the leaves of these names as they were before."""
    pick = lambda path, new, old: old if _full_name(path) in names else new
    return jax.tree_util.tree_map_with_path(pick, after, before)


def _full_name(path: Any) -> str:
    name = jax.tree_util.keystr(path, simple=True, separator=".")
    return f"params.{name}" if name else "params"


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)
