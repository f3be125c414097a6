"""Study: a paper as a record of spec, arms, claims and figures; and how studies are found."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .claims.answer import Answer
from .claims.claim import Claim
from .claims.protocol import Protocol
from .discovery import installed, owner
from .errors import SpecError, StudyBroken, StudyNotFound, nearest, unknown
from .figures.figure import Figure
from .identity.places import said_with_place
from .plain_file import module_in
from .plan.plan import Arm, DeclaredArm
from .shown import study_html, study_text
from .spec import Spec, field_types

# Words of `run` and `sweep` that say how, not what.
RESERVED = frozenset(
    [
        "study",
        "arm",
        "preset",
        "seed",
        "seeds",
        "at",
        "keep",
        "reduce",
        "block",
        "executor",
        "store",
        "progress",
    ]
)
T = TypeVar("T")
# One Spec, or one of each kind of arm.
Preset = Spec | tuple[Spec, ...]


@dataclasses.dataclass(frozen=True)
class Study:
    """A paper: its default numbers, named presets, arms, claims and figures, and nothing else.

        >>> study = ps.find("linear_modes")
        >>> study.specify(epsilon=1e-4).epsilon
        0.0001
        >>> [arm.__name__ for arm in study.arms]
        ['descent', 'flow', 'logistic']

    **Arguments:** `name`: one word. `spec`: the default numbers of every arm that declares no Spec of
    its own. `arms`: functions `Spec -> Plan`. `claims`, `figures`: in the order of the paper. `paper`:
    what it is called in a table. `authors`, `link`, `bibtex`: how to cite it; the link is an address of
    the web. `presets`: named Specs, one for each figure of the paper; where arms have Specs of their
    own, a preset may be a tuple with one of each. `protocols`: which presets are experiments of the
    paper, from `ps.protocol`. `unchecked`: statements of the paper that have no claim, each with the
    reason. `answers`: what its authors say to claims, by id, from `ps.answer`.
    `axes`: what the axes of observables count, by name, for the labels of plots; fields need none.

    **Raises:** `SpecError` if arms, claims or figures are no tuples, if one of the claims is none, if a
    field has a name that the verbs use themselves, if two Specs of the study define a field of one name
    differently, if a preset is of a Spec that no arm takes or gives a field two values, if a protocol is
    of no preset or an answer to no claim, or if `link` is no address of the web.
    """

    name: str
    spec: Spec
    arms: tuple[Arm, ...]
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    paper: str = ""
    authors: tuple[str, ...] = ()
    link: str = ""
    bibtex: str = ""
    presets: Mapping[str, Preset] = dataclasses.field(default_factory=dict)
    protocols: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    unchecked: Mapping[str, str] = dataclasses.field(default_factory=dict)
    answers: Mapping[str, Answer] = dataclasses.field(default_factory=dict)
    axes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_lists(self)
        taken = sorted(RESERVED & self.fields.keys())
        if taken:
            raise SpecError(
                f"{self.name}: a field cannot be called {', '.join(taken)}: the verbs use that word themselves."
            )
        _check_citation(self)
        _check_definitions(self)
        _check_presets(self)
        stray = sorted(set(self.protocols) - set(self.presets))
        if stray:
            raise SpecError(f"{self.name}: protocols of no preset: {', '.join(stray)}.")
        answered = sorted(set(self.answers) - {claim.id for claim in self.claims})
        if answered:
            raise SpecError(f"{self.name}: answers to no claim: {', '.join(answered)}.")

    def __repr__(self) -> str:
        return study_text(self)

    def _repr_html_(self) -> str:
        return study_html(self)

    @property
    def defaults(self) -> tuple[Spec, ...]:
        """The default numbers of the study, then those of the arms that have a Spec of their own."""
        return tuple(
            {type(spec): spec for spec in (self.spec, *map(self.default_for, self.arms))}.values()
        )

    @property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """Every field of the study, with the names of the arms that read it."""
        names = dict.fromkeys(f.name for spec in self.defaults for f in dataclasses.fields(spec))
        return {
            name: tuple(arm.__name__ for arm in self.arms if self._reads(arm, name))
            for name in names
        }

    def _reads(self, arm: Arm, field: str) -> bool:
        declared = arm.reads if isinstance(arm, DeclaredArm) else None
        known = (f.name for f in dataclasses.fields(self.default_for(arm)))
        return field in known and (declared is None or field in declared)

    def arm(self, name: str | Arm) -> Arm:
        """The arm of this name (an arm itself passes through)."""
        if callable(name):
            return name
        return _pick("arm", name, {a.__name__: a for a in self.arms}, self.name)

    def default_for(self, arm: str | Arm | None) -> Spec:
        """The default numbers of an arm: of its own Spec if it declares one, else of the study."""
        chosen = None if arm is None else self.arm(arm)
        own = chosen.spec if isinstance(chosen, DeclaredArm) else None
        if own is None or own is type(self.spec):
            return self.spec
        return own()

    def presets_for(self, arm: str | Arm | None) -> dict[str, Spec]:
        """The presets that hold numbers for an arm, by name."""
        wanted = type(self.default_for(arm))
        found = {}
        for name, preset in self.presets.items():
            for spec in specs_of(preset):
                if type(spec) is wanted:
                    found[name] = spec
        return found

    def specify(
        self, preset: str | None = None, arm: str | Arm | None = None, **changes: Any
    ) -> Spec:
        """The default numbers of an arm, or its part of a preset, with changes.

        Without an arm, those of the arms that declare no Spec of their own.
        """
        start = self.default_for(arm) if preset is None else self._preset(preset, arm)
        try:
            return start.replace(**changes)
        except SpecError as error:
            raise SpecError(f"{self.name}: {error}") from None

    def _preset(self, name: str, arm: str | Arm | None) -> Spec:
        _pick("preset", name, self.presets, self.name)
        held = self.presets_for(arm)
        if name not in held:
            who = "the study as a whole" if arm is None else f"the arm {self.arm(arm).__name__}"
            raise SpecError(
                f'{self.name}: the preset "{name}" has no numbers for {who}. '
                f"Presets that do: {', '.join(held) or 'none'}."
            )
        return held[name]

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
        known = {f.name: f for f in self.figures} | {f.id: f for f in self.figures}
        return _pick("figure", id, known, self.name)


def specs_of(preset: Preset) -> tuple[Spec, ...]:
    """The Specs of a preset, one for each kind of arm that it speaks of."""
    return preset if isinstance(preset, tuple) else (preset,)


def _check_lists(study: Study) -> None:
    """What there are several of is a tuple, also of one, and claims are what `ps.claim` makes."""
    for what in ("arms", "claims", "figures"):
        several: Any = getattr(study, what)
        if not isinstance(several, Sequence) or isinstance(several, str):
            raise SpecError(
                f"{study.name}: its {what} are several, such as {what}=(one,), got {type(several).__name__}."
            )
    for one in study.claims:
        if not isinstance(one, Claim):
            name = getattr(one, "__name__", repr(one))
            raise SpecError(
                f"{study.name}: {name} is no claim: @ps.claim(...) before a function makes one of it."
            )


def _check_citation(study: Study) -> None:
    """A link leads to the web, and can do nothing else in a page."""
    if study.link and not study.link.startswith(("https://", "http://")):
        raise SpecError(
            f"{study.name}: the link of its paper begins with https://, got {study.link!r}."
        )


def _check_definitions(study: Study) -> None:
    """A field of one name is one field: of one type, one default, one range and one meaning."""
    known: dict[str, tuple[str, Any]] = {}
    for spec in study.defaults:
        cls = type(spec)
        for f in dataclasses.fields(spec):
            definition = (field_types(cls)[f.name], getattr(spec, f.name), dict(f.metadata))
            where, first = known.setdefault(f.name, (cls.__name__, definition))
            if first != definition:
                raise SpecError(
                    f'{study.name}: "{f.name}" is one field in {where} and another in {cls.__name__}: '
                    "define it once, in a class that both extend, or give it two names."
                )


def _check_presets(study: Study) -> None:
    """A preset has one Spec at most for each kind of arm, none for others, and one value for each field."""
    known = [type(spec) for spec in study.defaults]
    for name, preset in study.presets.items():
        classes = [type(spec) for spec in specs_of(preset)]
        for cls in classes:
            if cls not in known:
                raise SpecError(
                    f'{study.name}: the preset "{name}" is of {cls.__name__}, which no arm takes: '
                    f"arms take {', '.join(c.__name__ for c in known)}."
                )
        if len(set(classes)) < len(classes):
            raise SpecError(f'{study.name}: the preset "{name}" has two Specs of one class.')
        values: dict[str, Any] = {}
        for spec in specs_of(preset):
            for field, value in spec.to_json().items():
                if values.setdefault(field, value) != value:
                    raise SpecError(
                        f'{study.name}: the preset "{name}" has {field}={values[field]} for some arms and '
                        f"{field}={value} for others: make two presets of it."
                    )


def _pick(kind: str, name: str, known: Mapping[str, T], study: str) -> T:
    if not isinstance(name, str):
        raise SpecError(f"{study}: the name of its {kind} is a word, got {kind}={name!r}.")
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

    **Raises:** `StudyNotFound` if there is none of that name, `StudyBroken` if it does not load.
    """
    if isinstance(study, Study):
        return study
    study = _name_or_path(study)
    if study.endswith(".py") or "/" in study:
        return _from_file(Path(study))
    points = installed()
    if study not in points:
        raise StudyNotFound(f'there is no study "{study}". {nearest(study, points)}')
    return _load(study, owner(points[study]))


def _name_or_path(study: Any) -> str:
    """What was given for a study, as a word; the path of a file may be a `Path`."""
    if isinstance(study, Path):
        return str(study) if study.suffix == ".py" else f"{study.parent}/{study.name}"
    if not isinstance(study, str) or not study:
        raise SpecError(
            f"a study is the name of an installed one, the path of a file, or a Study, got {study!r}."
        )
    return study


@functools.cache
def _load(name: str, package: str) -> Study:
    point = installed()[name]
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:
        raise StudyBroken(
            f'the study "{name}" of {package} is broken: {said_with_place(error)}.'
        ) from error
    if not isinstance(loaded, Study) or loaded.name != name:
        raise StudyBroken(
            f'the entry point "{name}" of {package} must give a Study of that name, got {loaded!r:.80}.'
        )
    return loaded


def _from_file(path: Path) -> Study:
    """The study that a plain file holds."""
    found = [x for x in vars(module_in(path)).values() if isinstance(x, Study)]
    if len(found) != 1:
        raise StudyBroken(f"{path.resolve()} must hold exactly one Study, found {len(found)}.")
    return found[0]
