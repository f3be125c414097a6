"""Bytes that are believed only when their hashes fit: documents and tensors.

Documents are JSON sealed by its own hash, tensors are safetensors. Both are read as if a stranger
had written them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import Document
from .faults import REPAIR, Damaged, NewerFormat, TooLarge

if TYPE_CHECKING:
    import numpy as np

FORMAT = 2  # the newest that is read; it is written for identities that use what came later
FIRST_FORMAT = 1
# The largest JSON that is written or read. A record time takes 23 bytes of run.json, so 32 MiB hold
# 1.4 million of them; 64 MiB of index hold 16,000 runs of 4 kB, and a larger store is read run by
# run. Parsed, JSON takes up to 26 times its size if it is all lists and mappings, hence a limit on
# their number, and up to 13 times if it is numbers and words: together less than 1 GiB for
# run.json, and little more for the index.
LARGEST_JSON = 2**25
LARGEST_INDEX = 2**26
MOST_CONTAINERS = 2**21
_TENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
}  # fmt: skip
_COMPLEX = "~complex"


def sha256(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def check_hash(path: Path, data: bytes, expected: object) -> bytes:
    if sha256(data) != expected:
        raise Damaged(
            f"{path} is damaged: its SHA-256 is not the one written down for it. {REPAIR}"
        )
    return data


def check_file_hash(path: Path, file: BufferedReader, expected: object) -> None:
    """The same for an open file, which is read piece by piece and then stands at its beginning
    again.
    """
    found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise Damaged(
            f"{path} is damaged: its SHA-256 is not the one written down for it. {REPAIR}"
        )
    file.seek(0)


def listing(files: Mapping[str, bytes]) -> dict[str, Document]:
    """The hash and the size of every file, as a document lists them."""
    return {name: {"sha256": sha256(data), "size": len(data)} for name, data in files.items()}


def seal(document: Mapping[str, Any], indent: int | None = 1, limit: int = LARGEST_JSON) -> bytes:
    """JSON whose first member is the SHA-256 of all the bytes after it.

    What `unseal` would refuse is not written.
    """
    body = json.dumps(document, sort_keys=True, indent=indent).encode()[1:]
    sealed = _seal_of(body) + body
    if len(sealed) > limit or _containers(sealed) > MOST_CONTAINERS:
        raise TooLarge(
            f"cannot store a document of {len(sealed) / 2**20:.3g} MiB with {_containers(sealed)} lists and mappings: "
            f"at most {limit / 2**20:.3g} MiB with {MOST_CONTAINERS} are read again. Ask for fewer record times."
        )
    return sealed


def unseal(path: Path, data: bytes) -> Document:
    """The document of a sealed file; a changed byte is an error, a newer format is another one.

    The seal is checked before anything is parsed. A newer format is sealed in the same way: that is
    promised.
    """
    body = memoryview(data)[len(_seal_of(b"")) :]
    if data[: len(_seal_of(b""))] != _seal_of(body):
        raise Damaged(
            f"{path} is damaged: it is not the JSON that was written, its SHA-256 is another. {REPAIR}"
        )
    if _containers(data) > MOST_CONTAINERS:
        raise TooLarge(
            f"{path} has more than {MOST_CONTAINERS} lists and mappings. Remove it if it is not yours."
        )
    try:
        document = json.loads(data)
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
    except (ValueError, RecursionError) as error:
        raise Damaged(
            f"{path} is damaged: it is not the JSON that was written ({error}). {REPAIR}"
        ) from None
    if isinstance(document.get("format"), int) and document["format"] > FORMAT:
        raise NewerFormat(
            f"{path} has format {document['format']}; this version of phasescope reads up to {FORMAT}. Upgrade "
            "phasescope to read it: pip install -U phasescope. The file was left as it is."
        )
    return document


def _containers(data: bytes) -> int:
    """How many lists and mappings a JSON text can have at most."""
    return data.count(b"[") + data.count(b"{")


def _seal_of(body: bytes | memoryview) -> bytes:
    return b'{"seal": "' + sha256(body).encode() + b'",'


def pack_tensors(tensors: Mapping[str, np.ndarray]) -> bytes:
    """Arrays by name as safetensors; a complex array is kept as pairs of reals."""
    import numpy as np
    from safetensors.numpy import save

    plain_arrays = {}
    for name, given in tensors.items():
        array = np.asarray(given, order="C")
        if array.dtype.kind == "c":
            name += _COMPLEX
            array = np.stack([np.real(array), np.imag(array)], -1)
        if array.dtype.name not in _TENSORS.values():
            raise StoreError(
                f'cannot store "{name}": it has dtype {array.dtype}, and the store keeps numbers only.'
            )
        plain_arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return save(plain_arrays)


def unpack_tensors(path: Path, data: bytes) -> dict[str, np.ndarray]:
    """The inverse of `pack_tensors`, by name."""
    import numpy as np
    from safetensors import SafetensorError, deserialize

    arrays = {}
    try:
        for name, tensor in deserialize(data):
            if tensor["dtype"] == "BF16":
                import ml_dtypes  # noqa: F401  teaches numpy the name bfloat16
            array = (
                np.frombuffer(tensor["data"], np.dtype(_TENSORS[tensor["dtype"]]))
                .reshape(tensor["shape"])
                .copy()
            )
            if name.endswith(_COMPLEX):
                name = name.removesuffix(_COMPLEX)
                array = array.view(np.result_type(array, np.complex64))[..., 0]
            arrays[name] = array
    except (SafetensorError, KeyError, IndexError, ValueError) as error:
        raise Damaged(
            f"{path} is damaged: it is not the tensors that were written ({error}). {REPAIR}"
        ) from None
    return dict(sorted(arrays.items()))
