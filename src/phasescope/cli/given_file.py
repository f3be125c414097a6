"""Arrays that a run is given, read from a file: `--given FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SpecError

if TYPE_CHECKING:
    from ..plan.plan import Arm


def given_arm(arm: Arm, file: Path | None) -> Arm:
    """The arm with the arrays of a file; the arm itself, if there is none."""
    if file is None:
        return arm
    from ..plan.given import with_arrays

    return with_arrays(arm, arrays_of(file))


def arrays_of(file: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of NumPy (.npz) or of safetensors, by name. Nothing in it is executed."""
    if not file.is_file():
        raise SpecError(f"--given {file}: there is no such file.")
    try:
        if file.suffix == ".npz":
            with np.load(file, allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        if file.suffix == ".safetensors":
            from safetensors.numpy import load_file

            return load_file(file)
    except Exception as problem:
        raise SpecError(f"--given {file}: it cannot be read: {problem}") from None
    raise SpecError(f"--given {file}: a file of arrays is a .npz or a .safetensors.")
