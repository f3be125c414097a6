"""Checkpoints as pickles (.pt, .bin), for those who insist: torch reads tensors of them and refuses all else."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import MissingExtra, ProbeError
from .tensorfile import PIECE, Tensor

# What torch calls its dtypes, and what safetensors does.
DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
WITHIN = (
    "state_dict",
    "model_state_dict",
    "model",
    "module",
)  # where training loops put the weights


def pickled_tensors(file: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint that `torch.save` wrote, by name.

    **Raises:** `ProbeError` for a file that is none, or that holds anything but tensors and plain values; `MissingExtra`
    without torch.
    """
    found = load(file)
    for name in WITHIN:
        if isinstance(found.get(name), Mapping):
            found = found[name]
            break
    import torch  # pyright: ignore[reportMissingImports]

    tensors = {str(n): x for n, x in found.items() if isinstance(x, torch.Tensor)}
    if not tensors:
        raise ProbeError(f"{file} holds no tensors by name.")
    return {name: _tensor(name, x, file) for name, x in tensors.items()}


def load(file: Path) -> dict[Any, Any]:
    """What `torch.save` wrote, if it is made of tensors, numbers, words, lists and mappings."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra(
            f'{file}: a pickle needs torch: pip install "phasescope[torch]".'
        ) from None
    _check_archive(file)
    try:
        found = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    except Exception as problem:  # the reader raises whatever it meets
        said = str(problem).partition("\n")[0].partition(". ")[0]
        raise ProbeError(
            f"{file} cannot be read as tensors: {said or type(problem).__name__}."
        ) from None
    if not isinstance(found, Mapping):
        raise ProbeError(f"{file} holds {type(found).__name__}, not tensors by name.")
    return dict(found)


def _check_archive(file: Path) -> None:
    """Refuse what is not an archive as torch writes it since 1.6, or unpacks to more than it is."""
    try:
        with zipfile.ZipFile(file) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile):
        raise ProbeError(
            f"{file} is no archive that torch.save writes (since torch 1.6), or is cut off."
        ) from None
    if unpacked > file.stat().st_size:
        raise ProbeError(f"{file} unpacks to {unpacked} bytes, more than it has, and is not read.")


def _tensor(name: str, x: Any, file: Path) -> Tensor:
    dtype = DTYPES.get(str(x.dtype).removeprefix("torch."))
    if dtype is None or x.is_sparse or x.layout != _strided():
        raise ProbeError(f"{file}: {name} is a tensor of {x.dtype} that cannot be read.")
    if x.numel() * x.element_size() > x.untyped_storage().nbytes():
        raise ProbeError(
            f"{file}: {name} has {x.numel()} numbers, more than are stored of it, since some stand for many, and is not read."
        )
    return Tensor(name, dtype, tuple(int(n) for n in x.shape), _reader(x))


def _strided() -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    return torch.strided


def _reader(x: Any) -> Callable[[], Iterator[bytes]]:
    def read() -> Iterator[bytes]:
        import torch  # pyright: ignore[reportMissingImports]

        flat = x.detach().reshape(-1)
        for start in range(0, flat.numel(), PIECE):
            piece = flat[start : start + PIECE].contiguous()
            yield piece.view(torch.uint8).numpy().tobytes()

    return read
