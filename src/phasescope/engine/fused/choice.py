"""Which runs are fused lanes: those of a block on a GPU whose work is worth a kernel, and whose steps make a small one.

The choice depends on what was asked (the arm, its numbers, how many lanes and steps) and on the device, and on nothing that
happens meanwhile: a run that is resumed, or recorded at other times, takes the same path.

How many steps a flow takes is not known before, so that flows are chosen by their number alone.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Hashable

import equinox as eqx
import jax
import jax.numpy as jnp

from ...identity.provenance import ENGINE_PATH
from ...plan.dynamics import State
from ..calls import stage_length
from ..job import Job
from ..precision import exact_numbers
from ..programs import Inputs, Program, advance_lanes, advance_one, begin_run, enter_stage
from .flows import fused_flows
from .program import Unfusable
from .runs import check_size, of_single_run

VARIABLE = "PHASESCOPE_FUSED"
OFF = "0"
FUSED_PATH = "fused lanes"
LEAST_LANES = 1024  # below, a GPU is idle for the most part
LEAST_WORK = (
    2**26
)  # steps of all lanes: a second or so of the ordinary path, a kernel takes seconds to compile
LEAST_FLOWS = 4096  # below, compiling a kernel takes longer than it saves
MOST_STEPS = 2**31  # of a stage: a kernel counts them in 32 bits

# Whether the steps of a stage make a small kernel, as found in this process.
small: dict[Hashable, bool] = {}
SMALL_KEPT = 256


def is_fused(job: Job, index: int) -> bool:
    """Whether the runs of a job are fused lanes in one of its stages."""
    if not on_this_device() or job.lane_count < LEAST_LANES:
        return False
    stage = job.plan().stages[index]
    if not stage.dynamics.divisible:
        return job.lane_count >= LEAST_FLOWS and makes_small_flows(job, index)
    length = stage_length(stage)
    if length >= MOST_STEPS:
        return False
    return job.lane_count * length >= LEAST_WORK and makes_small_kernel(job, index)


def engine_path(job: Job) -> str:
    """The path that a job takes through the engine, as its provenance has it."""
    stages = job.plan().stages
    fused = [stage.name for index, stage in enumerate(stages) if is_fused(job, index)]
    if not fused:
        return ENGINE_PATH
    if len(fused) == len(stages):
        return FUSED_PATH
    return f"{FUSED_PATH} in {', '.join(fused)}; else {ENGINE_PATH}"


def on_this_device() -> bool:
    """Whether lanes are fused here at all: on a GPU, unless PHASESCOPE_FUSED is 0."""
    return jax.default_backend() == "gpu" and os.environ.get(VARIABLE, "") != OFF


def makes_small_kernel(job: Job, index: int) -> bool:
    """Whether the steps of a stage can be written as a program of few scalar operations; remembered."""
    return _remembered(_makes_small_kernel, job.without_lanes(), index)


def makes_small_flows(job: Job, index: int) -> bool:
    """Whether a stage consists of flows each of which can be solved by a small kernel; remembered."""
    two = {name: tuple(column[:2]) for name, column in job.columns.items()}
    return _remembered(_makes_small_flows, dataclasses.replace(job, columns=two), index)


def _remembered(find: Callable[[Job, int], bool], job: Job, index: int) -> bool:
    name = (find, job.shape(), index)
    if name not in small:
        if len(small) >= SMALL_KEPT:
            small.clear()
        with exact_numbers():
            try:
                small[name] = find(job, index)
            except Unfusable:
                small[name] = False
    return small[name]


def _makes_small_kernel(job: Job, index: int) -> bool:
    program = Program(job.arm).at_stage(index)
    inputs = job.inputs()
    state = _state_in_stage(program, inputs)
    step = jax.ShapeDtypeStruct((), jnp.int64)
    one = advance_one(program)
    check_size(of_single_run(one, inputs.spec, inputs.key, state, (step, step)))
    return True


def _makes_small_flows(job: Job, index: int) -> bool:
    program = Program(job.arm, is_block=True).at_stage(index)
    inputs = job.inputs()
    time = jax.ShapeDtypeStruct((), jnp.float64)
    state = _state_in_stage(program, inputs)
    with fused_flows() as flows:
        eqx.filter_eval_shape(advance_lanes, program, inputs, state, time, time)
    return flows.count > 0


def _state_in_stage(program: Program, inputs: Inputs) -> State:
    """The shapes of the state at the beginning of the stage of a program."""

    def state_in_stage(inputs: Inputs) -> State:
        state = begin_run(program, inputs)[0]
        for index in range(program.stage + 1):
            state = enter_stage(program.at_stage(index), inputs, state)
        return state

    return eqx.filter_eval_shape(state_in_stage, inputs)
