"""The installed studies as JSON: their arms, presets and fields, from what the Specs say of themselves."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ..discovery import installed
from ..engine.calls import total_work
from ..errors import StudyNotFound, nearest
from ..plan.dynamics import descent
from ..plan.plan import Arm, fields_read
from ..report.mathematics import formula
from ..spec import Spec, field_types
from ..study import Study, find
from .wire import plain

MOST_STEPS = 20_000  # of a reduction that answers at once


def by_name(name: Any) -> Study:
    """An installed study; the path of a file is no name, and nothing else is ever loaded."""
    known = _names()
    if not isinstance(name, str) or name not in known:
        raise StudyNotFound(
            f'there is no study "{str(name)[:100]}". {nearest(str(name)[:100], known)}'
        )
    return _loaded(name)


@functools.cache
def _names() -> tuple[str, ...]:
    """What was installed when the page was started: to look through all packages takes longer than many a run."""
    return tuple(installed())


@functools.cache
def _loaded(name: str) -> Study:
    return find(name)


def installed_studies() -> list[Study]:
    """All installed studies; a broken one is left out, with a warning that names it."""
    found = []
    for name in _names():
        try:
            found.append(_loaded(name))
        except Exception as problem:
            warnings.warn(f"{problem} It is left out.", stacklevel=2)
    return found


def described(study: Study, is_quick: Callable[[Study, Arm], bool]) -> dict[str, Any]:
    """A study for the page; `is_quick` says of an arm whether it answers while a slider moves."""
    paper = study.paper.partition(". ")
    return {
        "name": study.name,
        "title": plain(paper[0] or study.name),
        "paper": plain(study.paper),
        "arms": [_arm(study, arm) | {"quick": is_quick(study, arm)} for arm in study.arms],
        "claims": len(study.claims),
    }


def _arm(study: Study, arm: Arm) -> dict[str, Any]:
    spec = study.default_for(arm)
    presets = study.presets_for(arm)
    read = fields_read(arm, spec)
    kinds = field_types(type(spec))
    fields = [f for f in dataclasses.fields(spec) if f.name in read]
    return {
        "name": arm.__name__,
        "doc": plain((inspect.getdoc(arm) or "").partition("\n")[0]),
        "presets": [
            {"name": name, "values": plain(numbers.to_json())} for name, numbers in presets.items()
        ],
        "fields": [_field(f, kinds[f.name], spec) for f in fields],
    }


def may_be_quick(arm: Arm, spec: Spec) -> bool:
    """Whether it is worth trying if an arm answers while a slider moves: no training, and not very many steps."""
    try:
        plan = arm(spec)
        trains = any(isinstance(stage.dynamics, descent) for stage in plan.stages)
        steps = all(stage.dynamics.divisible for stage in plan.stages)
        return not trains and not (steps and total_work(plan) > MOST_STEPS)
    except Exception:  # a stranger's arm: the lab says what is wrong when it is asked for
        return False


def field_described(spec: Spec, name: str) -> dict[str, Any]:
    """What a control of one field needs to know; `default` is its value in these numbers."""
    field = next(f for f in dataclasses.fields(spec) if f.name == name)
    return _field(field, field_types(type(spec))[name], spec)


def _field(field: dataclasses.Field[Any], kinds: tuple[type, ...], spec: Spec) -> dict[str, Any]:
    said = field.metadata
    default = spec.to_json()[field.name]
    low, high = (
        next((said[word] for word in words if said.get(word) is not None), None)
        for words in (("at_least", "above"), ("at_most", "below"))
    )
    return {
        "name": field.name,
        "symbol": said.get("symbol", ""),
        "mathml": str(formula(said.get("symbol", ""))),
        "meaning": said.get("doc", ""),
        "unit": said.get("unit", ""),
        "type": _type(kinds, bool(said.get("choices"))),
        "optional": type(None) in kinds,
        "default": plain(default),
        "low": plain(low),
        "high": plain(high),
        "log": _is_logarithmic(default, low, high),
        "choices": list(said.get("choices") or ()),
    }


def _type(kinds: tuple[type, ...], has_choices: bool) -> str:
    if has_choices:
        return "choice"
    for kind, word in ((float, "float"), (bool, "bool"), (int, "int")):
        if kind in kinds:
            return word
    return "text"


def _is_logarithmic(default: Any, low: Any, high: Any) -> bool:
    """A positive number without an upper bound, or over two decades, is best moved on a logarithmic slider."""
    if not isinstance(default, int | float) or isinstance(default, bool) or default <= 0:
        return False
    if low is None or low < 0:
        return False
    return high is None or high / max(low, default / 100) > 100
