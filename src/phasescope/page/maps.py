"""Maps: the blocks of a stored sweep as a grid over two of its axes, with the others held at one value or averaged."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import PhasescopeError, SpecError, StoreError, nearest
from ..store import Entry
from ..store.run_document import read_run
from ..store.values import LongColumn
from ..verbs.run_index import Query, RunIndex
from .datasets import Datasets
from .wire import over_two_axes, packed, plain

MOST_BLOCKS = 2000
MOST_CELLS = 2**18
MEAN = "mean"
Blocks = tuple[tuple[str, Mapping[str, np.ndarray]], ...]  # run id, columns of its lanes


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Blocks that belong together: they share all numbers but those of the axes."""

    id: str
    study: str
    arm: str
    spec: Mapping[str, Any]
    axes: Mapping[str, np.ndarray]
    blocks: Blocks
    when: str

    def to_json(self) -> dict[str, Any]:
        """The sweep for a list."""
        return {
            "id": self.id,
            "study": self.study,
            "arm": self.arm,
            "spec": plain(self.spec),
            "axes": [{"name": k, "values": plain(v)} for k, v in self.axes.items()],
            "runs": [id for id, _ in self.blocks],
            "when": self.when,
        }


class Maps:
    """The sweeps of an index that have two axes or more."""

    def __init__(self, index: RunIndex, datasets: Datasets) -> None:
        self.index = index
        self.datasets = datasets
        self._entries: dict[str, tuple[str, Entry]] = {}
        self._lock = threading.Lock()

    def all(self) -> dict[str, Sweep]:
        """The sweeps by id, the latest first."""
        _, rows = self.index.select(Query(kind="sweep", limit=MOST_BLOCKS))
        with self._lock:
            entries = [entry for row in rows if (entry := self._entry(row["id"])) is not None]
            self._entries = {entry.id: self._entries[entry.id] for entry in entries}
        found = [
            sweep for group in _grouped(entries) for sweep in _joined(group) if len(sweep.axes) >= 2
        ]
        return {one.id: one for one in sorted(found, key=lambda one: one.when, reverse=True)}

    def grid(
        self, id: str, x: str, y: str, value: str, record: int, held: Mapping[str, str]
    ) -> bytes:
        """One quantity over two axes of a sweep, as `packed` sends it; `held` says where the other axes are cut."""
        sweeps = self.all()
        if id not in sweeps:
            raise StoreError(f'there is no map "{id[:100]}".')
        sweep = sweeps[id]
        names = list(sweep.axes)
        x = x or names[0]
        y = y or next(name for name in names if name != x)
        for name in (x, y, *held):
            if name not in sweep.axes:
                raise SpecError(f'the map has no axis "{name[:100]}". {nearest(name[:100], names)}')
        if x == y:
            raise SpecError("a map has two different axes.")
        cells = math.prod(len(v) for v in sweep.axes.values())
        if cells > MOST_CELLS:
            raise SpecError(f"the map has {cells} cells, more than {MOST_CELLS}.")
        return self._packed(sweep, x, y, value, record, held)

    def _packed(
        self, sweep: Sweep, x: str, y: str, value: str, record: int, held: Mapping[str, str]
    ) -> bytes:
        names = list(sweep.axes)
        whole = np.full([len(v) for v in sweep.axes.values()], np.nan)
        source = np.full([*whole.shape, 2], -1)
        quantities: list[str] = []
        for number, (id, columns) in enumerate(sweep.blocks):
            ds = self.datasets.get(id)
            quantities = quantities or [
                str(k) for k, v in ds.data_vars.items() if v.dtype.kind in "biuf"
            ]
            value = value or _first(quantities)
            numbers = _per_lane(ds, value, record, quantities)
            lanes = len(numbers)
            places = tuple(
                np.searchsorted(sweep.axes[name], columns[name][:lanes]) for name in names
            )
            whole[places] = numbers
            source[places] = np.stack([np.full(lanes, number), np.arange(lanes)], axis=-1)
        cut: list[Any] = []
        for name in names:
            cut.append(
                slice(None)
                if name in (x, y)
                else _cut(held.get(name, "0"), whole.shape[names.index(name)])
            )
        means = tuple(i for i, c in enumerate(cut) if c == MEAN)
        at = [slice(None) if c == MEAN else c for c in cut]
        shown = _mean(whole[tuple(at)], _left(at, means))
        first = source[tuple(0 if c == MEAN else c for c in cut)]
        if names.index(x) < names.index(y):
            shown, first = shown.T, np.swapaxes(first, 0, 1)
        header = {
            **over_two_axes(shown, (y, sweep.axes[y]), (x, sweep.axes[x]), value, quantities),
            "axes": [{"name": k, "values": plain(v)} for k, v in sweep.axes.items()],
            "runs": [id for id, _ in sweep.blocks],
            "cells": first.tolist(),
        }
        return packed(header, shown)

    def _entry(self, id: str) -> Entry | None:
        """The entry of a run, read again if it was replaced; None if it cannot be read."""
        stamp = self.index.stamp(id)
        if id not in self._entries or self._entries[id][0] != stamp:
            root = self.index.store.root
            try:
                self._entries[id] = stamp, read_run(root.joinpath(*id.split("/")), root)[0]
            except PhasescopeError:
                return None
        return self._entries[id][1]


def _first(names: list[str]) -> str:
    """The quantity that is shown first: a loss if there is one."""
    return next((name for name in names if "loss" in name), names[0] if names else "")


