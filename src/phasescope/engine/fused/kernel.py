"""The kernel: what is done with one run, carried out on a GPU with one thread for each run and its numbers in registers.

A block of lanes is loaded, taken through all steps and stored. Lanes do not exchange anything, and each of them goes through
the same operations, so that its digits do not depend on its neighbours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas
from jaxtyping import Array

from .lanes import carry_out
from .program import Program

BLOCK = 128  # lanes of one block of threads: a power of two; 32 to 256 were equally fast
WARP = 32  # threads that go together


class Memory(Protocol):
    """Vectors of lanes that are found again by a number, where registers cannot be.

    What `empty` gives is carried along: `write` gives what holds the new vector too.
    """

    def empty(self) -> Any: ...

    def write(self, held: Any, row: Array, vector: Array) -> Any: ...

    def read(self, held: Any, row: Array) -> Array: ...


# Of numbers that all lanes share (indexed one at a time), memory, and vectors of lanes: gives vectors of lanes.
Body = Callable[[Any, Memory, list[Array]], list[Array]]


@dataclasses.dataclass(frozen=True)
class Work:
    """What a kernel does: `body`, of vectors of lanes, for every block of lanes.

    `kinds` are those of its results, `memory` the vectors that it needs memory for, `block` the lanes of a block.
    """

    body: Body
    inputs: Sequence[Array]
    kinds: Sequence[np.dtype]
    shared: Array
    memory: int = 0
    block: int = BLOCK


# Carries out some work, by a kernel or without.
Way = Callable[[Work], list[Array]]


def by_gpu(work: Work) -> list[Array]:
    """By one kernel."""
    from jax.experimental.pallas import triton

    return _called(work, {"compiler_params": triton.CompilerParams(num_warps=work.block // WARP)})


def by_interpreter(work: Work) -> list[Array]:
    """By the same kernel, carried out step by step without a GPU."""
    return _called(work, {"interpret": True})


def by_xla(work: Work) -> list[Array]:
    """Without a kernel: compiled by XLA for any device."""
    shape = work.inputs[0].shape
    return work.body(work.shared, _InArray(work.memory, shape), list(work.inputs))


def on_gpu(program: Program, inputs: Sequence[Array], start: Array, stop: Array) -> list[Array]:
    """The outputs of a program for vectors of lanes, by one kernel."""
    return by_gpu(_work(program, inputs, start, stop))


def interpreted(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array
) -> list[Array]:
    """The same kernel, carried out step by step without a GPU."""
    return by_interpreter(_work(program, inputs, start, stop))


def without_kernel(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array
) -> list[Array]:
    """The same program, compiled by XLA for any device."""
    return carry_out(program, inputs, start, stop, inputs[0].shape)


def _work(program: Program, inputs: Sequence[Array], start: Array, stop: Array) -> Work:
    """A program from its first to its last step."""

    def body(steps: Any, memory: Memory, loaded: list[Array]) -> list[Array]:
        return carry_out(program, loaded, steps[0], steps[1], (BLOCK,))

    kinds = [node.dtype for node in program.outputs]
    return Work(body, inputs, kinds, jnp.stack([start, stop]).astype(jnp.int32))


class _InArray:
    """Memory of XLA: one array."""

    def __init__(self, rows: int, shape: tuple[int, ...]) -> None:
        self.shape = (rows, *shape)

    def empty(self) -> Array:
        return jnp.zeros(self.shape)

    def write(self, held: Array, row: Array, vector: Array) -> Array:
        return held.at[row].set(vector)

    def read(self, held: Array, row: Array) -> Array:
        return held[row]


class _InKernel:
    """Memory of a kernel: its own part of an array that nobody else looks at."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref

    def empty(self) -> tuple[()]:
        return ()

    def write(self, held: tuple[()], row: Array, vector: Array) -> tuple[()]:
        self.ref[row, :] = vector
        return held

    def read(self, held: tuple[()], row: Array) -> Array:
        return self.ref[row, :]


def _called(work: Work, options: dict[str, Any]) -> list[Array]:
    """One call of the kernel. Numbers of one kind come and go as the rows of one array, lanes last."""
    lanes = work.inputs[0].shape[-1]
    padded = -(-lanes // work.block) * work.block
    given = _by_kind([x.dtype for x in work.inputs])
    wanted = _by_kind(work.kinds)
    arrays = [_rows([work.inputs[i] for i in places], padded) for places in given.values()]
    results = [(len(places), kind) for kind, places in wanted.items()]
    if work.memory:
        results.append((work.memory, "float64"))

    def kernel(shared: Any, *refs: Any) -> None:
        sources = dict(zip(given, refs, strict=False))
        targets = dict(zip(wanted, refs[len(given) :], strict=False))
        loaded = [_load(sources, given, place, x.dtype) for place, x in enumerate(work.inputs)]
        outputs = work.body(shared, _InKernel(refs[-1]), loaded)
        for kind, places in wanted.items():
            for row, place in enumerate(places):
                targets[kind][row, :] = outputs[place].astype(kind)

    found = pallas.pallas_call(
        kernel,
        grid=(padded // work.block,),
        in_specs=[
            _whole(work.shared.size),
            *(_rows_of_block(len(places), work.block) for places in given.values()),
        ],
        out_specs=[_rows_of_block(rows, work.block) for rows, _ in results],
        out_shape=[jax.ShapeDtypeStruct((rows, padded), kind) for rows, kind in results],
        **options,
    )(work.shared, *arrays)
    vectors = {
        place: array[row, :lanes].astype(work.kinds[place])
        for places, array in zip(wanted.values(), found, strict=False)
        for row, place in enumerate(places)
    }
    return [vectors[place] for place in range(len(work.kinds))]


def _load(sources: dict[str, Any], given: dict[str, list[int]], place: int, dtype: Any) -> Array:
    kind = _kind(dtype)
    loaded = sources[kind][given[kind].index(place), :]
    return loaded != jnp.zeros_like(loaded) if dtype == bool else loaded


def _kind(dtype: Any) -> str:
    """The kind of number that memory holds; truth values are kept as integers."""
    return "int32" if dtype == bool else np.dtype(dtype).name


def _by_kind(dtypes: Sequence[Any]) -> dict[str, list[int]]:
    """The places of vectors, by the kind of number that memory holds of them."""
    found: dict[str, list[int]] = {}
    for place, dtype in enumerate(dtypes):
        found.setdefault(_kind(dtype), []).append(place)
    return found


def _rows(vectors: Sequence[Array], lanes: int) -> Array:
    """Vectors as the rows of one array, with so many lanes: those that are missing repeat the last."""
    rows = jnp.stack([x.astype(jnp.int32) if x.dtype == bool else x for x in vectors])
    return jnp.pad(rows, ((0, 0), (0, lanes - rows.shape[1])), mode="edge")


def _rows_of_block(count: int, block: int) -> pallas.BlockSpec:
    """All rows of the lanes of one block of threads."""
    return pallas.BlockSpec((count, block), lambda place: (np.int32(0), place))


def _whole(count: int) -> pallas.BlockSpec:
    """All of a small array, for every block of threads."""
    return pallas.BlockSpec((count,), lambda place: (np.int32(0),))
