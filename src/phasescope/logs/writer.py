"""Log: a file of numbers that a training loop of one's own writes, record by record, and that `ps.logged` reads."""

from __future__ import annotations

import csv
import io
import math
import os
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..errors import LogError
from ..tensors import without_gradient
from .columns import names_of_entries
from .times import TIME

STEP = "step"


class Log:
    """Write what a training loop of your own measures, record by record, into a CSV file.

        >>> with ps.Log("train.csv") as log:
        ...     for step in range(0, 30, 10):
        ...         log(step, loss=1 / (1 + step), progress=[0.1 * step, 0.2])
        >>> ps.logged("train.csv", dims={"progress": "mode"}).progress.shape
        (3, 2)

    **Arguments:**

    - `file`: the path of the file, which ends in .csv.
    - `resume`: go on with a file that is there: what a crash cut off is removed, and times go on after the
      last one. Otherwise a file that is there is an error, so that no log is lost.
    - `after`: the step of the checkpoint with which the training goes on. Later records, which the training
      makes once more, are removed from the file; by default none is.

    Called with the step and with numbers or arrays by name, it writes one line, which is on the disk when the
    call returns; numbers are written so that they are read again exactly. Tensors of PyTorch are taken as they
    are. A kill at any moment costs at most the line that is being written.
    """

    def __init__(
        self, file: str | os.PathLike[str], *, resume: bool = False, after: Any = math.inf
    ) -> None:
        self.file = Path(file)
        if self.file.suffix != ".csv":
            raise LogError(f"{self.file}: a log is written as .csv.")
        if not isinstance(after, Real) or math.isnan(after):
            raise LogError(f"{self.file}: after is the step of a checkpoint, got {after!r}.")
        self._header: list[str] | None = None
        self._last = -np.inf
        if self.file.exists():
            if not resume:
                raise LogError(f"{self.file} is there already. resume=True goes on with it.")
            self._go_on(float(after))
        if not self.file.parent.is_dir():
            raise LogError(f"{self.file}: there is no folder {self.file.parent}. Make it first.")
        try:
            self._opened = self.file.open("a", encoding="utf-8", newline="")
        except OSError as problem:
            raise LogError(f"{self.file} cannot be written: {problem.strerror}.") from None

    def __call__(self, step: Any, /, **values: Any) -> None:
        """Write one record."""
        if self._opened.closed:
            raise LogError(f"{self.file}: the log is closed.")
        step = _as_step(step, self.file)
        if not np.isfinite(step) or not step > self._last:
            raise LogError(
                f"{self.file}: times rise: {step} does not come after {self._last:g}. A training that goes on with an earlier "
                "checkpoint says with which: ps.Log(file, resume=True, after=its step)."
            )
        for name in values:
            _check_name(name, self.file)
        arrays = {name: _as_array(name, value, self.file) for name, value in values.items()}
        header = [STEP, *(n for name, x in arrays.items() for n in names_of_entries(name, x))]
        cells = [float(x) for array in arrays.values() for x in array.ravel()]
        twice = {name for name in header if header.count(name) > 1}
        if twice:
            raise LogError(f'{self.file}: two numbers would be called "{min(twice)}".')
        if self._header is None:
            if not cells:
                raise LogError(f"{self.file}: a record has numbers beside its step, by name.")
            self._write(header)
            self._header = header
        if header != self._header:
            odd = sorted(set(header) ^ set(self._header)) or header
            raise LogError(
                f"{self.file}: every record has the same names in the same order and shape; this one differs in {odd[0]}."
            )
        self._write([step, *cells])
        self._last = float(step)

    def close(self) -> None:
        """Close the file. What was logged is on the disk already."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, cells: list[Any]) -> None:
        """One line in one piece, onto the disk."""
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        self._opened.write(line.getvalue())
        self._opened.flush()
        os.fsync(self._opened.fileno())

    def _go_on(self, after: float) -> None:
        """Remove what a crash cut off and the records after a step, and find the names and the last time."""
        data = self.file.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        try:
            rows = [next(csv.reader([line.decode()]), []) for line in lines]
            times = [float(row[0]) if row else -np.inf for row in rows[1:]]
        except (ValueError, csv.Error) as problem:
            raise LogError(f"{self.file} was not written by ps.Log: {problem}.") from None
        if rows and rows[0][:1] != [STEP]:
            first = rows[0][0] if rows[0] else ""
            raise LogError(f'{self.file} was not written by ps.Log: its first column is "{first}".')
        kept = [time for time in times if time <= after]
        os.truncate(self.file, sum(map(len, lines[: 1 + len(kept)])))
        self._header = rows[0] if rows else None
        self._last = max(kept, default=-np.inf)


def _check_name(name: str, file: Path) -> None:
    """A name is read again as it was written, and is not taken for the times."""
    if name in (STEP, TIME):
        raise LogError(
            f'{file}: "{name}" would be read as the times of the records, which are the steps. Log it as "seconds", or alike.'
        )
    if not name or name != name.strip() or "\n" in name or "\r" in name:
        raise LogError(
            f"{file}: {name!r} cannot be the name of a column: it begins and ends with a letter or a sign, on one line."
        )


def _as_step(step: Any, file: Path) -> int | float:
    """The step as a number of Python: also one of NumPy, or a tensor of one number."""
    if isinstance(step, np.generic | np.ndarray) or hasattr(step, "detach"):
        step = step.item() if step.ndim == 0 else step
    if isinstance(step, bool) or not isinstance(step, int | float):
        raise LogError(f"{file}: a record begins with its step, a number, got {step!r}.")
    return step


def _as_array(name: str, value: Any, file: Path) -> np.ndarray:
    """A number, an array, or a tensor of PyTorch on any device, as an array."""
    try:
        array = np.asarray(without_gradient(value))
        array = array if array.dtype.kind == "c" else np.asarray(array, float)
    except (TypeError, ValueError):
        raise LogError(f"{file}: {name} is neither a number nor an array: {value!r}.") from None
    if array.dtype.kind == "c":
        raise LogError(f"{file}: {name} is complex: log its real and its imaginary part.")
    if not array.size:
        raise LogError(f"{file}: {name} is an array without numbers.")
    return array
