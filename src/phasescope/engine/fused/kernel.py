"""The kernel: what is done with one run, carried out on a GPU with one thread for each run and its numbers in registers.

A block of lanes is loaded, taken through all steps and stored. Lanes do not exchange anything, and each of them goes through
the same operations, so that its digits do not depend on its neighbours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas
from jaxtyping import Array

from .lanes import carry_out
from .program import Program

BLOCK = 128  # lanes of one block of threads: a power of two; 32 to 256 were equally fast
WARP = 32  # threads that go together
LARGEST_MEMORY = 2**32  # bytes that the memory of all lanes may take at once


@runtime_checkable
class Memory(Protocol):
    """Vectors of lanes that are found by the number of their row, as registers cannot be.

    What `first` gives is carried along: `write` gives what holds the new vector too.
    """

    def first(self) -> Any: ...

    def write(self, held: Any, row: Any, vector: Array) -> Any: ...

    def read(self, held: Any, row: Any) -> Array: ...


# Of numbers that all lanes share (indexed one at a time), memory, and vectors of lanes: gives vectors of lanes, and what is
# held in memory at the end.
Body = Callable[[Any, Memory, list[Array]], tuple[list[Array], Any]]


@dataclasses.dataclass(frozen=True)
class Work:
    """What a kernel does: `body`, of vectors of lanes, for every block of lanes.

    - `inputs`: vectors of lanes. `shared`: numbers that all lanes share.
    - `kinds`: of its results.
    - `rows`: vectors that its memory holds at the beginning, in the first rows; what they are at the end is given back.
    - `memory`: how many rows of memory it needs; 0 if none.
    - `block`: how many lanes go together.
    """

    body: Body
    inputs: Sequence[Array]
    kinds: Sequence[np.dtype]
    shared: Array
    rows: Array | None = None
    memory: int = 0
    block: int = BLOCK


# Carries out some work, by a kernel or without: gives the vectors, and the rows if it has some.
Way = Callable[[Work], tuple[list[Array], Array | None]]


def in_pieces(work: Work, way: Way) -> tuple[list[Array], Array | None]:
    """The work, its lanes in several pieces one after the other if their memory would be too large at once."""
    lanes = work.inputs[0].shape[-1]
    width = max(LARGEST_MEMORY // max(8 * work.memory, 1), 1) // work.block * work.block
    if work.rows is None or lanes <= max(width, work.block):
        return way(work)
    count = -(-lanes // max(width, work.block))
    size = -(-lanes // count)

    def cut(x: Array) -> Array:
        """With the pieces first; lanes that are missing repeat the last."""
        more = [(0, 0)] * (x.ndim - 1) + [(0, count * size - lanes)]
        padded = jnp.pad(x, more, mode="edge")
        return jnp.moveaxis(padded.reshape(*x.shape[:-1], count, size), -2, 0)

    def one(piece: tuple[list[Array], Array]) -> tuple[list[Array], Array | None]:
        inputs, rows = piece
        return way(dataclasses.replace(work, inputs=inputs, rows=rows))

    def joined(x: Array) -> Array:
        whole = jnp.moveaxis(x, 0, -2)
        return whole.reshape(*whole.shape[:-2], count * size)[..., :lanes]

    found = jax.lax.map(one, ([cut(x) for x in work.inputs], cut(work.rows)))
    return jax.tree.map(joined, found)


def by_gpu(work: Work) -> tuple[list[Array], Array | None]:
    """By one kernel."""
    from jax.experimental.pallas import triton

    return _called(work, {"compiler_params": triton.CompilerParams(num_warps=work.block // WARP)})


def by_interpreter(work: Work) -> tuple[list[Array], Array | None]:
    """By the same kernel, carried out step by step without a GPU."""
    return _called(work, {"interpret": True})


def by_xla(work: Work) -> tuple[list[Array], Array | None]:
    """Without a kernel: compiled by XLA for any device."""
    memory = _InArray(work.rows, work.memory)
    vectors, held = work.body(work.shared, memory, list(work.inputs))
    return vectors, None if work.rows is None else held[: len(work.rows)]


def on_gpu(program: Program, inputs: Sequence[Array], start: Array, stop: Array) -> list[Array]:
    """The outputs of a program for vectors of lanes, by one kernel."""
    return by_gpu(_work(program, inputs, start, stop))[0]


def interpreted(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array
) -> list[Array]:
    """The same kernel, carried out step by step without a GPU."""
    return by_interpreter(_work(program, inputs, start, stop))[0]


def without_kernel(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array
) -> list[Array]:
    """The same program, compiled by XLA for any device."""
    return carry_out(program, inputs, start, stop, inputs[0].shape)


def _work(program: Program, inputs: Sequence[Array], start: Array, stop: Array) -> Work:
    """A program from its first to its last step."""

    def body(steps: Any, memory: Memory, loaded: list[Array]) -> tuple[list[Array], None]:
        return carry_out(program, loaded, steps[0], steps[1], (BLOCK,)), None

    kinds = [node.dtype for node in program.outputs]
    return Work(body, inputs, kinds, jnp.stack([start, stop]).astype(jnp.int32))


@dataclasses.dataclass(frozen=True)
class _InArray:
    """Memory of XLA: one array."""

    rows: Array | None
    count: int

    def first(self) -> Array | None:
        if self.rows is None:
            return None
        return jnp.pad(self.rows, ((0, self.count - len(self.rows)), (0, 0)))

    def write(self, held: Array, row: Any, vector: Array) -> Array:
        return held.at[row].set(vector)

    def read(self, held: Array, row: Any) -> Array:
        return held[row]


@dataclasses.dataclass(frozen=True)
class _InKernel:
    """Memory of a kernel: its lanes of an array that it alone writes to. `rows` are those that were given."""

    rows: Any
    ref: Any

    def first(self) -> tuple[()]:
        if self.rows is not None:
            jax.lax.fori_loop(np.int32(0), self.rows.shape[0], self._copy, ())
        return ()

    def _copy(self, row: Any, nothing: tuple[()]) -> tuple[()]:
        row = jax.lax.convert_element_type(row, np.int32)
        self.ref[row, :] = self.rows[row, :]
        return nothing

    def write(self, held: tuple[()], row: Any, vector: Array) -> tuple[()]:
        self.ref[row, :] = vector
        return held

    def read(self, held: tuple[()], row: Any) -> Array:
        return self.ref[row, :]


def _called(work: Work, options: dict[str, Any]) -> tuple[list[Array], Array | None]:
    """One call of the kernel. Numbers of one kind come and go as the rows of one array, lanes last."""
    lanes = work.inputs[0].shape[-1]
    padded = -(-lanes // work.block) * work.block
    given = _by_kind([x.dtype for x in work.inputs])
    wanted = _by_kind(work.kinds)
    arrays = [_rows([work.inputs[i] for i in places], padded) for places in given.values()]
    results = [(len(places), kind) for kind, places in wanted.items()]
    if work.rows is not None:
        arrays.append(_padded(work.rows, padded))
        results.append((work.memory, work.rows.dtype.name))

    def kernel(shared: Any, *refs: Any) -> None:
        sources, targets = refs[: len(arrays)], refs[len(arrays) :]
        memory = _InKernel(None, None) if work.rows is None else _InKernel(sources[-1], targets[-1])
        by_kind = dict(zip(given, sources, strict=False))
        loaded = [_load(by_kind, given, place, x.dtype) for place, x in enumerate(work.inputs)]
        outputs, _ = work.body(shared, memory, loaded)
        for target, (kind, places) in zip(targets, wanted.items(), strict=False):
            for row, place in enumerate(places):
                target[row, :] = outputs[place].astype(kind)

    found = pallas.pallas_call(
        kernel,
        grid=(padded // work.block,),
        in_specs=[
            _whole(work.shared.size),
            *(_rows_of_block(len(array), work.block) for array in arrays),
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
    rows = None if work.rows is None else found[-1][: len(work.rows), :lanes]
    return [vectors[place] for place in range(len(work.kinds))], rows


def _load(
    sources: dict[str, Any], given: dict[str, list[int]], place: int, dtype: np.dtype
) -> Array:
    kind = _kind(dtype)
    loaded = sources[kind][given[kind].index(place), :]
    return loaded != jnp.zeros_like(loaded) if dtype.kind == "b" else loaded


def _kind(dtype: np.dtype) -> str:
    """The kind of number that memory holds; truth values are kept as integers."""
    return "int32" if dtype.kind == "b" else dtype.name


def _by_kind(dtypes: Sequence[np.dtype]) -> dict[str, list[int]]:
    """The places of vectors, by the kind of number that memory holds of them."""
    found: dict[str, list[int]] = {}
    for place, dtype in enumerate(dtypes):
        found.setdefault(_kind(dtype), []).append(place)
    return found


def _rows(vectors: Sequence[Array], lanes: int) -> Array:
    """Vectors as the rows of one array, with so many lanes: those that are missing repeat the last."""
    return _padded(
        jnp.stack([x.astype(jnp.int32) if x.dtype == bool else x for x in vectors]), lanes
    )


def _padded(rows: Array, lanes: int) -> Array:
    return jnp.pad(rows, ((0, 0), (0, lanes - rows.shape[1])), mode="edge")


def _rows_of_block(count: int, block: int) -> pallas.BlockSpec:
    """All rows of the lanes of one block of threads."""
    return pallas.BlockSpec((count, block), lambda place: (np.int32(0), place))


def _whole(count: int) -> pallas.BlockSpec:
    """All of a small array, for every block of threads."""
    return pallas.BlockSpec((count,), lambda place: (np.int32(0),))
