"""How large the records of a run are, before it runs: how many cells of a map fit into memory together."""

from __future__ import annotations

import equinox as eqx
import jax

from ..engine.job import Job
from ..engine.precision import exact_numbers
from ..engine.programs import Program, begin_run

MEMORY = 2**28  # bytes of records that are held at a time
MOST = 4096  # cells


def records_bytes(job: Job) -> int:
    """Bytes of all that one run records."""
    one = job.without_lanes()
    with exact_numbers():
        _, measured, _ = eqx.filter_eval_shape(begin_run, Program(one.arm), one.inputs())
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(measured))
    stages = one.plan().stages
    times = 1 + sum(len(stage.lay_out()) for stage in stages) if one.at is None else len(one.at)
    return max(size * times, 1)


def cells_at_once(bytes_of_a_cell: int) -> int:
    """A power of two, so that blocks of lanes are filled."""
    fitting = max(MEMORY // bytes_of_a_cell, 1)
    return min(1 << (fitting.bit_length() - 1), MOST)
