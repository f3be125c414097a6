"""The kernel: a program carried out on a GPU, one thread for each run, with the run's numbers in registers.

A block of lanes is loaded, taken through all steps and stored. Lanes do not exchange anything, and each of them goes through
the same operations, so that its digits do not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas
from jaxtyping import Array

from .lanes import carry_out
from .program import Node, Program

BLOCK = 128  # lanes of one block of threads: a power of two; 32 to 256 were equally fast
WARP = 32  # threads that go together


def on_gpu(program: Program, inputs: Sequence[Array], start: Array, stop: Array) -> list[Array]:
    """The outputs of a program for vectors of lanes, by one kernel."""
    from jax.experimental.pallas import triton

    options = {"compiler_params": triton.CompilerParams(num_warps=BLOCK // WARP)}
    return _called(program, inputs, start, stop, options)


def interpreted(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array
) -> list[Array]:
    """The same kernel, carried out step by step without a GPU."""
    return _called(program, inputs, start, stop, {"interpret": True})


def without_kernel(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array
) -> list[Array]:
    """The same program, compiled by XLA for any device."""
    return carry_out(program, inputs, start, stop, inputs[0].shape)


def _called(
    program: Program,
    inputs: Sequence[Array],
    start: Array,
    stop: Array,
    options: dict[str, Any],
) -> list[Array]:
    """One call of the kernel. Numbers of one kind come and go as the rows of one array, lanes last."""
    lanes = inputs[0].shape[-1]
    padded = -(-lanes // BLOCK) * BLOCK
    given = _by_kind(program.inputs)
    wanted = _by_kind(program.outputs)
    by_node = dict(zip(program.inputs, inputs, strict=True))
    arrays = [_rows([by_node[node] for node in nodes], padded) for nodes in given.values()]
    results = {kind: (len(nodes), padded) for kind, nodes in wanted.items()}

    def kernel(*refs: Any) -> None:
        steps, *rest = refs
        sources = dict(zip(given, rest[: len(given)], strict=True))
        targets = dict(zip(wanted, rest[len(given) :], strict=True))
        places = {
            node: (kind, row) for kind, nodes in given.items() for row, node in enumerate(nodes)
        }
        loaded = [_load(sources, *places[node], node) for node in program.inputs]
        outputs = carry_out(program, loaded, steps[0], steps[1], (BLOCK,))
        by_output = dict(zip(program.outputs, outputs, strict=True))
        for kind, nodes in wanted.items():
            for row, node in enumerate(nodes):
                targets[kind][row, :] = by_output[node].astype(kind)

    found = pallas.pallas_call(
        kernel,
        grid=(padded // BLOCK,),
        in_specs=[_whole(2), *(_rows_of_block(len(nodes)) for nodes in given.values())],
        out_specs=[_rows_of_block(len(nodes)) for nodes in wanted.values()],
        out_shape=[jax.ShapeDtypeStruct(shape, kind) for kind, shape in results.items()],
        **options,
    )(jnp.stack([start, stop]).astype(jnp.int32), *arrays)
    rows = {
        node: array[row, :lanes].astype(node.dtype)
        for nodes, array in zip(wanted.values(), found, strict=True)
        for row, node in enumerate(nodes)
    }
    return [rows[node] for node in program.outputs]


def _load(sources: dict[str, Any], kind: str, row: int, node: Node) -> Array:
    loaded = sources[kind][row, :]
    return loaded != jnp.zeros_like(loaded) if node.dtype == bool else loaded


def _by_kind(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    """The nodes by the kind of number that memory holds of them; truth values are kept as integers."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        kind = "int32" if node.dtype == bool else node.dtype.name
        found.setdefault(kind, []).append(node)
    return found


def _rows(vectors: Sequence[Array], lanes: int) -> Array:
    """Vectors as the rows of one array, with so many lanes: those that are missing repeat the last."""
    rows = jnp.stack([x.astype(jnp.int32) if x.dtype == bool else x for x in vectors])
    return jnp.pad(rows, ((0, 0), (0, lanes - rows.shape[1])), mode="edge")


def _rows_of_block(count: int) -> pallas.BlockSpec:
    """All rows of the lanes of one block of threads."""
    return pallas.BlockSpec((count, BLOCK), lambda block: (np.int32(0), block))


def _whole(count: int) -> pallas.BlockSpec:
    """All of a small array, for every block of threads."""
    return pallas.BlockSpec((count,), lambda block: (np.int32(0),))
