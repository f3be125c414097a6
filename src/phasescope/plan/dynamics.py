"""Dynamics: given the state at t0, what is it at t1? Three of the four kinds; `flow` has a module of its own."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, PyTree


class State(eqx.Module):
    """What a dynamics moves, and what it needs to do so.

        >>> ps.State(params={"w": 1.0}).memory is None
        True

    **Arguments:** `params`: what is trained. `memory`: what is held fixed during a stage (a teacher, a
    dataset). `carry`: what the dynamics carries (moments, step size).
    """

    params: PyTree
    memory: PyTree = None
    carry: PyTree = None


class Supplied(eqx.Module):
    """The memory of a stage whose batches come from outside: one for each step, along the first axis of every array."""

    memory: PyTree
    batches: PyTree


class Dynamics(eqx.Module):
    """A kind of motion: given the state at t0, what is it at t1? Subclass it for one of your own.

        >>> class decay(ps.Dynamics):
        ...     def advance(self, state, t0, t1, key):
        ...         return ps.State(state.params * 0.5 ** (t1 - t0), state.memory, state.carry)
        >>> decay().advance(ps.State(8.0), 0, 3, None).params
        1.0

    A subclass writes `advance`, and `init` if it carries something. One that draws batches writes `sampler` and
    takes them by `batch` in `advance`: then those of another program can be put in their place
    (`ps.replay`). `divisible` dynamics count whole
    steps, and advancing t0 -> t1 -> t2 is bit for bit t0 -> t2; the engine may then stop between two
    record times. `advances_blocks` says whether a block of runs is handed over whole.
    """

    divisible: ClassVar[bool] = True

    def advances_blocks(self) -> bool:
        """Whether `advance` is written elementwise over trailing axes.

        A block of runs is then handed over whole, with the runs on the last axis of every array,
        instead of being mapped run by run.
        """
        return False

    def init(self, params: PyTree) -> PyTree:
        """What the dynamics carries at the start of a stage."""
        return None

    def sampler(self) -> Callable[[Array, PyTree], Any] | None:
        """The function of a key and the memory that draws the batch of one step; None if none is drawn."""
        return None

    def batch(self, key: Array, t: Array, memory: PyTree) -> PyTree:
        """The batch of step t, counted from the start of the stage: drawn, or the one that came from outside."""
        if isinstance(memory, Supplied):
            return jax.tree.map(lambda x: x[t], memory.batches)
        draw = self.sampler()
        return None if draw is None else draw(jr.fold_in(key, t), memory)

    @abc.abstractmethod
    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        """The state at t1, given the state at t0; both times count from the start of the stage."""


def no_batch(key: Array, memory: PyTree) -> None:
    """Full-batch descent: the loss knows its data."""
    return None


def everything(params: PyTree) -> PyTree:
    """Train all parameters."""
    return params


class descent(Dynamics):
    """Steps of an optax optimiser on `loss(params, batch)`.

        >>> import jax.numpy as jnp, optax
        >>> gd = ps.descent(lambda w, batch: jnp.sum(w**2), optax.sgd(0.25))
        >>> w = jnp.array([1.0])
        >>> start = ps.State(w, None, gd.init(w))
        >>> gd.advance(start, jnp.array(0), jnp.array(2), jax.random.key(0)).params.tolist()
        [0.25]

    **Arguments:** `loss`: of params and batch. `optimiser`: any of optax. `sample`: draws the batch of
    a step, `sample(key, memory)`; without it the loss knows its data. `where`: selects what moves, the
    rest is frozen.
    """

    loss: Callable[[Any, Any], Array]
    optimiser: optax.GradientTransformation
    sample: Callable[[Array, PyTree], Any] = no_batch
    where: Callable[[PyTree], PyTree] = everything

    def init(self, params: PyTree) -> PyTree:
        return self.optimiser.init(eqx.filter(self.where(params), eqx.is_array))

    def sampler(self) -> Callable[[Array, PyTree], Any] | None:
        return None if self.sample is no_batch else self.sample

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        memory = state.memory

        def step(t, moving_part):
            params, carry = moving_part
            batch = self.batch(key, t, memory)
            moving = self.where(params)
            grads = jax.grad(lambda m: self.loss(put(params, self.where, m), batch))(moving)
            updates, carry = self.optimiser.update(grads, carry, moving)
            return put(params, self.where, optax.apply_updates(moving, updates)), carry

        params, carry = jax.lax.fori_loop(t0, t1, step, (state.params, state.carry))
        return State(params, memory, carry)


class iterate(Dynamics):
    """A map applied once a step: `params <- step(params, t, key)`. Reductions and hand-written gradients.

        >>> import jax.numpy as jnp
        >>> half = ps.iterate(lambda w, t, key: 0.5 * w)
        >>> float(half.advance(ps.State(8.0), jnp.array(0), jnp.array(3), jax.random.key(0)).params)
        1.0

    **Arguments:** `step`: of params, the number of the step and its key. `lanes_last`: it is written
    elementwise over trailing axes, and a block of runs is advanced with the runs on the last axis.
    """

    step: Callable[[Any, Array, Array], Any]
    lanes_last: bool = False

    def advances_blocks(self) -> bool:
        return self.lanes_last

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        def step(t: Array, params: PyTree) -> PyTree:
            return self.step(params, t, jr.fold_in(key, t))

        return State(jax.lax.fori_loop(t0, t1, step, state.params), state.memory, state.carry)


class formula(Dynamics):
    """A closed form: the parameters as a function of the time since the stage began.

        >>> import jax.numpy as jnp
        >>> line = ps.formula(lambda t: 2.0 * t)
        >>> float(line.advance(ps.State(0.0), jnp.array(0.0), jnp.array(3.0), jax.random.key(0)).params)
        6.0

    **Arguments:** `at`: of a time, gives the parameters.
    """

    at: Callable[[Array], Any]
    divisible: ClassVar[bool] = False

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        return State(self.at(t1), state.memory, state.carry)


def put(params: PyTree, where: Callable[[PyTree], PyTree], part: PyTree) -> PyTree:
    """`params` with `where(params)` replaced by `part`; the given one stays as it is.

        >>> ps.put({"a": 1.0, "b": 2.0}, lambda w: w["b"], 5.0)
        {'a': 1.0, 'b': 5.0}

    **Arguments:** `params`: any tree. `where`: selects a part of it. `part`: of the same structure.

    **Returns:** a new tree.
    """
    if where is everything:
        return part
    return eqx.tree_at(where, params, part)


def is_finite(tree: PyTree, lanes: bool = False) -> Array:
    """Whether every number of the tree is finite; with `lanes`, one answer for each entry of the last axis."""
    leaves = [x for x in jax.tree.leaves(tree) if eqx.is_inexact_array(x)]
    if not leaves:
        return jnp.array(True)
    if lanes:
        checks = [jnp.isfinite(x).all(axis=tuple(range(x.ndim - 1))) for x in leaves]
    else:
        checks = [jnp.isfinite(x).all() for x in leaves]
    return jnp.stack(checks).all(axis=0)
