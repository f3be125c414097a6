"""Logs as text: CSV and TSV, and what Weights & Biases exports from a chart."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path

import numpy as np

from ..errors import LogError
from .columns import Columns, at_most

BETWEEN = " - "  # what W&B puts between the name of a run and a metric
RANGES = ("__MIN", "__MAX")  # what W&B adds for every metric of a chart
WANDB_STEP = "Step"
LONGEST = 40  # signs of a word that a warning quotes
INDEX = (
    "",
    "Unnamed: 0",
)  # what pandas calls the column of its index when it writes one, and when it has read one


def read_text(file: Path) -> Columns:
    """The columns of a CSV or TSV file that are numbers; an empty cell is NaN, a column of words is left out.

    A first column without a name, as pandas writes its index, is left out. A warning names columns of which some cells
    are numbers, also with a comma for the point, and others words.
    A last line without its end may be cut off in the middle of a number: it is left out, with a warning.

    **Raises:** `LogError` for a file without a header or records, with a line of another length, or with its header again.
    """
    header, rows = _lines(file)
    columns: Columns = {}
    mixed: list[str] = []
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        numbers = _numbers(cells)
        if numbers is None:
            words = [cell for cell in cells if _numbers((cell,)) is None]
            numbered = any(
                cell.strip() and _numbers((_with_point(cell),)) is not None for cell in cells
            )
            mixed += [f'"{name}" ("{words[0][:LONGEST]}")'] if numbered else []
        elif not (name == header[0] and name in INDEX):
            columns[name] = numbers
    if mixed:
        warnings.warn(
            f"{file}: columns of numbers with words among them are left out: {at_most(mixed)}. A number has a decimal "
            "point; one that is unknown is an empty cell, or nan.",
            stacklevel=2,
        )
    return columns


def _lines(file: Path) -> tuple[list[str], list[list[str]]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise LogError(
            f"{file} is not a text file, which CSV is: it holds bytes that are no UTF-8."
        ) from None
    whole, _, torn = text.rpartition("\n")
    if torn.strip():
        warnings.warn(
            f"{file}: the last line has no line end, so it may be cut off, and is left out. If it is whole, end it.",
            stacklevel=2,
        )
    try:
        # Lines end with a line feed alone: words may hold other characters that end a line elsewhere.
        reader = csv.reader(io.StringIO(whole), delimiter=_delimiter(file, whole), strict=True)
        numbered = [(reader.line_num, line) for line in reader if line]
    except csv.Error as problem:
        raise LogError(f"{file} cannot be read as CSV: {problem}.") from None
    if len(numbered) < 2:
        raise LogError(f"{file} has no records: a log has a line of names, and lines of numbers.")
    header = [name.strip() for name in numbered[0][1]]
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise LogError(f'{file} has two columns "{min(twice)}".')
    for number, line in numbered[1:]:
        if [name.strip() for name in line] == header:
            raise LogError(
                f"{file}, line {number} is the line of names again. A run that was begun twice is two logs."
            )
        if len(line) != len(header):
            raise LogError(
                f"{file}, line {number} has {len(line)} cells, and the line of names has {len(header)}."
            )
    return header, [line for _, line in numbered[1:]]


def _delimiter(file: Path, text: str) -> str:
    first = text.partition("\n")[0]
    if file.suffix.lower() == ".tsv" or ("\t" in first and "," not in first):
        return "\t"
    return ";" if ";" in first and "," not in first else ","


def _numbers(cells: tuple[str, ...]) -> np.ndarray | None:
    """The cells as numbers; None if some are words."""
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError:
        return None


def _with_point(cell: str) -> str:
    """A number as most programs write it, of one with a decimal comma."""
    return cell.replace(",", ".")


def is_wandb_chart(columns: Columns) -> bool:
    """Whether these are the columns of a chart of W&B: `Step`, and `RUN - METRIC` for every run."""
    named = [name for name in columns if name != WANDB_STEP]
    return WANDB_STEP in columns and bool(named) and all(BETWEEN in name for name in named)


def runs_of_chart(columns: Columns) -> dict[str, Columns]:
    """The runs of a chart of W&B, each with its steps and metrics; steps at which it logged nothing are left out."""
    runs: dict[str, Columns] = {}
    for name, values in columns.items():
        run, _, metric = name.rpartition(BETWEEN)
        if name != WANDB_STEP and not metric.endswith(RANGES):
            runs.setdefault(run, {})[metric] = values
    return {run: _logged_rows(columns[WANDB_STEP], metrics) for run, metrics in runs.items()}


def _logged_rows(steps: np.ndarray, metrics: Columns) -> Columns:
    there = np.any([~np.isnan(values) for values in metrics.values()], axis=0)
    return {WANDB_STEP: steps[there]} | {name: values[there] for name, values in metrics.items()}
