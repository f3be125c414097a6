"""The three compiled programs of a run: begin, enter a stage, advance through record times.

They are module-level and take the arm as a static argument, so that runs of one shape share one compilation. The same
programs serve one run and a block of lanes: a lane is the last axis of every array of the state. Record times are an
array of fixed length, padded by empty spans, so that no schedule compiles anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Num, PyTree

from ..plan.dynamics import State, is_finite
from ..plan.plan import Arm, never
from ..spec import Spec
from .packing import pack

SPANS = 64  # record times handed to the compiled program at once


def begin_run(arm: Arm, lanes: bool, spec: Spec, key: Array) -> tuple[State, PyTree, Bool[Array, "..."]]:
    """The initial state, what is seen of it, and whether it is finite."""

    def begin(spec, key):
        params = arm(spec).init(jr.fold_in(key, 0))
        return params if isinstance(params, State) else State(params)

    # The barrier keeps the compiler from working out the observables of a constant start by itself, slowly.
    arrays, rest = eqx.partition(_each(begin, lanes, spec, key), eqx.is_inexact_array)
    state = eqx.combine(jax.lax.optimization_barrier(arrays), rest)
    return state, _measure(arm, lanes, spec, key, state), is_finite(state.params, lanes)


def enter_stage(arm: Arm, index: int, lanes: bool, spec: Spec, key: Array, state: State) -> State:
    """The state at the start of a stage: `enter`, then what the dynamics carries."""

    def enter(spec, key, state):
        stage = arm(spec).stages[index]
        state = stage.enter(jr.split(jr.fold_in(key, index + 1))[0], state)
        return State(state.params, state.memory, stage.dynamics.init(state.params))

    return _each(enter, lanes, spec, key, state)


def advance_stage(
    arm: Arm,
    index: int,
    lanes: bool,
    spec: Spec,
    key: Array,
    state: State,
    done: Bool[Array, "..."],
    starts: Num[Array | np.ndarray, " span"],
    stops: Num[Array | np.ndarray, " span"],
    shows: Bool[Array | np.ndarray, " span"],
    asks: Bool[Array | np.ndarray, " span"],
) -> tuple[State, Bool[Array, "..."], tuple[PyTree, Bool[Array, " span ..."], Bool[Array, " span ..."]]]:
    """Advance over each span in turn; what is seen (packed), who is done and who is finite after each.

    Only spans that end at a record time show what is seen, since a look may cost more than the span. `until` is asked
    only where `asks` says so, or the end of a stage would depend on how the work was cut.
    """
    stage = arm(spec).stages[index]
    whole_block = lanes and stage.dynamics.lanes_last and not key.ndim  # with a key each, lanes are mapped one by one
    step_key = lambda key: jr.split(jr.fold_in(key, index + 1))[1]

    def move(state, t0, t1):
        if whole_block:
            return stage.dynamics.advance(state, t0, t1, step_key(key))
        one = lambda spec, key, s: arm(spec).stages[index].dynamics.advance(s, t0, t1, step_key(key))
        return _each(one, lanes, spec, key, state)

    def look(state, done, ask):
        seen = _measure(arm, lanes, spec, key, state)
        if stage.until is not never:
            until = lambda spec, key, seen: jnp.asarray(arm(spec).stages[index].until(seen))
            done = done | (ask & _each(until, lanes, spec, key, seen))
        return pack(seen, lanes), done

    dynamic, static = eqx.partition(state, eqx.is_array)
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(look, state, done, asks[0])[0])

    def work(dynamic, done, t0, t1, show, ask):
        old = eqx.combine(dynamic, static)
        new = move(old, t0, t1)
        if stage.until is not never:  # whoever is done stays where it stopped
            new = jax.tree.map(lambda a, b: jnp.where(done, a, b) if eqx.is_array(b) else b, old, new)
        moved = eqx.filter(new, eqx.is_array)
        seen, done = jax.lax.cond(
            show,
            lambda dynamic, done: look(eqx.combine(dynamic, static), done, ask),
            lambda dynamic, done: (blank, done),
            moved,
            done,
        )
        return moved, (seen, done, is_finite(new.params, lanes))

    # Empty spans come last: they are not visited, nor is any after the end of everybody.
    active = lambda carry: (carry[0] < count) & ~carry[2].all()

    def tick(carry):
        i, dynamic, done, rows = carry
        dynamic, row = work(dynamic, done, *(x[i] for x in spans))
        rows = jax.tree.map(lambda rows, x: rows.at[i].set(x), rows, row)
        return i + 1, dynamic, row[1], rows

    spans = tuple(map(jnp.asarray, (starts, stops, shows, asks)))
    count = (spans[1] > spans[0]).sum()
    rows = jax.tree.map(lambda x: jnp.zeros((len(starts), *x.shape), x.dtype), (blank, done, done))
    _, dynamic, done, out = jax.lax.while_loop(active, tick, (jnp.zeros_like(count), dynamic, done, rows))
    return eqx.combine(dynamic, static), done, out


def inspect_state(arm: Arm, lanes: bool, spec: Spec, key: Array, state: State) -> PyTree:
    """The dear observables, at the end of a stage."""

    def look(spec, key, state):
        inspect = arm(spec).inspect
        return inspect(state.params) if inspect else None

    return _each(look, lanes, spec, key, state)


# What runs once is compiled quickly; what runs a million times may use the whole width of a CPU's vector units.
ONCE: Any = {"compiler_options": {"xla_backend_optimization_level": 0}}
OFTEN: Any = {"compiler_options": {"xla_cpu_prefer_vector_width": 512}}

begin_run_jit = eqx.filter_jit(begin_run, **ONCE)
enter_stage_jit = eqx.filter_jit(enter_stage, **ONCE)
advance_stage_jit = eqx.filter_jit(advance_stage, **OFTEN)
inspect_state_jit = eqx.filter_jit(inspect_state)


def _measure(arm: Arm, lanes: bool, spec: Spec, key: Array, state: State) -> PyTree:
    return _each(lambda spec, key, state: arm(spec).measure(state.params), lanes, spec, key, state)


def _each(one: Callable[..., Any], lanes: bool, spec: Spec, key: Array, *trees: PyTree) -> Any:
    """`one(spec, key, *trees)` for the run, or for every lane: swept numbers and the state have lanes last.

    A key that all lanes share stays unmapped, so that they share their random numbers too.
    """
    if not lanes:
        return one(spec, key, *trees)
    swept = jax.tree.map(lambda x: 0 if eqx.is_array(x) and x.ndim else None, spec)
    axes = (swept, 0 if key.ndim else None, *(eqx.if_array(-1) for _ in trees))
    size = next((x.shape[0] for x in (*jax.tree.leaves(eqx.filter(spec, eqx.is_array)), key) if x.ndim), None)
    return eqx.filter_vmap(one, in_axes=axes, out_axes=eqx.if_array(-1), axis_size=size)(spec, key, *trees)
