"""Arrays by name that a caller has in a file, .npz or .safetensors, or wants in one. Nothing in it is executed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ..errors import SpecError, StoreError


def check_out(file: Path) -> None:
    """Refuse a file that arrays could not be written into, before they are looked for.

    **Raises:** `SpecError` for another ending than that of safetensors; `StoreError` if there is no such folder.
    """
    if file.suffix != ".safetensors":
        raise SpecError(
            f"arrays are written as .safetensors, which torch reads, got out={str(file)!r}."
        )
    if not file.absolute().parent.is_dir():
        raise StoreError(
            f"there is no folder {file.parent} to write {file.name} into. Make it first."
        )


def arrays_in(file: Path, asked: str) -> dict[str, np.ndarray]:
    """The arrays of a file of NumPy (.npz) or of safetensors, by name; `asked` is what an error calls the argument.

    **Raises:** `SpecError` if there is no such file, or if it cannot be read.
    """
    if not file.is_file():
        raise SpecError(f"{asked} {file}: there is no such file.")
    try:
        if file.suffix == ".npz":
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no archive of NumPy arrays")
            with np.load(file, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
            for name, values in arrays.items():
                if not isinstance(values, np.ndarray):
                    raise ValueError(f"{name} in it is no array of NumPy (.npy)")
            return arrays
        if file.suffix == ".safetensors":
            from safetensors.numpy import load_file

            return load_file(file)
    except Exception as problem:  # the readers raise whatever they meet
        raise SpecError(f"{asked} {file}: it cannot be read: {problem}") from None
    raise SpecError(f"{asked} {file}: a file of arrays is a .npz or a .safetensors.")
