"""Columns: what any log comes down to, and the array that columns such as `progress[0]`, `progress[1]` are together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..errors import LogError

Columns = dict[str, np.ndarray]
NAMED = 6  # of what was left out, so many are named
INDEXED = re.compile(r"(?P<name>.+)\[(?P<index>\d+(?:,\d+)*)\]")


def at_most(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def names_of_entries(name: str, value: np.ndarray) -> list[str]:
    """The columns that an array is written as: `loss`, or `progress[0]`, `progress[1]`, ..., in the order of its entries."""
    if value.ndim == 0:
        return [name]
    return [f"{name}[{','.join(map(str, index))}]" for index in np.ndindex(value.shape)]


def with_arrays(columns: Mapping[str, np.ndarray], where: str) -> Columns:
    """The columns, of which those with an index in their name are joined to one array with time as its first axis.

    **Raises:** `LogError` if an entry is missing, or there twice.
    """
    plain: Columns = {}
    indexed: dict[str, dict[tuple[int, ...], np.ndarray]] = {}
    for name, values in columns.items():
        found = INDEXED.fullmatch(name)
        if found is None:
            plain[name] = values
        else:
            index = tuple(int(word) for word in found["index"].split(","))
            entries = indexed.setdefault(found["name"], {})
            if index in entries:
                raise LogError(f'{where}: "{name}" is there twice, written in two ways.')
            entries[index] = values
    for name, entries in indexed.items():
        if name in plain:
            raise LogError(f'{where}: there is a column "{name}" beside "{name}[...]". Rename one.')
        plain[name] = _joined(name, entries, where)
    return plain


def _joined(name: str, entries: Mapping[tuple[int, ...], np.ndarray], where: str) -> np.ndarray:
    ranks = {len(index) for index in entries}
    if len(ranks) > 1:
        raise LogError(
            f'{where}: the columns "{name}[...]" have indices of {_told(ranks)} numbers: an array has one number of axes.'
        )
    shape = tuple(max(axis) + 1 for axis in zip(*entries, strict=True))
    if math.prod(shape) != len(entries):
        missing = next(index for index in _indices(shape) if index not in entries)
        wanted = ",".join(map(str, missing))
        raise LogError(f'{where}: there is no column "{name}[{wanted}]" among "{name}[...]".')
    rows = [entries[index] for index in np.ndindex(shape)]
    return np.stack(rows, axis=1).reshape(len(rows[0]), *shape)


def _indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices of an array of a shape, however large it would be, the last axis fastest."""
    for number in range(math.prod(shape)):
        index = []
        for size in reversed(shape):
            number, place = divmod(number, size)
            index.append(place)
        yield tuple(reversed(index))


def _told(numbers: Sequence[int] | set[int]) -> str:
    return " and ".join(map(str, sorted(numbers)))
