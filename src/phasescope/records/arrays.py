"""The arrays of a run: what it has recorded so far, before it becomes a dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..engine.job import Chunk
from ..engine.leaves import leaves_of

Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Divergence:
    """Where a single run left the finite numbers.

    - `time`: the dataset's time.
    - `local`: the same in the own time of its stage: the step, if the stage counts steps.
    - `stage`: the index of the stage.
    """

    time: float
    local: float
    stage: int


@dataclasses.dataclass(frozen=True)
class StageEnds:
    """What was inspected at the ends of stages: rows are stages that ended, lanes are the last axis."""

    time: np.ndarray
    stage: np.ndarray
    values: Arrays

    def up_to(self, time: float) -> StageEnds:
        """The ends that are not later than a time of the dataset."""
        rows = int((self.time <= time).sum())
        return StageEnds(self.time[:rows], self.stage[:rows], _first(rows, self.values))


@dataclasses.dataclass(frozen=True)
class Records:
    """What a run has recorded: rows are record times, lanes are the last axis.

    - `time`, `stage`, `finite`: when each row is from, the stage it belongs to, and who was finite.
    - `measured`: the observables, by name.
    - `inspected`: the expensive observables at the ends of stages; None if there are none yet.
    - `states`: the arrays of the state at the end of every stage that has ended, by the stage's index.
    - `diverged`: where a single run left the finite numbers, if it did.
    - `counts`: which of the rows count in reductions; None if there are none.
    - `reduced`: what reductions carry after the last row, by name.
    """

    time: np.ndarray
    stage: np.ndarray
    finite: np.ndarray
    measured: Arrays
    inspected: StageEnds | None = None
    states: Mapping[int, Sequence[np.ndarray]] = dataclasses.field(default_factory=dict)
    diverged: Divergence | None = None
    counts: np.ndarray | None = None
    reduced: Mapping[str, Arrays] = dataclasses.field(default_factory=dict)

    def while_finite(self) -> Records:
        """The records up to the first at which no lane is finite; how much was computed after it depends on the machine."""
        alive = self.finite.reshape(len(self.time), -1).any(axis=1)
        if alive.all():
            return self
        return self.up_to(int(alive.argmin()))

    def up_to(self, row: int) -> Records:
        """The records up to a row and with it; states are kept."""
        rows = row + 1
        inspected = None
        if self.inspected is not None:
            inspected = self.inspected.up_to(self.time[row])
        return dataclasses.replace(
            self,
            time=self.time[:rows],
            stage=self.stage[:rows],
            finite=self.finite[:rows],
            measured=_first(rows, self.measured),
            inspected=inspected,
            counts=None if self.counts is None else self.counts[:rows],
        )

    def to_arrays(self) -> Arrays:
        """The records as a checkpoint keeps them: arrays under names that `from_arrays` understands."""
        arrays = {"time": self.time, "stage": self.stage, "finite": self.finite}
        if self.counts is not None:
            arrays["counts"] = self.counts
        arrays |= {f"measured.{name}": x for name, x in self.measured.items()}
        if self.inspected is not None:
            arrays |= {
                "inspected_time": self.inspected.time,
                "inspected_stage": self.inspected.stage,
            }
            arrays |= {f"inspected.{name}": x for name, x in self.inspected.values.items()}
        for stage, leaves in self.states.items():
            arrays |= {f"state.{stage}.{i:04d}": leaf for i, leaf in enumerate(leaves)}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Records:
        """The inverse of `to_arrays`. Raises KeyError if an array is missing."""
        inspected = None
        if "inspected_time" in arrays:
            values = _under("inspected.", arrays)
            inspected = StageEnds(arrays["inspected_time"], arrays["inspected_stage"], values)
        states: dict[int, list[np.ndarray]] = {}
        for name, leaf in sorted(_under("state.", arrays).items()):
            states.setdefault(int(name.partition(".")[0]), []).append(leaf)
        return cls(
            time=arrays["time"],
            stage=arrays["stage"],
            finite=arrays["finite"],
            measured=_under("measured.", arrays),
            inspected=inspected,
            states=states,
            counts=arrays.get("counts"),
        )


def part_of(chunk: Chunk) -> Records:
    """What a chunk adds: its records, what was inspected, and the state if it ended a stage."""
    inspected = None
    if chunk.inspected:
        inspected = StageEnds(chunk.time[-1:], np.array([chunk.stage]), chunk.inspected)
    states = {}
    if chunk.ends_stage and chunk.keeps_state:
        states[chunk.stage] = leaves_of(chunk.state)
    return Records(
        time=chunk.time,
        stage=np.full(len(chunk.time), chunk.stage),
        finite=chunk.finite,
        measured=chunk.records,
        inspected=inspected,
        states=states,
        counts=chunk.counts,
    )


def join(parts: Iterable[Records]) -> Records:
    """Consecutive records as one."""
    parts = list(parts)
    states: dict[int, Sequence[np.ndarray]] = {}
    for part in parts:
        states |= part.states
    counts = [part.counts for part in parts if part.counts is not None]
    return Records(
        time=np.concatenate([part.time for part in parts]),
        stage=np.concatenate([part.stage for part in parts]),
        finite=np.concatenate([part.finite for part in parts]),
        measured=_stacked([part.measured for part in parts]),
        inspected=_joined_ends([part.inspected for part in parts if part.inspected is not None]),
        states=states,
        counts=np.concatenate(counts) if counts else None,
    )


def _joined_ends(ends: Sequence[StageEnds]) -> StageEnds | None:
    if not ends:
        return None
    time = np.concatenate([end.time for end in ends])
    stage = np.concatenate([end.stage for end in ends])
    return StageEnds(time, stage, _stacked([end.values for end in ends]))


def _stacked(parts: Sequence[Arrays]) -> Arrays:
    """The rows of all parts, one after the other, by name."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.concatenate([part[name] for part in parts if name in part]) for name in names}


def _first(rows: int, arrays: Arrays) -> Arrays:
    return {name: x[:rows] for name, x in arrays.items()}


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    return {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}
