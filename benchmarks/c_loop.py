"""The C loop, compiled on the fly and called through ctypes."""

from __future__ import annotations

import ctypes
import dataclasses
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).parent / "even_pairs_lanes.c"
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fPIC")


@dataclasses.dataclass(frozen=True)
class CLoop:
    """The loop for one longest length and one number of lanes in a block."""

    train: ctypes._CFuncPtr
    length: int
    block: int

    def __call__(
        self, lam, eta, steps: int, switch: int, at, always: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Losses [record, run] at the steps `at`, and token scores [position, run] at the end."""
        lam, eta = (
            np.ascontiguousarray(x, float)
            for x in np.broadcast_arrays(np.atleast_1d(lam), np.atleast_1d(eta))
        )
        at, runs = np.ascontiguousarray(at, np.int64), len(lam)
        if runs % self.block:
            raise ValueError(f"the number of runs must be a multiple of {self.block}, got {runs}.")
        loss, scores = np.empty((len(at), runs)), np.empty((self.length, runs))
        self.train(
            runs,
            steps,
            switch,
            lam.ctypes,
            eta.ctypes,
            len(at),
            at.ctypes,
            always,
            loss.ctypes,
            scores.ctypes,
        )
        return loss, scores


def available() -> bool:
    """Whether there is a compiler."""
    return shutil.which("gcc") is not None


def compiled(length: int = 6, block: int = 64) -> CLoop:
    """Compile the loop; the library stays loaded when its file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        compiled, library = Path(folder) / "loop.o", Path(folder) / "loop.so"
        gcc = lambda *words: subprocess.run(
            ["gcc", *map(str, words)], check=True, capture_output=True
        )
        gcc("-c", *FLAGS, f"-DN={length}", f"-DB={block}", SOURCE, "-o", compiled)
        gcc(
            "-shared", compiled, "-o", library, "-lm"
        )  # linked with -ffast-math it would change the whole process
        train = ctypes.CDLL(str(library)).train
    long, pointer = ctypes.c_long, ctypes.c_void_p
    train.argtypes = (
        long,
        long,
        long,
        pointer,
        pointer,
        long,
        pointer,
        ctypes.c_int,
        pointer,
        pointer,
    )
    train.restype = None
    return CLoop(train, length, block)
