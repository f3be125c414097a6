"""Operations that move scalars about, or combine those of an array: carried out while the program is built.

What only moves scalars (a slice, a transpose, a gather with known indices) is carried out by JAX itself on an array of
positions, and costs nothing afterwards.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .program import Builder, Node, Unfusable

Combine = Callable[[Node, Node], Node]

# By name, which of their arguments are moved about; the others, such as indices, must be known.
MOVES: dict[str, tuple[int, ...] | None] = {
    "reshape": None,
    "slice": None,
    "squeeze": None,
    "expand_dims": None,
    "broadcast_in_dim": None,
    "transpose": None,
    "concatenate": None,
    "rev": None,
    "tile": None,
    "pad": None,
    "split": None,
    "stack": None,
    "unstack": None,
    "gather": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "scatter": (0, 2),
}
REDUCTIONS = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
}
CUMULATIONS = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}
OUTSIDE = -1  # the position that a gather gives where its index is out of range
LARGEST_ARRAY = 1_000_000  # scalars of one array


def with_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, evaluated now and on the CPU although a program is being traced: it is about positions."""

    @functools.wraps(function)
    def evaluated(*arguments: Any, **options: Any) -> Any:
        with jax.ensure_compile_time_eval(), jax.default_device(jax.devices("cpu")[0]):
            return function(*arguments, **options)

    return evaluated


@with_cpu
def evaluate(primitive: Any, inputs: Sequence[np.ndarray], parameters: dict[str, Any]) -> list[Any]:
    """What a primitive gives for inputs that are known."""
    found = primitive.bind(*map(jnp.asarray, inputs), **parameters)
    return list(found) if primitive.multiple_results else [found]


def as_nodes(builder: Builder, x: np.ndarray) -> np.ndarray:
    """The array with a node for each scalar."""
    if x.dtype == object:
        return x
    return array_of([builder.constant(value, x.dtype) for value in x.ravel()], x.shape)


def array_of(nodes: Sequence[Node], shape: Sequence[int]) -> np.ndarray:
    """Nodes in order, as an array."""
    found = np.empty(len(nodes), object)
    found[:] = nodes
    return found.reshape(tuple(shape))