def _grouped(entries: list[Entry]) -> list[list[Sweep]]:
    """Blocks that differ in the columns of their lanes alone are a sweep; sweeps that differ in numbers, a group."""
    found: dict[str, dict[str, list[Entry]]] = {}
    for entry in sorted(entries, key=_age):
        lanes = dict(entry.lanes or {})
        if any(isinstance(column, LongColumn) for column in lanes.values()):
            continue  # the numbers of so wide a block are in its records alone
        shared = {k: v for k, v in entry.spec.items() if k not in lanes}
        words = {k: v for k, v in shared.items() if type(v) not in (int, float)}
        of = entry.identity
        asked = [entry.study, entry.arm, sorted(lanes), of.source, of.at, of.keep, str(of.reduce)]
        alike = found.setdefault(_text([asked, sorted(shared), words]), {})
        alike.setdefault(_text([asked, shared]), []).append(entry)
    return [[_sweep(key, blocks) for key, blocks in one.items()] for one in found.values()]


def _age(entry: Entry) -> tuple[str, int, str]:
    """When a block was made: its own date counts seconds, and its folder tells those of one second apart."""
    try:
        written = entry.folder.stat().st_mtime_ns
    except OSError:
        written = 0
    return entry.created, written, entry.id


def _text(parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, default=str)


def _sweep(key: str, group: list[Entry]) -> Sweep:
    first = group[0]
    blocks = tuple((entry.id, _columns(entry)) for entry in group)
    axes = _axes_of(blocks, blocks[0][1])
    shared = {k: v for k, v in first.spec.items() if k not in axes}
    return Sweep(_digest(key), first.study, first.arm, shared, axes, blocks, group[-1].created)


def _columns(entry: Entry) -> dict[str, np.ndarray]:
    """What differs from lane to lane, and the seed that lanes share if each has none of its own."""
    columns = {name: np.asarray(column) for name, column in (entry.lanes or {}).items()}
    return (
        columns if "seed" in columns else columns | {"seed": np.full(_length(columns), entry.seed)}
    )


def _axes_of(blocks: Blocks, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The values that occur along each axis."""
    return {name: np.unique(np.concatenate([lanes[name] for _, lanes in blocks])) for name in names}


def _joined(group: list[Sweep]) -> list[Sweep]:
    """Sweeps that lie over one another are one: the other numbers in which they differ become axes.

    What one of them lacks is a gap. Sweeps of a group that have no values in common stay apart.
    """
    parts: list[list[Sweep]] = []
    for sweep in group:
        near = [any(_overlap(sweep, one) for one in part) for part in parts]
        together = [one for part, yes in zip(parts, near, strict=True) if yes for one in part]
        apart = [part for part, yes in zip(parts, near, strict=True) if not yes]
        parts = [*apart, [*together, sweep]]
    ages = {sweep.id: age for age, sweep in enumerate(group)}
    found = []
    for part in parts:
        one = _one(sorted(part, key=lambda sweep: ages[sweep.id]))
        few = math.prod(map(len, one.axes.values())) <= MOST_CELLS
        found += [one] if few else [_one([sweep]) for sweep in part]
    return found


def _overlap(one: Sweep, other: Sweep) -> bool:
    """Whether two sweeps share two values along every axis, or the one that there is."""
    shared = {k: len(np.intersect1d(v, other.axes[k], True)) for k, v in one.axes.items()}
    return all(n >= min(2, len(one.axes[k]), len(other.axes[k])) for k, n in shared.items())


def _one(part: list[Sweep]) -> Sweep:
    """Some sweeps as one, the oldest first: it has that one's id, and keeps it as others come to it."""
    first = part[0]
    varied = [k for k in first.spec if len({_text(s.spec[k]) for s in part}) > 1]
    blocks = tuple(
        (id, {**columns, **{k: np.full(_length(columns), s.spec[k]) for k in varied}})
        for s in part
        for id, columns in s.blocks
    )
    axes = {k: v for k, v in _axes_of(blocks, blocks[0][1]).items() if len(v) > 1}
    spec = {k: v for k, v in first.spec.items() if k not in varied}
    when = max(s.when for s in part)
    return Sweep(first.id, first.study, first.arm, spec, axes, blocks, when)


def _length(columns: Mapping[str, np.ndarray]) -> int:
    return max((len(column) for column in columns.values()), default=0)


def _per_lane(ds: Any, name: str, record: int, known: list[str]) -> np.ndarray:
    """One number for each lane: at a record (the last is -1), and at the first place of any other axis."""
    if name not in known:
        raise SpecError(f'the map has no quantity "{name[:100]}". {nearest(name[:100], known)}')
    x = ds[name]
    if "lane" not in x.dims:
        last = float(x.values.ravel()[-1]) if x.size else np.nan
        return np.full(ds.sizes.get("lane", 1), last)
    for dim in x.dims:
        if dim in ("time", "stage_end"):
            x = x.isel({dim: max(min(record, x.sizes[dim] - 1), -x.sizes[dim])})
        elif dim != "lane":
            x = x.isel({dim: slice(0, 1)}).squeeze(dim) if x.sizes[dim] else x.sum(dim) * np.nan
    return np.asarray(x.values, float)


def _cut(word: str, size: int) -> Any:
    if word == MEAN:
        return MEAN
    if not word.isdecimal() or int(word) >= size:
        raise SpecError(f'an axis is held at an index below {size}, or at "mean", got {word[:50]}.')
    return int(word)


def _left(at: list[Any], means: tuple[int, ...]) -> tuple[int, ...]:
    """The axes to average over, counted without those that were cut at one index."""
    return tuple(sum(not isinstance(c, int) for c in at[:i]) for i in means)


def _mean(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    if not axes:
        return values
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=axes)
    count = known.sum(axis=axes)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
