"""The records of a run as one file: a zarr 3 group in a zip, which `xarray.open_zarr(ZipStore(path))` opens too.

The same numbers give the same bytes. Reading takes no more memory than the file declares and the caller allows, and
knows numbers only: neither codecs nor data types are looked up by a name that a file brings along.
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

from .errors import StoreError
from .storage import REPAIR, Damaged

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

_NUMBERS = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
_RESERVED = {"_FillValue", "dtype", "coordinates"}  # xarray gives these attributes a meaning of its own
_NAME = re.compile(r"(?!__)[^\W\d][\w\-.]*")
_CHUNK = 2**24
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time a zip file knows


def content(ds: xr.Dataset) -> dict[str, dict[str, Any]]:
    """What the arrays hold, bit for bit and whatever file they are in: two runs are equal if this is."""
    out = {}
    for name, variable in ds.variables.items():
        little = _little(variable.values)
        out[str(name)] = {
            "coord": name in ds.coords,
            "dims": list(map(str, variable.dims)),
            "dtype": little.dtype.name,
            "shape": list(little.shape),
            "sha256": hashlib.sha256(little.tobytes()).hexdigest(),
        }
    return out


def pack(ds: xr.Dataset) -> bytes:
    """The dataset as the bytes of one file."""
    from zarr.codecs import ZstdCodec
    from zarr.storage import MemoryStore

    _check_names(ds)
    # write_empty_chunks: zarr would otherwise leave out a chunk of -0.0, since it equals the fill value.
    encoding: dict[Any, dict[str, Any]] = {
        name: {"_FillValue": None, "compressors": [ZstdCodec(level=3)], "chunks": _chunks(v)}
        for name, v in ds.variables.items()
    }
    members: dict[str, Any] = {}
    # Into memory first: a zip file cannot replace a member, and zarr writes the group's metadata twice.
    ds.drop_encoding().to_zarr(
        MemoryStore(members), zarr_format=3, consolidated=False, encoding=encoding, write_empty_chunks=True
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key in sorted(members):
            archive.writestr(zipfile.ZipInfo(key, _EPOCH), members[key].to_bytes())
    return file.getvalue()


def unpack(path: Path, data: bytes, limit: int) -> xr.Dataset:
    """The dataset that `pack` was given; `limit` is the most bytes that its arrays may take."""
    import xarray as xr
    from zarr.core.buffer import default_buffer_prototype
    from zarr.storage import MemoryStore

    try:
        members = _members(data)
        _check_sizes(members, limit)
        buffer = default_buffer_prototype().buffer
        store = MemoryStore({k: buffer.from_bytes(v) for k, v in members.items()}, read_only=True)
        with xr.open_zarr(
            store, consolidated=False, chunks=None, mask_and_scale=False, decode_times=False, decode_timedelta=False
        ) as ds:  # fmt: skip
            return ds.load().drop_encoding()
    except TooLarge as error:
        raise StoreError(f"{path} {error}") from None
    except Exception as error:  # whatever a stranger's bytes provoke below us is one thing to the caller
        raise Damaged(f"{path} is damaged: it is not the records that were written ({error}). {REPAIR}") from error


class TooLarge(Exception):
    """More numbers than the caller wants in memory."""


def _little(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _chunks(variable: xr.Variable) -> tuple[int, ...]:
    """One chunk for most arrays; a large one is cut along its first axis."""
    shape = tuple(max(1, n) for n in variable.shape)
    rows = max(1, _CHUNK // (math.prod(shape[1:]) * variable.dtype.itemsize))
    return (min(shape[0], rows), *shape[1:]) if shape else ()


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
        if taken := _RESERVED & variable.attrs.keys():
            raise StoreError(f'cannot store "{name}": the attribute {min(taken)} has a meaning of its own. Rename it.')


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if any(e.compress_type != zipfile.ZIP_STORED for e in entries) or sum(e.file_size for e in entries) > len(data):
            raise ValueError("members that unpack to more than they are")
        if len({e.filename for e in entries}) != len(entries):
            raise ValueError("two members of one name")
        return {e.filename: archive.read(e) for e in entries}


def _check_sizes(members: dict[str, bytes], limit: int) -> None:
    """Every array is of numbers, has all its chunks, and each chunk unpacks to what it should."""
    total, known = 0, {"zarr.json"}
    chunk_keys: dict[str, list[str]] = {}
    for key in members:
        if "/c" in key:
            chunk_keys.setdefault(key.partition("/")[0], []).append(key)
    for key in sorted(members):
        name, slash, last = key.rpartition("/")
        if last != "zarr.json" or not slash:
            continue
        meta = json.loads(members[key])
        shape, chunks = meta["shape"], meta["chunk_grid"]["configuration"]["chunk_shape"]
        codecs = [codec["name"] for codec in meta["codecs"]]
        if not _NAME.fullmatch(name) or meta["node_type"] != "array" or codecs != ["bytes", "zstd"]:
            raise ValueError(f'"{name}" is stored in an unknown way')
        if not all(type(n) is int and n >= 0 for n in shape) or len(chunks) != len(shape):
            raise ValueError(f'"{name}" has shape {shape}')
        if not all(type(c) is int and 0 < c <= max(1, n) for c, n in zip(chunks, shape, strict=True)):
            raise ValueError(f'"{name}" has chunks of shape {chunks}')
        size = _NUMBERS[meta["data_type"]]
        total += size * math.prod(shape)
        if total > limit:
            raise TooLarge(
                f"holds more than the {limit / 2**30:.3g} GiB that were allowed. Give a larger limit to load it."
            )
        found = chunk_keys.get(name, [])
        if len(found) != math.prod(math.ceil(n / c) for n, c in zip(shape, chunks, strict=True)):
            raise ValueError(f'"{name}" has {len(found)} chunks')
        if any(_unpacked_size(members[k]) != size * math.prod(chunks) for k in found):
            raise ValueError(f'"{name}" has a chunk that unpacks to another size')
        known |= {key, *found}
    if known != members.keys():
        raise ValueError(f"it lacks or adds {sorted(known ^ members.keys())[:3]}")


def _unpacked_size(frame: bytes) -> int:
    """What a zstd frame says it unpacks to (RFC 8878, section 3.1.1.1)."""
    if frame[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("a chunk is not a zstd frame")
    flags = frame[4]
    single_segment, width = flags >> 5 & 1, flags >> 6
    start = 5 + (1 - single_segment) + (0, 1, 2, 4)[flags & 3]
    width = (single_segment, 2, 4, 8)[width]
    if not width:
        raise ValueError("a chunk does not say how large it is")
    return int.from_bytes(frame[start : start + width], "little") + (256 if width == 2 else 0)
