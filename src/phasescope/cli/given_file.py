"""Arrays that a run is given, read from a file: `--given FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ..plan.plan import Arm


def given_arm(arm: Arm, file: Path | None) -> Arm:
    """The arm with the arrays of a file; the arm itself, if there is none."""
    if file is None:
        return arm
    from ..plan.given import with_arrays

    return with_arrays(arm, arrays_of(file))


def arrays_of(file: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of NumPy (.npz) or of safetensors, by name. Nothing in it is executed."""
    from ..verbs.arrayfile import arrays_in

    return arrays_in(file, "--given")
