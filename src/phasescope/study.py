"""Study: a paper as a record of spec, arms, claims and figures; and how studies are found."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from .claims.claim import Claim
from .claims.protocol import Protocol
from .discovery import installed, owner
from .errors import SpecError, StudyNotFound, nearest, unknown
from .figures.figure import Figure
from .plan.plan import Arm
from .spec import Spec

# Words of `run` and `sweep` that say how, not what.
RESERVED = {
    "study",
    "arm",
    "preset",
    "seed",
    "seeds",
    "at",
    "block",
    "executor",
    "store",
    "progress",
}
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Study:
    """A paper: its default numbers, named presets, arms, claims and figures, and nothing else.

        >>> study = ps.find("linear_modes")
        >>> study.specify(epsilon=1e-4).epsilon
        0.0001
        >>> [arm.__name__ for arm in study.arms]
        ['descent', 'flow', 'logistic']

    **Arguments:** `name`: one word. `spec`: the default numbers. `arms`: functions `Spec -> Plan`.
    `claims`, `figures`: in the order of the paper. `paper`, `bibtex`: what to cite. `presets`: named
    Specs, one for each figure of the paper. `protocols`: which presets are experiments of the paper,
    from `ps.protocol`. `unchecked`: statements of the paper that have no claim, each with the reason.

    **Raises:** `SpecError` if a field has a name that the verbs use themselves, or a protocol is of no
    preset.
    """

    name: str
    spec: Spec
    arms: tuple[Arm, ...]
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    paper: str = ""
    bibtex: str = ""
    presets: Mapping[str, Spec] = dataclasses.field(default_factory=dict)
    protocols: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    unchecked: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = sorted(RESERVED & {f.name for f in dataclasses.fields(self.spec)})
        if taken:
            raise SpecError(
                f"{self.name}: a field cannot be called {', '.join(taken)}: the verbs use that word themselves."
            )
        stray = sorted(set(self.protocols) - set(self.presets))
        if stray:
            raise SpecError(f"{self.name}: protocols of no preset: {', '.join(stray)}.")

    def arm(self, name: str | Arm) -> Arm:
        """The arm of this name (an arm itself passes through)."""
        return (
            name
            if callable(name)
            else _pick("arm", name, {a.__name__: a for a in self.arms}, self.name)
        )

    def specify(self, preset: str | None = None, **changes: Any) -> Spec:
        """The default numbers, or a preset, with changes."""
        start = (
            self.spec if preset is None else _pick("preset", preset, dict(self.presets), self.name)
        )
        try:
            return start.replace(**changes)
        except SpecError as error:
            raise SpecError(f"{self.name}: {error}") from None

    def claim(self, id: str) -> Claim:
        """The claim of this id or name."""
        return _pick(
            "claim",
            id,
            {n: c for c in self.claims for n in reversed(c.names)} | {c.id: c for c in self.claims},
            self.name,
        )

    def figure(self, id: str) -> Figure:
        """The figure of this id or name."""
        return _pick(
            "figure",
            id,
            {f.name: f for f in self.figures} | {f.id: f for f in self.figures},
            self.name,
        )


def _pick(kind: str, name: str, known: Mapping[str, T], study: str) -> T:
    if name not in known:
        raise unknown(kind, name, known, study)
    return known[name]


def find(study: str | Study) -> Study:
    """A study by its name, or by the path of its file.

        >>> ps.find("linear_modes").name
        'linear_modes'

    **Arguments:** `study`: the name of an installed study, or the path of a Python file that holds one
    (loaded anew when it was edited); what is already a study passes through.

    **Returns:** a `Study`.

    **Raises:** `StudyNotFound` if there is none of that name, or if it does not load.
    """
    if isinstance(study, Study):
        return study
    if study.endswith(".py") or "/" in study:
        return _from_file(Path(study))
    points = installed()
    if study not in points:
        raise StudyNotFound(f'there is no study "{study}". {nearest(study, points)}')
    return _load(study, owner(points[study]))


@functools.cache
def _load(name: str, package: str) -> Study:
    point = installed()[name]
    try:
        loaded = point.load()
    except Exception as error:
        raise StudyNotFound(
            f'the study "{name}" of {package} is broken: {type(error).__name__}: {error}'
        ) from error
    if not isinstance(loaded, Study) or loaded.name != name:
        raise StudyNotFound(
            f'the entry point "{name}" of {package} must give a Study of that name, got {loaded!r:.80}.'
        )
    return loaded


def _from_file(path: Path) -> Study:
    """The study of a plain file; the file is loaded anew when it was edited."""
    try:
        found = path.stat()
    except OSError:
        raise StudyNotFound(f"there is no file {path}.") from None
    if not path.is_file():
        raise StudyNotFound(f"{path} is not a file.")
    return _load_file(path.resolve(), found.st_mtime_ns, found.st_size)


class _FromText(SourceFileLoader):
    """Loads what the file says now: Python's own cache cannot tell two edits within one second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


@functools.lru_cache(maxsize=256)
def _load_file(path: Path, _edited: int, _size: int) -> Study:
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    loader = _FromText(name, str(path))
    module_spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert module_spec is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module  # annotations are looked up there
    sys.path.insert(0, str(path.parent))  # its helper modules lie beside it
    try:
        loader.exec_module(module)
    except Exception as error:
        raise StudyNotFound(f"{path} does not run: {type(error).__name__}: {error}") from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(path.parent))
    studies = [x for x in vars(module).values() if isinstance(x, Study)]
    if len(studies) != 1:
        raise StudyNotFound(f"{path} must hold exactly one Study, found {len(studies)}.")
    return studies[0]
