"""The compiled programs of a run: begin, enter a stage, advance through record times, inspect.

They are module-level and take the arm as a static argument, so that runs of one shape share one
compilation. The same programs serve one run and a block of runs side by side: a lane is the last
axis of every array of the state. Record times are an array of fixed length, padded by empty spans,
so that no schedule compiles anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Key, PyTree

from ..plan.dynamics import State, is_finite
from ..plan.observables import Observables, only
from ..plan.plan import Arm, Stage, never
from ..plan.reductions import Reductions
from ..spec import Spec
from .calls import Call
from .fused.flows import fused_flows
from .fused.program import Unfusable
from .fused.runs import OfOneRun, each_lane
from .packing import Packed, pack
from .reductions import Carried, begin_reductions, reduced


@dataclasses.dataclass(frozen=True)
class Program:
    """Which program it is: that of an arm, for one run or for a block of them, at one of its stages.

    It is a static argument: programs that are equal are compiled once. With `fused` the runs of a block are fused lanes
    in this stage: one kernel takes them from record to record, one for each flow if it has flows. Of the observables only
    those of `keep` are brought back (None: all), and those that `reduce` needs are looked at; of what is inspected at the
    end of a stage, those of `inspects`. No other is computed.
    """

    arm: Arm
    is_block: bool = False
    stage: int = 0
    fused: bool = False
    keep: tuple[str, ...] | None = None
    reduce: Reductions = ()
    inspects: tuple[str, ...] | None = None

    @property
    def measures(self) -> frozenset[str] | None:
        """The observables that are computed at a record; None: all of them."""
        if self.keep is None:
            return None
        return frozenset(self.keep) | {one.observable for _, one in self.reduce}

    def at_stage(self, index: int, fused: bool = False) -> Program:
        """The program of the same arm at another stage."""
        return dataclasses.replace(self, stage=index, fused=fused)

    def stage_of(self, spec: Spec) -> Stage:
        """The stage as the arm plans it for these numbers."""
        return self.arm(spec).stages[self.stage]

    def enter_key(self, key: Key[Array, ""]) -> Key[Array, ""]:
        """The key for entering the stage, from the key of the run."""
        return jr.split(jr.fold_in(key, self.stage + 1))[0]

    def step_key(self, key: Key[Array, ""]) -> Key[Array, ""]:
        """The key for the steps of the stage, from the key of the run."""
        return jr.split(jr.fold_in(key, self.stage + 1))[1]


class Inputs(eqx.Module):
    """What a run is computed from: its numbers, the root of all its random numbers, and the plan's tables.

    In a block, numbers that differ from lane to lane are arrays; the key is one for each lane, or
    one that all of them share; tables have lanes last.
    """

    spec: Spec
    key: Key[Array, "..."]
    tables: PyTree = None


class Seen(eqx.Module):
    """What a call gives for each of its spans; numbers that are measured are packed.

    `all_done` says whether everybody has left the stage.
    """

    measured: Packed
    all_done: Bool[Array, "..."]
    finite: Bool[Array, "..."]


class Moved(eqx.Module):
    """What the loop over spans carries: the arrays of the state, who is done, and what reductions have so far."""

    dynamic: State
    done: Bool[Array, "..."]
    carried: Carried | None


# Of that loop: which span is next, what it carries, and what was seen.
Walk = tuple[Array, Moved, Seen]


def begin_run(program: Program, inputs: Inputs) -> tuple[State, Observables, Bool[Array, "..."]]:
    """The initial state, what is measured of it, and whether it is finite."""

    tables = () if inputs.tables is None else (inputs.tables,)

    def begin(spec: Spec, key: Array, *tables: PyTree) -> State:
        params = program.arm(spec).init(jr.fold_in(key, 0), *tables)
        if isinstance(params, State):
            return params
        return State(params)

    # The barrier keeps the compiler from working out the observables of a constant start by itself, slowly.
    arrays, rest = eqx.partition(_each(begin, program, inputs, *tables), eqx.is_inexact_array)
    state = eqx.combine(jax.lax.optimization_barrier(arrays), rest)
    return state, _measure(program, inputs, state)[0], is_finite(state.params, program.is_block)


def enter_stage(program: Program, inputs: Inputs, state: State) -> State:
    """The state at the start of a stage: `enter`, then what the dynamics carries."""

    def enter(spec: Spec, key: Array, state: State) -> State:
        stage = program.stage_of(spec)
        entered = stage.enter(program.enter_key(key), state)
        return State(entered.params, entered.memory, stage.dynamics.init(entered.params))

    return _each(enter, program, inputs, state)


def advance_stage(
    program: Program,
    inputs: Inputs,
    state: State,
    done: Bool[Array, "..."],
    call: Call,
    carried: Carried | None = None,
) -> tuple[State, Bool[Array, "..."], Seen, Carried | None]:
    """Advance over each span in turn; what is measured, who is done and who is finite after each.

    Only spans that end at a record time are measured, since that may cost more than the span. `until`
    is asked only where the call says so, or the end of a stage would depend on how the work was cut.
    `carried` is what the reductions have so far, if the program has any.
    """
    stage = program.stage_of(inputs.spec)
    has_until = stage.until is not never
    # With a key for each, lanes are mapped one by one.
    whole_block = program.is_block and stage.dynamics.advances_blocks() and not inputs.key.ndim
    dynamic, static = eqx.partition(state, eqx.is_array)
    spans = jax.tree.map(jnp.asarray, call)
    count = (spans.stops > spans.starts).sum()

    def move(state: State, t0: Array, t1: Array) -> State:
        if program.fused and stage.dynamics.divisible:
            return eqx.combine(_advance_fused(program, inputs, state, t0, t1), static)
        if program.fused:
            with fused_flows():
                return advance_lanes(program, inputs, state, t0, t1)
        if whole_block:
            return stage.dynamics.advance(state, t0, t1, program.step_key(inputs.key))
        return advance_lanes(program, inputs, state, t0, t1)

    def look(
        state: State, done: Array, carried: Carried | None, span: Call
    ) -> tuple[Packed, Array, Carried | None]:
        measured, stops = _measure(program, inputs, state, has_until)
        if stops is not None:
            done = done | (jnp.asarray(span.asks_until) & stops)
        if carried is not None:
            finite = is_finite(state.params, program.is_block)
            carried = reduced(program.reduce, carried, measured, finite, jnp.asarray(span.counts))
        return pack(only(measured, program.keep), program.is_block), done, carried

    first_span = jax.tree.map(lambda x: x[0], spans)
    unmeasured = jax.tree.map(
        lambda x: jnp.zeros(x.shape, x.dtype),
        jax.eval_shape(look, state, done, carried, first_span)[0],
    )

    def one_span(before: Moved, span: Call) -> tuple[Moved, Seen]:
        old = eqx.combine(before.dynamic, static)
        done = before.done
        new = move(old, jnp.asarray(span.starts), jnp.asarray(span.stops))
        if has_until:  # whoever is done stays where it stopped
            new = jax.tree.map(
                lambda a, b: jnp.where(done, a, b) if eqx.is_array(b) else b, old, new
            )
        moved = eqx.filter(new, eqx.is_array)
        measured, done, carried = jax.lax.cond(
            span.is_record,
            lambda dynamic, done, carried: look(eqx.combine(dynamic, static), done, carried, span),
            lambda dynamic, done, carried: (unmeasured, done, carried),
            moved,
            done,
            before.carried,
        )
        finite = is_finite(new.params, program.is_block)
        return Moved(moved, done, carried), Seen(measured, done.all(), finite)

    def is_active(walk: Walk) -> Array:
        """Empty spans come last: they are not visited, nor is any after the end of everybody."""
        index, moved, _ = walk
        return (index < count) & ~moved.done.all()

    def visit(walk: Walk) -> Walk:
        index, moved, rows = walk
        span = jax.tree.map(lambda x: x[index], spans)
        moved, row = one_span(moved, span)
        rows = jax.tree.map(lambda rows, x: rows.at[index].set(x), rows, row)
        return index + 1, moved, rows

    empty = jax.tree.map(
        lambda x: jnp.zeros((len(call.starts), *x.shape), x.dtype),
        Seen(unmeasured, done.all(), done),
    )
    first = (jnp.zeros_like(count), Moved(dynamic, done, carried), empty)
    _, moved, seen = jax.lax.while_loop(is_active, visit, first)
    return eqx.combine(moved.dynamic, static), moved.done, seen, moved.carried


def look_at_state(
    program: Program, inputs: Inputs, state: State
) -> tuple[Observables, Bool[Array, "..."]]:
    """What is measured of a state, and whether it is finite."""
    return _measure(program, inputs, state)[0], is_finite(state.params, program.is_block)


def inspect_state(program: Program, inputs: Inputs, state: State) -> Observables | None:
    """The expensive observables, at the end of a stage."""

    def inspect(spec: Spec, key: Array, state: State) -> Observables | None:
        plan = program.arm(spec)
        if plan.inspect is None:
            return None
        return only(plan.inspect(state.params), program.inspects)

    return _each(inspect, program, inputs, state)


def _measure(
    program: Program, inputs: Inputs, state: State, asks_until: bool = False
) -> tuple[Observables, Bool[Array, "..."] | None]:
    """What is wanted of the observables, and whether they end the stage: `until` may look at all of them."""

    def measure(
        spec: Spec, key: Array, state: State, *steps: Array
    ) -> tuple[Observables, Array | None]:
        plan = program.arm(spec)
        seen = plan.measure(state.params)
        stops = jnp.asarray(plan.stages[program.stage].until(seen)) if asks_until else None
        return only(seen, program.measures), stops

    if program.fused and (asks_until or program.measures != frozenset()):
        at_once = (jnp.zeros((), int), jnp.zeros((), int))
        with contextlib.suppress(Unfusable):
            return each_lane(measure, inputs.spec, inputs.key, state, at_once)
    return _each(measure, program, inputs, state)


def advance_lanes(program: Program, inputs: Inputs, state: State, t0: Array, t1: Array) -> State:
    """The state at t1, each lane (or the run) by itself."""

    def advance(spec: Spec, key: Array, state: State) -> State:
        return program.stage_of(spec).dynamics.advance(state, t0, t1, program.step_key(key))

    return _each(advance, program, inputs, state)


def _advance_fused(program: Program, inputs: Inputs, state: State, t0: Array, t1: Array) -> State:
    return each_lane(advance_one(program), inputs.spec, inputs.key, state, (t0, t1))


def advance_one(program: Program) -> OfOneRun:
    """The steps of a stage for one run: the arrays of its state after them."""

    def advance(spec: Spec, key: Array, state: State, t0: Array, t1: Array) -> State:
        moved = program.stage_of(spec).dynamics.advance(state, t0, t1, program.step_key(key))
        return eqx.filter(moved, eqx.is_array)

    return advance


def _each(one: Callable[..., Any], program: Program, inputs: Inputs, *trees: PyTree) -> Any:
    """`one(spec, key, *trees)` for the run, or for every lane: swept numbers and the state have lanes last.

    A key that all lanes share stays unmapped, so that they share their random numbers too.
    """
    spec, key = inputs.spec, inputs.key
    if not program.is_block:
        return one(spec, key, *trees)
    swept = jax.tree.map(lambda x: 0 if eqx.is_array(x) and x.ndim else None, spec)
    axes = (swept, 0 if key.ndim else None, *(eqx.if_array(-1) for _ in trees))
    columns = (*jax.tree.leaves(eqx.filter(spec, eqx.is_array)), key)
    size = next((x.shape[0] for x in columns if x.ndim), None)
    mapped = eqx.filter_vmap(one, in_axes=axes, out_axes=eqx.if_array(-1), axis_size=size)
    return mapped(spec, key, *trees)


# What runs once is compiled quickly; what runs a million times may use the whole width of a CPU's vector units.
ONCE: Any = {"compiler_options": {"xla_backend_optimization_level": 0}}
OFTEN: Any = {"compiler_options": {"xla_cpu_prefer_vector_width": 512}}

begin_run_jit = eqx.filter_jit(begin_run, **ONCE)
begin_reductions_jit = eqx.filter_jit(begin_reductions, **ONCE)
enter_stage_jit = eqx.filter_jit(enter_stage, **ONCE)
advance_stage_jit = eqx.filter_jit(advance_stage, **OFTEN)
look_at_state_jit = eqx.filter_jit(look_at_state, **OFTEN)
inspect_state_jit = eqx.filter_jit(inspect_state)
