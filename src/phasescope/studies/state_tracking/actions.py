"""Finite group actions as tables: row g holds the images g(0), ..., g(n_y - 1) of the values.

An action is named ("C6", "S5", "D4", "A4", "Q8", "C2xC3", "regS3") or written out as rows of digits ("012 120 201").
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

import phasescope as ps

KINDS = "C6 (cyclic), S5 (symmetric), D4 (dihedral), A4 (alternating), Q8, products such as C2xC3, regS3 (on itself)"
LARGEST = 5040  # rows of a table: seven values under all permutations


@dataclasses.dataclass(frozen=True, eq=False)
class Action:
    """A group acting on values; `table[g, y]` is the image of y under g."""

    name: str
    table: Int[np.ndarray, "action value"]

    @property
    def actions(self) -> int:
        """$n_g$, the order of the group."""
        return self.table.shape[0]

    @property
    def values(self) -> int:
        """$n_y$, the number of points it acts on."""
        return self.table.shape[1]

    @property
    def is_transitive(self) -> bool:
        """Whether every value can be moved to every other."""
        return len(np.unique(self.table[:, 0])) == self.values

    @property
    def is_simply_transitive(self) -> bool:
        """Whether exactly one element moves a given value to a given other."""
        return self.is_transitive and self.actions == self.values

    @property
    def stabiliser(self) -> int:
        """How many elements fix a value, $n_g / n_y$ for a transitive action: the size of a fibre."""
        return self.actions // self.values


def validated(table: Sequence[Sequence[int]] | np.ndarray, name: str = "table") -> Action:
    """The action of a table, or an error that says which law of a group action it breaks."""
    try:
        rows = np.asarray(table)
    except ValueError:
        raise ps.SpecError(f"{name}: the rows of an action must be of one length.") from None
    if rows.ndim != 2 or rows.size == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise ps.SpecError(
            f"{name}: an action is a table of whole numbers, a row for each element; got {rows.shape}."
        )
    points = np.arange(rows.shape[1])
    for g, row in enumerate(rows):
        if not np.array_equal(np.sort(row), points):
            raise ps.SpecError(
                f"{name} is no group action: row {g}, {row.tolist()}, is no permutation of {points.tolist()}."
            )
    distinct, copies = np.unique(rows, axis=0, return_counts=True)
    if copies.min() != copies.max():
        raise ps.SpecError(
            f"{name} is no group action: rows occur {copies.min()} to {copies.max()} times, not equally often."
        )
    known = {row.tobytes() for row in distinct}
    for g, h in itertools.product(distinct, distinct):
        if np.ascontiguousarray(g[h]).tobytes() not in known:
            raise ps.SpecError(
                f"{name} is no group action: it holds {g.tolist()} and {h.tolist()} but not their composition "
                f"{g[h].tolist()}. Add the missing rows, or take one of {KINDS}."
            )
    return Action(name, rows.astype(np.int64))


@functools.cache
def named(name: str) -> Action:
    """The action of this name, or written out in it."""
    if re.fullmatch(r"\d+( \d+)*", name):
        return validated([[int(c) for c in row] for row in name.split()], name)
    if name.startswith("reg"):
        return on_itself(named(name.removeprefix("reg")), name)
    factors = [_simple(part, name) for part in name.split("x")]
    return functools.reduce(lambda a, b: _product(a, b, name), factors)


def on_itself(action: Action, name: str = "") -> Action:
    """The group of a faithful action acting on its own elements from the left: simply transitive."""
    index = {row.tobytes(): g for g, row in enumerate(action.table)}
    if len(index) < action.actions:
        raise ps.SpecError(
            f"{action.name} repeats rows, so its elements cannot be told apart by what they do."
        )
    table = [
        [index[np.ascontiguousarray(g[h]).tobytes()] for h in action.table] for g in action.table
    ]
    return Action(name or f"reg{action.name}", np.array(table))


def fibres(action: Action) -> Int[np.ndarray, "image value element"]:
    """`fibres[j, y]`: the elements that take y to j, in rising order. Needs a transitive action."""
    needs_transitive(action)
    members = [
        [np.flatnonzero(action.table[:, y] == j) for y in range(action.values)]
        for j in range(action.values)
    ]
    return np.array(members)


def needs_transitive(action: Action) -> None:
    """Features are labelled by (image, value): every pair must occur."""
    if not action.is_transitive:
        raise ps.SpecError(
            f"{action.name}: the theory needs a transitive action, but some values are never reached from 0."
        )


def _simple(part: str, whole: str) -> Action:
    match = re.fullmatch(r"([CSDAQ])(\d+)", part)
    if match is None:
        raise ps.SpecError(
            f'there is no group "{whole}". Known: {KINDS}; or rows written out, as in "012 120 201".'
        )
    kind = match[1]
    n = int(match[2])
    least = {"C": 1, "S": 1, "D": 3, "A": 3, "Q": 8}[kind]
    if n < least or (kind == "Q" and n != 8):
        raise ps.SpecError(
            f'"{part}": {kind} needs a number {"equal to" if kind == "Q" else "of at least"} {least}.'
        )
    if kind in "CD" and n * (1 + (kind == "D")) > LARGEST:
        raise ps.SpecError(f'"{part}" has too many elements; tables stop at {LARGEST} rows.')
    if kind in "SA" and n > 7:
        raise ps.SpecError(
            f'"{part}" has {n}!{"/2" if kind == "A" else ""} elements; tables stop at {LARGEST} rows.'
        )
    y = np.arange(n)
    if kind == "C":
        table = (y[:, None] + y) % n
    elif kind == "D":
        table = np.concatenate([(y[:, None] + y) % n, (y[:, None] - y) % n])
    elif kind == "Q":
        return Action(part, _quaternions())
    else:
        table = np.array(list(itertools.permutations(range(n))))
        table = table[[_is_even(p) for p in table]] if kind == "A" else table
    return Action(part, table.astype(np.int64))


def _product(a: Action, b: Action, name: str) -> Action:
    """Both groups act on pairs of values, each on its own part."""
    if a.actions * b.actions > LARGEST:
        raise ps.SpecError(
            f'"{name}" has {a.actions * b.actions} elements; tables stop at {LARGEST} rows.'
        )
    table = a.table[:, None, :, None] * b.values + b.table[None, :, None, :]
    return Action(name, table.reshape(a.actions * b.actions, a.values * b.values))


def _is_even(permutation: np.ndarray) -> bool:
    return bool(np.linalg.det(np.eye(len(permutation))[permutation]) > 0)


def _quaternions() -> Int[np.ndarray, "8 8"]:
    """Left multiplication of 1, i, j, k, -1, -i, -j, -k; entry (sign, unit) of a product of two units."""
    unit = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
    minus = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]])
    element = np.arange(8)
    s, u = np.divmod(element, 4)
    sign = (s[:, None] + s + minus[u[:, None], u]) % 2
    return 4 * sign + unit[u[:, None], u]
