"""Tensors of a checkpoint, read piece by piece from safetensors: nothing is executed, and memory does not grow with the file.

The library safetensors checks the header (no holes, no overlaps, shapes that fill their bytes); what it would have to read
first, the size of the header, is checked before.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ..errors import ProbeError
from ..files import Document

# A header of 16 MiB names 100,000 tensors, more than the largest published models have. Parsed it takes 0.3 GiB at most.
LARGEST_HEADER = 2**24
PIECE = 2**20  # numbers that are in memory at a time
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
BYTES = {"I64": 8, "U64": 8, "F64": 8, "I32": 4, "U32": 4, "F32": 4, "I16": 2, "U16": 2, "F16": 2, "BF16": 2}  # fmt: skip
EIGHT_BITS = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One tensor: its name, the name of its dtype as safetensors has it, its shape, and how its bytes are read."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], Iterator[bytes]]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def is_real(self) -> bool:
        """Whether its numbers are floating-point ones, as parameters are."""
        return self.dtype in FLOATS or self.dtype in EIGHT_BITS

    def as_numbers(self, piece: bytes) -> np.ndarray:
        """A piece of its bytes as numbers in double precision."""
        if self.dtype == "BF16":  # the upper half of a number of 32 bits
            wide = np.frombuffer(piece, "<u2").astype("<u4") << 16
            return wide.view("<f4").astype(np.float64)
        if self.dtype in EIGHT_BITS:
            import ml_dtypes

            return np.frombuffer(piece, getattr(ml_dtypes, EIGHT_BITS[self.dtype])).astype(float)
        return np.frombuffer(piece, FLOATS[self.dtype]).astype(np.float64)

    def numbers(self) -> Iterator[np.ndarray]:
        """Its numbers in double precision, flat, piece by piece."""
        return (self.as_numbers(piece) for piece in self.read())


def tensors_of(file: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name; of them only the header is read here.

    **Raises:** `ProbeError` for a file that is none, is cut off, or whose header is too large.
    """
    start, header = _header(file)
    found = {}
    for name, said in header.items():
        if name != "__metadata__":
            begin, end = said["data_offsets"]
            shape = tuple(int(n) for n in said["shape"])
            reader = _reader(file, start + begin, end - begin, said["dtype"])
            found[name] = Tensor(name, said["dtype"], shape, reader)
    if not found:
        raise ProbeError(f"{file} holds no tensors.")
    return found


def _header(file: Path) -> tuple[int, Document]:
    """Where the tensors begin, and what the header says of them, checked by the library."""
    from safetensors import SafetensorError, safe_open

    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            room = file.stat().st_size - 8
            if room < 2 or opened.read(1) != b"{" or size > room:
                raise ProbeError(
                    f"{file} is no safetensors file, or is cut off: it has {room + 8} bytes, and its header would take {size}."
                )
            if size > LARGEST_HEADER:
                raise ProbeError(
                    f"{file} has a header of {size / 2**20:.3g} MiB; at most {LARGEST_HEADER / 2**20:g} MiB are read."
                )
            with safe_open(file, framework="numpy"):
                pass  # it checks the header, and that the tensors fill the file
            opened.seek(8)
            return 8 + size, json.loads(opened.read(size))
    except (OSError, SafetensorError, ValueError, RecursionError) as problem:
        if isinstance(problem, ProbeError):
            raise
        said = str(problem).partition("\n")[0]
        raise ProbeError(
            f"{file} is no safetensors file, or is cut off: {said.rstrip('.')}."
        ) from None


def _reader(file: Path, start: int, size: int, dtype: str) -> Callable[[], Iterator[bytes]]:
    def read() -> Iterator[bytes]:
        left = size
        try:
            with file.open("rb") as opened:
                opened.seek(start)
                while left:
                    wanted = min(left, PIECE * BYTES.get(dtype, 1))
                    piece = opened.read(wanted)
                    if len(piece) < wanted:
                        raise ProbeError(f"{file} became shorter while it was read.")
                    left -= len(piece)
                    yield piece
        except OSError as problem:
            raise ProbeError(f"{file} cannot be read: {problem.strerror}.") from None

    return read
