"""Everything phasescope raises on purpose.

PhasescopeError
├── SpecError(ValueError)         a field that does not exist, or a value it cannot take
├── PlanError(ValueError)         an arm whose plan cannot be run as asked
│   └── DeriveFailed              a run that is sound, but whose plan could not derive what it should
├── RunDiverged(ArithmeticError)  a run that left the finite numbers; what it recorded is stored
├── StudyNotFound(LookupError)    no such study
│   ├── NameNotFound              a study that has no such arm, preset, claim or figure
│   └── StudyBroken               a study that is there and does not load
├── SweepIncomplete               a sweep of which other processes could compute only a part
├── ClusterUnreachable(ConnectionError)  no scheduler answers at an address
├── LogError(ValueError)          a file that is no log of training, or cannot be read as one
├── ProbeError(ValueError)        what a probe cannot be taken of: another shape, a file that is no checkpoint
├── StoreError(OSError)           a store that cannot be read or written, or is damaged
└── MissingExtra(ImportError)     an optional dependency that a command needs

A message says what was asked, what was found, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

READABLE = 60  # names that an error lists
ALIKE = 6  # names that it lists where there are more
NEAR = 0.6  # how like a name is, from 0 to 1, from which on it may have been meant
PART = 3  # letters from which on a word counts as a part of a name


class PhasescopeError(Exception):
    """The root: catch this to catch whatever phasescope raises on purpose.

    >>> issubclass(ps.SpecError, ps.PhasescopeError)
    True
    """


class SpecError(PhasescopeError, ValueError):
    """A field that does not exist, or a value it cannot take.

    >>> class Spec(ps.Spec):
    ...     eta: float = 0.1
    >>> Spec().replace(etta=0.2)
    Traceback (most recent call last):
        ...
    phasescope.errors.SpecError: there is no field "etta". Known: eta. Did you mean "eta"?
    """


class PlanError(PhasescopeError, ValueError):
    """An arm whose plan cannot be run as asked.

    >>> ps.run("linear_modes", "logistic", at=[1e6], store=False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    phasescope.errors.PlanError: ...
    """


class DeriveFailed(PlanError):
    """A run that went to its end, but whose plan's `derive` raised.

        >>> issubclass(ps.DeriveFailed, ps.PlanError)
        True

    `dataset` is what it recorded.
    """

    dataset: xr.Dataset

    def __init__(self, message: str, dataset: Any) -> None:
        super().__init__(message)
        self.dataset = dataset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.dataset)


class RunDiverged(PhasescopeError, ArithmeticError):
    """A run that left the finite numbers; what it recorded up to there is stored.

        >>> try:
        ...     ps.run("linear_modes", "descent", eta=100.0, steps=50, store=False)
        ... except ps.RunDiverged as error:
        ...     bool(error.dataset.time[-1] < 50)
        True

    `dataset` is what it recorded.
    """

    dataset: xr.Dataset

    def __init__(self, message: str, dataset: Any) -> None:
        super().__init__(message)
        self.dataset = dataset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.dataset)


class StudyNotFound(PhasescopeError, LookupError):
    """No such study.

    >>> ps.find("linear_mode")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    phasescope.errors.StudyNotFound: there is no study "linear_mode". Known: ...
    """


class NameNotFound(StudyNotFound):
    """A study that has no such arm, preset, claim or figure.

    >>> ps.find("linear_modes").arm("flaw")
    Traceback (most recent call last):
        ...
    phasescope.errors.NameNotFound: linear_modes has no arm "flaw". Known: descent, flow, logistic. Did you mean "flow"?
    """


class StudyBroken(StudyNotFound):
    """A study that is there and does not load: its code raised, or what it offers is no study.

    >>> issubclass(ps.StudyBroken, ps.StudyNotFound)
    True
    """


class StoreError(PhasescopeError, OSError):
    """A store that cannot be read or written, or whose files are damaged.

    >>> issubclass(ps.StoreError, OSError)
    True
    """


class LogError(PhasescopeError, ValueError):
    """A file that is no log of training, or whose columns and times are not what was said.

    >>> ps.logged({"epoch": [0, 1], "loss": [1.0, 0.5]}, rename={"lss": "loss"})
    Traceback (most recent call last):
        ...
    phasescope.errors.LogError: arrays in memory has no column "lss". Known: epoch, loss. Did you mean "loss"?
    """


class ProbeError(PhasescopeError, ValueError):
    """What a probe cannot be taken of: arrays of another shape, or a file that is no checkpoint.

    >>> from phasescope import probes
    >>> probes.entropy(np.ones(3))
    Traceback (most recent call last):
        ...
    phasescope.errors.ProbeError: pattern has the axes [..., query, key], got an array of shape (3,).
    """


class CorpusError(PhasescopeError, ValueError):
    """A corpus that is not there, is empty, is not the published one, or is too short for what is asked.

    >>> issubclass(ps.CorpusError, ValueError)
    True
    """


class SweepIncomplete(PhasescopeError, RuntimeError):
    """A sweep of which other processes could compute only a part; that part is stored.

        >>> issubclass(ps.SweepIncomplete, ps.PhasescopeError)
        True

    `dataset` is that part, with NaN for the rest; None if there is nothing. `failed` has the blocks that
    were tried and given up, each with the reason: their workers died, or too little memory or time. The same
    call computes only what is not stored.
    """

    dataset: xr.Dataset | None
    failed: dict[str, str]

    def __init__(self, message: str, dataset: Any, failed: dict[str, str]) -> None:
        super().__init__(message)
        self.dataset = dataset
        self.failed = failed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.dataset, self.failed)


class ClusterUnreachable(PhasescopeError, ConnectionError):
    """No scheduler answers at an address, or what answers is none.

    >>> with ps.workers(cluster="tcp://127.0.0.1:1"):
    ...     pass
    Traceback (most recent call last):
        ...
    phasescope.errors.ClusterUnreachable: no scheduler answers at tcp://127.0.0.1:1 (Connection refused). ...
    """


class MissingExtra(PhasescopeError, ImportError):
    """An optional dependency that a command needs and that is not installed.

    >>> issubclass(ps.MissingExtra, ImportError)
    True
    """


def unknown(kind: str, name: str, known: Iterable[str], study: str) -> NameNotFound:
    """A study lacks the arm, preset, claim or figure that was asked for."""
    return NameNotFound(f'{study} has no {kind} "{name}". {nearest(name, known)}')


def unknown_to_all(
    kind: str, name: str, known: Iterable[str], studies: Iterable[str]
) -> NameNotFound:
    """None of some studies has the claim or figure that was asked for."""
    return NameNotFound(f'{", ".join(studies)}: no {kind} "{name}". {nearest(name, known)}')


def nearest(wanted: str, known: Iterable[str]) -> str:
    """The end of an error message: what there is, and what was probably meant.

    Of more names than one can read, those that are most like what was wanted.
    """
    known = sorted(known)
    close = difflib.get_close_matches(wanted, known, n=ALIKE, cutoff=NEAR)
    hint = f' Did you mean "{close[0]}"?' if close else ""
    if len(known) <= READABLE:
        return f"Known: {', '.join(known) or 'none'}.{hint}"
    parts = [x for x in known if len(wanted) >= PART and wanted.lower() in x.lower()]
    alike = list(dict.fromkeys(close + parts))[:ALIKE]
    if not alike:
        return f"Known are {len(known)}; none is like it."
    return f"Known are {len(known)}; most like it: {', '.join(alike)}.{hint}"
