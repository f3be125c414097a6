"""Values as they are written on a command line: one, several, or a range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import SpecError
from ..spec import Spec, parse_value


def axes(spec: Spec, words: Iterable[str]) -> dict[str, Any]:
    """`field=a,b,c` and `field=lo:hi:n[:log]` are axes, `field=value` is one value."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise SpecError(f'"{word}" is not of the form field=value, field=a,b,c or field=lo:hi:n[:log].')
        if name in values:
            raise SpecError(f"{name} is given twice: {name}={text} comes after another value of it.")
        if ":" in text:
            values[name] = [parse_value(spec, name, _number(x)) for x in axis(text, name)]
        elif "," in text:
            values[name] = [parse_value(spec, name, x) for x in text.split(",") if x]
        else:
            values[name] = parse_value(spec, name, text)
    return values


def axis(text: str, name: str) -> list[float]:
    """Numbers from `a,b,c` or `lo:hi:n[:log]`."""
    try:
        if ":" not in text:
            return [_not_nan(float(x)) for x in text.split(",") if x]
        low, high, count, *log = text.split(":")
        if log not in ([], ["log"]):
            raise ValueError(text)
        spaced = np.geomspace if log else np.linspace
        return [_not_nan(float(x)) for x in spaced(float(low), float(high), int(count))]
    except ValueError:
        raise SpecError(f"{name}={text} is neither numbers a,b,c nor a range lo:hi:n or lo:hi:n:log.") from None


def _not_nan(x: float) -> float:
    if math.isnan(x):
        raise ValueError("nan is not a number")
    return x


def _number(x: float) -> str:
    return str(int(x)) if x.is_integer() else repr(x)
