"""The records of a run as one file: a zarr 3 group in a zip, which
`xarray.open_zarr(ZipStore(path))` opens too.

It is written and read here and not through zarr, which takes thirty times as long for small arrays,
and which looks up codecs and data types by names that a file brings along. What is read must be,
word for word, what is written here. The same dataset gives the same bytes.

A file is read chunk by chunk into arrays whose sizes were added up before: what it takes in memory
is what it holds.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import Document
from .containers import (
    LARGEST_METADATA,
    LARGEST_TABLE,
    Readable,
    first_frame,
    members_of,
    metadata_of,
    open_archive,
    table_size,
)
from .faults import REPAIR, Damaged
from .zarr_layout import array_metadata, chunk_count, chunk_keys, chunk_shape, group_metadata

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

_NUMBERS = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
_RESERVED = {
    "_FillValue",
    "dtype",
    "coordinates",
}  # xarray gives these attributes a meaning of its own
_NAME = re.compile(r"(?!__)[^\W\d][\w\-.]*")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time a zip file knows


def content(ds: xr.Dataset) -> dict[str, Document]:
    """What the arrays hold, bit for bit and whatever file they are in: two runs are equal if this
    is.
    """
    out = {}
    for name, variable in ds.variables.items():
        array = _little(variable.values)
        out[str(name)] = {
            "coord": name in ds.coords,
            "dims": list(map(str, variable.dims)),
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(_bytes_of(array)).hexdigest(),
        }
    return out


def size_in_memory(ds: xr.Dataset) -> int:
    """The bytes that the arrays take for which `unpack` has a limit."""
    return sum(_held(name, v.dims, v.shape, v.dtype.itemsize) for name, v in ds.variables.items())


def check_size(ds: xr.Dataset, limit: int) -> None:
    """Refuse to store what `unpack` would refuse to read."""
    check_bytes(size_in_memory(ds), limit)


def check_bytes(total: int, limit: int) -> None:
    """Refuse to store records of so many bytes, if it is more than the limit."""
    if total > limit:
        raise StoreError(
            f"cannot store a run of {total / 2**30:.3g} GiB of records: {limit / 2**30:.3g} GiB are allowed. "
            "Ask for fewer record times or fewer lanes, or keep nothing: store=False."
        )


def pack(ds: xr.Dataset) -> bytes:
    """The dataset as the bytes of one file."""
    import numpy as np
    from numcodecs.zstd import Zstd

    _check_names(ds)
    compress = Zstd(level=3).encode
    file = io.BytesIO()
    described = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def put(key: str, data: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(key, _EPOCH), data)

        # `coordinates` is how xarray marks coordinates that are no dims.
        beside = " ".join(str(name) for name in ds.coords if name not in ds.dims)
        attrs = dict(ds.attrs)
        if beside:
            attrs["coordinates"] = beside
        group = _json(group_metadata(attrs))
        described += len(group)
        put("zarr.json", group)
        for name, variable in ds.variables.items():
            array = _little(variable.values)
            dims = list(map(str, variable.dims))
            chunk = chunk_shape(array.shape, array.dtype.itemsize)
            meta = _json(
                array_metadata(array.dtype.name, list(array.shape), chunk, dims, variable.attrs)
            )
            described += len(meta)
            put(f"{name}/zarr.json", meta)
            for number, key in enumerate(chunk_keys(str(name), array.shape, chunk)):
                piece = array[number * chunk[0] : (number + 1) * chunk[0]] if chunk else array
                if piece.shape != tuple(chunk):  # the last one is filled up, as zarr has it
                    piece = np.concatenate(
                        [piece, np.zeros((chunk[0] - len(piece), *chunk[1:]), array.dtype)]
                    )
                put(key, compress(_bytes_of(piece)))
    if described > LARGEST_METADATA or table_size(file) > LARGEST_TABLE:
        raise StoreError(
            f"cannot store {len(ds.variables)} variables with {described} bytes of attributes: at most "
            f"{LARGEST_METADATA} bytes are read again. Store fewer variables or shorter attributes."
        )
    return file.getvalue()


def unpack(path: Path, file: Readable, limit: int) -> xr.Dataset:
    """The dataset that `pack` was given, from the open file.

    `limit` is the most bytes that its arrays may take.
    """
    import xarray as xr

    try:
        with open_archive(file) as archive:
            members = members_of(archive, file)
            text, texts = metadata_of(archive, members)
            group = json.loads(text)
            attrs = group["attributes"]
            described = {name: _described(name, text) for name, text in texts.items()}
            total = sum(
                _held(n, m["dimension_names"], m["shape"], _NUMBERS[m["data_type"]])
                for n, m in described.items()
            )
            if total <= limit:
                variables = {
                    name: _variable(name, meta, archive, members)
                    for name, meta in described.items()
                }
                if members or group != group_metadata(attrs):
                    raise ValueError(f"what is {sorted(members)[:3]}?")
                beside = str(attrs.pop("coordinates", "")).split()
                coords = {n: v for n, v in variables.items() if n in beside or v[0] == (n,)}
                return xr.Dataset(
                    {n: v for n, v in variables.items() if n not in coords}, coords, attrs
                )
    except Exception as error:  # whatever a stranger's bytes provoke is one thing to the caller
        raise Damaged(
            f"{path} is damaged: it is not the records that were written ({error}). {REPAIR}"
        ) from error
    held, allowed = total / 2**30, limit / 2**30
    raise StoreError(
        f"{path} holds {held:.3g} GiB of numbers; {allowed:.3g} GiB are allowed. Give a larger limit."
    )


def _held(name: Any, dims: Any, shape: Any, itemsize: int) -> int:
    """The bytes that a variable takes in memory; the coordinate of a dim has an index beside it."""
    index = 8 if tuple(dims) == (name,) else 0
    return math.prod(shape) * (itemsize + index)


def _described(name: str, text: bytes) -> Document:
    """The metadata of an array, if it is what we would have written."""
    meta = json.loads(text)
    kind = meta["data_type"]
    shape = meta["shape"]
    dims = meta["dimension_names"]
    attrs = meta["attributes"]
    chunk = meta["chunk_grid"]["configuration"]["chunk_shape"]
    if not _NAME.fullmatch(name) or not all(type(n) is int and n >= 0 for n in (*shape, *chunk)):
        raise ValueError(f'"{name}" has shape {shape} in chunks of {chunk}')
    whole = [max(1, n) for n in shape]
    if (
        len(dims) != len(shape)
        or chunk[1:] != whole[1:]
        or not all(1 <= c <= n for c, n in zip(chunk, whole, strict=True))
    ):
        raise ValueError(f'"{name}" has shape {shape} in chunks of {chunk}')
    if kind not in _NUMBERS or meta != array_metadata(kind, shape, chunk, dims, attrs):
        raise ValueError(f'"{name}" is stored in an unknown way')
    return meta


def _variable(
    name: str, meta: Document, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
) -> tuple[tuple[str, ...], np.ndarray, dict]:
    """An array from its chunks, each of which unpacks to as much as it should.

    They are taken out of `members`.
    """
    import numpy as np

    shape = meta["shape"]
    chunk = meta["chunk_grid"]["configuration"]["chunk_shape"]
    dtype = np.dtype(meta["data_type"]).newbyteorder("<")
    size = math.prod(chunk) * dtype.itemsize
    if len(members) < (count := chunk_count(shape, chunk)):
        raise ValueError(f'"{name}" has not all of its {count} chunks')
    array = np.empty(shape, dtype)
    flat = array.reshape(-1).view(np.uint8)
    for number, key in enumerate(chunk_keys(name, shape, chunk)):
        frame = archive.read(members.pop(key))
        rows = flat[number * size : (number + 1) * size]
        if rows.size == size:
            _decompress(name, frame, rows)
        else:  # the last chunk is filled up
            whole = np.empty(size, np.uint8)
            _decompress(name, frame, whole)
            rows[:] = whole[: rows.size]
    return (
        tuple(meta["dimension_names"]),
        array.astype(dtype.newbyteorder("="), copy=False),
        meta["attributes"],
    )


def _decompress(name: str, frame: bytes, out: np.ndarray) -> None:
    """Unpack a chunk that is one frame, and says that it has as many bytes as `out`, into `out`."""
    from numcodecs.zstd import Zstd

    unpacked, end = first_frame(frame)
    if unpacked != out.size:
        raise ValueError(f'"{name}" has a chunk that unpacks to another size')
    if end != len(frame):
        raise ValueError(f'"{name}" has a chunk with more than one frame')
    Zstd().decode(frame, out)


def _little(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _bytes_of(array: np.ndarray) -> memoryview:
    """The bytes of an array in C order, without a copy where they lie in that order."""
    import numpy as np

    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _json(document: Document) -> bytes:
    try:
        return json.dumps(document, default=lambda value: value.tolist()).encode()
    except (TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"cannot store attributes: {error}. They hold numbers, words and lists."
        ) from None


def _check_names(ds: xr.Dataset) -> None:
    for name in (*ds.variables, *ds.dims):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise StoreError(
                f'cannot store the variable or dim "{name}": a name has letters, digits, "_", "-" and ".".'
            )
    for name, variable in ds.variables.items():
        if variable.dtype.name not in _NUMBERS:
            raise StoreError(
                f'cannot store "{name}": it has dtype {variable.dtype}, and the store keeps numbers only. '
                "Store words as integers with flag_values and flag_meanings."
            )
    for name, attrs in (
        ("the dataset", ds.attrs),
        *((n, v.attrs) for n, v in ds.variables.items()),
    ):
        if taken := _RESERVED & attrs.keys():
            raise StoreError(
                f'cannot store "{name}": the attribute {min(taken)} has a meaning of its own. Rename it.'
            )