def moved(builder: Builder, eqn: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What an operation of `MOVES` gives."""
    name = eqn.primitive.name
    data = MOVES[name]
    scalars: list[Node] = []
    positions = []
    for index, x in enumerate(inputs):
        if data is not None and index not in data:
            positions.append(x)
            continue
        start = len(scalars)
        scalars += as_nodes(builder, x).ravel().tolist()
        positions.append(np.arange(start, len(scalars), dtype=np.int64).reshape(x.shape))
    parameters = dict(eqn.params)
    if name == "gather":
        parameters["fill_value"] = OUTSIDE
    size = sum(math.prod(v.aval.shape) for v in eqn.outvars)
    if size > LARGEST_ARRAY:
        raise Unfusable(f"it has an array of {size} numbers")
    nothing = _nothing(builder, eqn.outvars[0].aval.dtype, eqn.params.get("fill_value"))
    found = []
    for chosen in map(np.asarray, evaluate(eqn.primitive, positions, parameters)):
        nodes = [scalars[i] if i != OUTSIDE else nothing for i in chosen.ravel()]
        if not _is_whole(chosen, inputs[0]):
            nodes = list(map(builder.plain, nodes))
        found.append(array_of(nodes, chosen.shape))
    return found


def _is_whole(chosen: np.ndarray, x: np.ndarray) -> bool:
    """Whether positions are those of one array in order: it has another shape, and was not moved."""
    return chosen.size == x.size and bool((chosen.ravel() == np.arange(x.size)).all())


def _nothing(builder: Builder, dtype: np.dtype, asked: Any) -> Node:
    """What stands for an entry that does not exist: what was asked for, else what JAX puts there."""
    if asked is not None:
        return builder.constant(asked, dtype)
    if dtype.kind == "f":
        return builder.constant(np.nan, dtype)
    return builder.constant(True if dtype.kind == "b" else np.iinfo(dtype).min, dtype)


def scattered(combine: Combine, eqn: Any, x: np.ndarray, indices: Any, updates: np.ndarray) -> Any:
    """What `scatter_add` gives: each update combined with the entry that it goes to, in order."""
    found = x.ravel().tolist()
    targets = _targets(eqn, x.shape, indices, updates.shape)
    for target, update in zip(targets, updates.ravel().tolist(), strict=True):
        if target is not None:
            found[target] = combine(found[target], update)
    return array_of(found, x.shape)


@with_cpu
def _targets(
    eqn: Any, shape: tuple[int, ...], indices: Any, updates: tuple[int, ...]
) -> list[int | None]:
    """Where each update goes; None where it is out of range."""
    count = math.prod(updates)
    if count * math.prod(shape) > LARGEST_ARRAY:
        raise Unfusable(f"it adds {count} numbers to an array of shape {shape} by their indices")
    empty = jnp.zeros(shape)

    def added(update: jax.Array) -> jax.Array:
        return eqn.primitive.bind(empty, jnp.asarray(indices), update, **eqn.params)

    one_each = jnp.eye(count).reshape(count, *updates)
    hits = np.asarray(jax.vmap(added)(one_each)).reshape(count, -1)
    return [int(row.argmax()) if row.any() else None for row in hits]


def reduced(combine: Combine, x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The scalars along some axes combined, in order."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [x.shape[axis] for axis in kept]
    count = math.prod(x.shape[axis] for axis in axes)
    rows = np.transpose(x, [*kept, *axes]).reshape(math.prod(shape), count)
    return array_of([_combined(combine, row.tolist()) for row in rows], shape)


def accumulated(combine: Combine, x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """The scalars along an axis combined up to each place."""
    turned = np.moveaxis(x, axis, 0)
    rows = turned.reshape(len(turned), -1)
    if reverse:
        rows = rows[::-1]
    found = rows.copy()
    for here in range(1, len(rows)):
        pairs = zip(found[here - 1], rows[here], strict=True)
        found[here] = [combine(a, b) for a, b in pairs]
    if reverse:
        found = found[::-1]
    return np.moveaxis(found.reshape(turned.shape), 0, axis)


def contracted(
    multiply: Combine, add: Combine, x: np.ndarray, y: np.ndarray, dimension_numbers: Any
) -> np.ndarray:
    """What `dot_general` gives: sums of products."""
    (x_summed, y_summed), (x_shared, y_shared) = dimension_numbers
    left, left_shape = _as_rows(x, x_shared, x_summed)
    right, right_shape = _as_rows(y, y_shared, y_summed)
    shared = [x.shape[axis] for axis in x_shared]
    scalars = []
    for rows, columns in zip(left, right, strict=True):
        for row in rows:
            for column in columns:
                products = [multiply(a, b) for a, b in zip(row, column, strict=True)]
                scalars.append(_combined(add, products))
    return array_of(scalars, [*shared, *left_shape, *right_shape])


def _combined(combine: Combine, scalars: Sequence[Node]) -> Node:
    """Some scalars combined, in order."""
    if not scalars:
        raise Unfusable("it sums over nothing")
    return functools.reduce(combine, scalars)


def _as_rows(
    x: np.ndarray, shared: Sequence[int], summed: Sequence[int]
) -> tuple[np.ndarray, list[int]]:
    """The array as [shared, own, summed], and the shape of its own axes."""
    own = [axis for axis in range(x.ndim) if axis not in (*shared, *summed)]
    shape = [x.shape[axis] for axis in own]
    count = math.prod(x.shape[axis] for axis in shared)
    length = math.prod(x.shape[axis] for axis in summed)
    turned = np.transpose(x, [*shared, *own, *summed])
    return turned.reshape(count, math.prod(shape), length), shape
