"""How zarr 3 lays out a dataset: its metadata, and the chunks of its arrays. No file is touched here."""

from __future__ import annotations

import math
from typing import Any

from ..files import Document

CHUNK = 2**24  # bytes of an array, above which it is cut


def chunk_shape(shape: tuple[int, ...], itemsize: int) -> list[int]:
    """One chunk for most arrays; a large one is cut along its first axis."""
    whole = [max(1, n) for n in shape]
    rows = max(1, CHUNK // (math.prod(whole[1:]) * itemsize))
    if not whole:
        return []
    return [min(whole[0], rows), *whole[1:]]


def chunk_count(shape: Any, chunk: list[int]) -> int:
    """How many chunks an array has."""
    if 0 in shape:
        return 0
    if not chunk:
        return 1
    return math.ceil(shape[0] / chunk[0])


def chunk_keys(name: str, shape: Any, chunk: list[int]) -> list[str]:
    """The files of its chunks, in order."""
    count = chunk_count(shape, chunk)
    if not chunk:
        return [f"{name}/c"] * count
    rest = "/0" * (len(chunk) - 1)
    return [f"{name}/c/{i}{rest}" for i in range(count)]


def group_metadata(attrs: Document) -> Document:
    """What `zarr.json` says of a dataset."""
    return {"attributes": attrs, "zarr_format": 3, "node_type": "group"}


def array_metadata(
    kind: str, shape: list[int], chunk: list[int], dims: list[str], attrs: dict[Any, Any]
) -> Document:
    """What `zarr.json` says of an array."""
    zero: Any = {"b": False, "c": [0.0, 0.0], "f": 0.0}.get(kind[0], 0)
    return {
        "shape": shape,
        "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": zero,
        "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
        ],
        "attributes": attrs,
        "dimension_names": dims,
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }
