"""Values as they are written on a command line: one, several, or a range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..claims.tied import Tied, tied
from ..errors import SpecError, nearest
from ..spec import Spec, Value, field_types, kind_words

MOST_VALUES = 10**7  # in a range that is written on a command line


def parse(spec: Spec, assignments: Sequence[str]) -> dict[str, Value]:
    """Read `field=value` words against the fields of `spec`; the values are typed and in range."""
    changes: dict[str, Value] = {}
    for word in assignments:
        name, equals, text = word.partition("=")
        if not equals:
            raise SpecError(f'"{word}" is not of the form field=value, as in eta=0.1.')
        if name in changes:
            raise SpecError(
                f"{name} is given twice: {name}={text} comes after another value of it."
            )
        changes[name] = parse_value(spec, name, text)
    spec.replace(**changes)
    return changes


def parse_value(spec: Spec, name: str, text: str) -> Value:
    """One value of the field `name`, from its text at the edge."""
    kinds = field_types(type(spec))
    if name not in kinds:
        raise SpecError(f'there is no field "{name}". {nearest(name, kinds)}')
    text = text.strip()
    if type(None) in kinds[name] and text.lower() in ("none", "auto"):
        return None
    for kind in kinds[name]:
        if kind is bool and text.lower() in ("true", "false", "yes", "no", "1", "0"):
            return text.lower() in ("true", "yes", "1")
        if kind is str:
            return text
        if kind in (int, float):
            try:
                return _whole(text) if kind is int else float(text)
            except (ValueError, OverflowError):
                continue
    raise SpecError(f"{name} must be {kind_words(kinds[name])}, got {name}={text}.")


def _whole(text: str) -> int:
    """An integer, also written as 1e4; large ones keep all their digits."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


def axes(spec: Spec, words: Iterable[str]) -> dict[str, Any]:
    """`field=a,b,c` and `field=lo:hi:n[:log]` are axes, `field=value` is one value."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise SpecError(
                f'"{word}" is not of the form field=value, field=a,b,c or field=lo:hi:n[:log].'
            )
        if name in values:
            raise SpecError(
                f"{name} is given twice: {name}={text} comes after another value of it."
            )
        if ":" in text:
            values[name] = [parse_value(spec, name, _number(x)) for x in axis(text, name)]
        elif "," in text:
            values[name] = [parse_value(spec, name, x) for x in text.split(",") if x]
        else:
            values[name] = parse_value(spec, name, text)
    return values


def take_tied(groups: Sequence[str], values: dict[str, Any]) -> list[Tied]:
    """What `--tied dim,m0` ties, taken out of the values that were given as `dim=10,20 m0=0.3,0.2`."""
    found = []
    for group in groups:
        names = [name.strip() for name in group.split(",") if name.strip()]
        for name in names:
            if not isinstance(values.get(name), list):
                raise SpecError(
                    f"--tied {group}: give several values of {name}, as in {name}=1,2, got "
                    f"{values.get(name, 'none')}."
                )
        found.append(tied(**{name: values.pop(name) for name in dict.fromkeys(names)}))
    return found


def names(text: str | None) -> list[str] | None:
    """Words from `a,b,c`; None if nothing was given."""
    if text is None:
        return None
    return [word.strip() for word in text.split(",") if word.strip()]


def axis(text: str, name: str) -> list[float]:
    """Numbers from `a,b,c` or `lo:hi:n[:log]`."""
    try:
        if ":" not in text:
            return [_not_nan(float(x)) for x in text.split(",") if x]
        low, high, count, *log = text.split(":")
        if log not in ([], ["log"]):
            raise ValueError(text)
        spaced = np.geomspace if log else np.linspace
        if int(count) > MOST_VALUES:
            raise SpecError(
                f"{name}={text} has {int(count)} values; a range has {MOST_VALUES} at most."
            )
        return [_not_nan(float(x)) for x in spaced(float(low), float(high), int(count))]
    except SpecError:
        raise
    except ValueError:
        raise SpecError(
            f"{name}={text} is neither numbers a,b,c nor a range lo:hi:n or lo:hi:n:log."
        ) from None


def _not_nan(x: float) -> float:
    if math.isnan(x):
        raise ValueError("nan is not a number")
    return x


def _number(x: float) -> str:
    return str(int(x)) if x.is_integer() else repr(x)
