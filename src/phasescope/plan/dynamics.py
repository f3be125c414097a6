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
    """What is trained; what is held fixed during a stage (a teacher, a dataset); what the dynamics carries."""

    params: PyTree
    memory: PyTree = None
    carry: PyTree = None


class Dynamics(eqx.Module):
    """A kind of motion. A user may write a further one: `init`, `advance`, and whether time may be cut anywhere.

    `divisible` dynamics count whole steps, and advancing t0 -> t1 -> t2 is bit for bit t0 -> t2; the engine may
    then stop between two record times.
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
    """Steps of an optax optimiser on `loss(params, batch)`, with `batch = sample(key of the step, memory)`.

    `where` selects what moves; the rest is frozen.
    """

    loss: Callable[[Any, Any], Array]
    optimiser: optax.GradientTransformation
    sample: Callable[[Array, PyTree], Any] = no_batch
    where: Callable[[PyTree], PyTree] = everything

    def init(self, params: PyTree) -> PyTree:
        return self.optimiser.init(eqx.filter(self.where(params), eqx.is_array))

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        memory = state.memory

        def step(t, moving_part):
            params, carry = moving_part
            batch = self.sample(jr.fold_in(key, t), memory)
            moving = self.where(params)
            grads = jax.grad(lambda m: self.loss(put(params, self.where, m), batch))(moving)
            updates, carry = self.optimiser.update(grads, carry, moving)
            return put(params, self.where, optax.apply_updates(moving, updates)), carry

        params, carry = jax.lax.fori_loop(t0, t1, step, (state.params, state.carry))
        return State(params, memory, carry)


class iterate(Dynamics):
    """A map applied once a step: `params <- step(params, t, key)`. Hand-written gradients and reductions live here.

    With `lanes_last` the step is written elementwise over trailing axes, and is given a whole block
    of runs at once, with the runs on the last axis.
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
    """A closed form: the parameters as a function of the time since the stage began."""

    at: Callable[[Array], Any]
    divisible: ClassVar[bool] = False

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        return State(self.at(t1), state.memory, state.carry)


def put(params: PyTree, where: Callable[[PyTree], PyTree], part: PyTree) -> PyTree:
    """`params` with `where(params)` replaced by `part`."""
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
