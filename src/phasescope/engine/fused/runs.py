"""A function of one run, as a function of a block of runs: what the compiled programs of the engine call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Key, PyTree

from ...plan.dynamics import State
from ...spec import Spec
from .kernel import on_gpu, without_kernel
from .lanes import Carrier, LaneArguments, on_lanes
from .program import Program, Unfusable
from .scalarise import scalarise

# Scalar operations of one kernel: 845 take 25 s to compile on an H200, 417 take 4 s.
LARGEST_KERNEL = 1500

# Of the numbers of a run, its key, its state and two steps: gives a tree of arrays.
OfOneRun = Callable[[Spec, Key[Array, ""], State, Array, Array], PyTree]


def each_lane(
    one: OfOneRun,
    spec: Spec,
    key: Key[Array, "..."],
    state: State,
    steps: tuple[Array, Array],
) -> PyTree:
    """`one(spec, key, state, *steps)` for every run of a block, lanes last; numbers that are swept are arrays.

    Raises `Unfusable` if `one` cannot be written as so few scalar operations.
    """
    function, arguments = _split(one, spec, key, state, steps)
    scalarised = scalarise(function, *arguments.of_one_run())
    check_size(scalarised.program)
    return on_lanes(scalarised, arguments, carrier())


def carrier() -> Carrier:
    """What carries out a program on the device of this process."""
    return on_gpu if jax.default_backend() == "gpu" else without_kernel


def check_size(program: Program) -> None:
    """Raise `Unfusable` if the program is too large for a kernel."""
    if program.size > LARGEST_KERNEL:
        raise Unfusable(f"it has {program.size} scalar operations, more than {LARGEST_KERNEL}")


def of_single_run(
    one: OfOneRun, spec: Spec, key: Key[Array, ""], state: State, steps: tuple[Any, Any]
) -> Program:
    """The program of `one` for a single run without a lane axis; only the shapes of its arguments matter."""
    function, arguments = _split(one, spec, key, state, steps)
    return scalarise(function, arguments.per_lane, arguments.shared, arguments.steps).program


def _split(
    one: OfOneRun,
    spec: Spec,
    key: Key[Array, "..."],
    state: State,
    steps: tuple[Any, Any],
) -> tuple[Callable[..., PyTree], LaneArguments]:
    """`one` as a function of what differs from lane to lane, what all lanes share, and the steps; and these arguments."""
    swept, fixed = eqx.partition(spec, _has_lanes)
    numbers, words = eqx.partition(fixed, eqx.is_array)
    keys, shared_key = eqx.partition(key, _has_lanes)
    moving, resting = eqx.partition(state, _is_array)

    def function(per_lane: Any, shared: Any, steps: Any) -> PyTree:
        moving, swept, keys = per_lane
        numbers, shared_key = shared
        spec = eqx.combine(swept, numbers, words)
        return one(spec, eqx.combine(keys, shared_key), eqx.combine(moving, resting), *steps)

    return function, LaneArguments((moving, swept, keys), (numbers, shared_key), steps)


def _has_lanes(x: Any) -> bool:
    return eqx.is_array(x) and x.ndim > 0


def _is_array(x: Any) -> bool:
    return eqx.is_array(x) or hasattr(x, "dtype")
