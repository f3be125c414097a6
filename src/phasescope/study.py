"""Study: a paper as a record of spec, arms, claims and figures; and how studies are found."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .claims import Claim
from .discovery import installed, owner
from .errors import SpecError, StudyNotFound, nearest
from .figures import Figure
from .plan import Arm
from .spec import Spec, Value

# Rooms of a study that cannot change the digits of a run.
VERDICT_ROOMS = {"__init__", "claims", "figures", "phases"}
# Rooms of the core that can.
ENGINE_ROOMS = (
    "dynamics.py", "odes.py", "programs.py", "engine.py", "schedule.py", "packing.py", "plan.py", "observables.py"
)  # fmt: skip
# Words of `run` and `sweep` that say how, not what.
RESERVED = {"study", "arm", "preset", "seed", "seeds", "at", "lanes", "executor", "store", "progress"}
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Study:
    """A paper: its default numbers, named presets, arms, claims and figures, and nothing else."""

    name: str
    spec: Spec
    arms: tuple[Arm, ...]
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    paper: str = ""
    bibtex: str = ""
    presets: Mapping[str, Spec] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = sorted(RESERVED & {f.name for f in dataclasses.fields(self.spec)})
        if taken:
            raise SpecError(
                f"{self.name}: a field cannot be called {', '.join(taken)}: the verbs use that word themselves."
            )

    def arm(self, name: str | Arm) -> Arm:
        """The arm of this name (an arm itself passes through)."""
        return name if callable(name) else _pick("arm", name, {a.__name__: a for a in self.arms}, self.name)

    def specify(self, preset: str | None = None, **changes: Any) -> Spec:
        """The default numbers, or a preset, with changes."""
        start = self.spec if preset is None else _pick("preset", preset, dict(self.presets), self.name)
        try:
            return start.replace(**changes)
        except SpecError as error:
            raise SpecError(f"{self.name}: {error}") from None

    def claim(self, id: str) -> Claim:
        """The claim of this id or name."""
        return _pick("claim", id, {c.name: c for c in self.claims} | {c.id: c for c in self.claims}, self.name)

    def figure(self, id: str) -> Figure:
        """The figure of this id or name."""
        return _pick("figure", id, {f.name: f for f in self.figures} | {f.id: f for f in self.figures}, self.name)


def _pick(kind: str, name: str, known: Mapping[str, T], study: str) -> T:
    if name not in known:
        raise StudyNotFound(f'{study} has no {kind} "{name}". {nearest(name, known)}')
    return known[name]


def find(study: str | Study) -> Study:
    """A study by its name, or by the path of its file; what is already a study passes through."""
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
        raise StudyNotFound(f'the study "{name}" of {package} is broken: {type(error).__name__}: {error}') from error
    if not isinstance(loaded, Study) or loaded.name != name:
        raise StudyNotFound(
            f'the entry point "{name}" of {package} must give a Study of that name, got {loaded!r:.80}.'
        )
    return loaded


@functools.cache
def _from_file(path: Path) -> Study:
    if not path.is_file():
        raise StudyNotFound(f"there is no file {path}.")
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    assert module_spec is not None and module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules.setdefault(path.stem, module)
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        raise StudyNotFound(f"{path} does not run: {type(error).__name__}: {error}") from error
    studies = [x for x in vars(module).values() if isinstance(x, Study)]
    if len(studies) != 1:
        raise StudyNotFound(f"{path} must hold exactly one Study, found {len(studies)}.")
    return studies[0]


def source_digest(arm: Arm) -> str:
    """SHA-256 over the sources that can change the digits of a run: the study's rooms and the engine's."""
    own = Path(__file__).parent
    digest = hashlib.sha256()
    for path in [*(own / room for room in ENGINE_ROOMS), *sorted((own / "nn").glob("*.py")), *_rooms(arm)]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    if not _rooms(arm):
        digest.update("\0".join(_spelled(arm, set())).encode())
    return digest.hexdigest()


def _spelled(function: Any, seen: set[str]) -> Iterator[str]:
    """A function that was typed in, spelled out: its code, and what it refers to in the same place."""
    if not isinstance(function, types.FunctionType):
        named = getattr(function, "__qualname__", type(function).__qualname__)
        yield repr(function) if isinstance(function, Value) else named
        return
    codes = [function.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        yield from (code.co_code.hex(), *code.co_names)
        yield from (repr(c) for c in code.co_consts if isinstance(c, Value | tuple))
    own = {n: function.__globals__[n] for c in codes for n in c.co_names if n in function.__globals__}
    own |= {f"({n})": c.cell_contents for n, c in zip(codes[0].co_freevars, function.__closure__ or (), strict=True)}
    for name, value in own.items():
        if name not in seen and getattr(value, "__module__", function.__module__) == function.__module__:
            seen.add(name)
            yield from _spelled(value, seen)


def _rooms(arm: Arm) -> list[Path]:
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(arm)) or "")
    except TypeError:
        return []
    if not file.is_file():
        return []
    house = file.parent
    if not (house / "__init__.py").exists():
        return [file]
    # An arm may live in a wing and use what is in the house; the house of a built-in study stands among the others.
    while (house.parent / "__init__.py").exists() and house.parent != Path(__file__).parent / "studies":
        house = house.parent
    matters = lambda path: path.relative_to(house).parts[0].removesuffix(".py") not in VERDICT_ROOMS
    return sorted(path for path in house.rglob("*.py") if matters(path) or path == file)
