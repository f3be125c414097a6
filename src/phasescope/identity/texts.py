"""The text of a function and of what it calls, and nothing else: equal on every machine and in every version of Python."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from typing import Any

from .digest import sha256
from .modules import is_core
from .objects import plain_function
from .references import dotted_names
from .source import Unidentified, definition_of, normalised, without_decorators

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def text_digest(function: types.FunctionType) -> str:
    """The digest of a function's text, of the functions that it calls, and of the constants that they name.

    Decorators do not count, nor do classes, libraries and the core, which are known by the names in the text. So what
    a check is held against, and where that is kept, is no part of its digest.

    Raises `Unidentified` for a function without a text.
    """
    found: dict[int, str] = {}
    left = [function]
    alive = []  # what was seen must not be freed, or its id would be used again
    while left:
        one = left.pop()
        if id(one) in found:
            continue
        alive.append(one)
        definition = definition_of(one.__code__)
        if definition is None:
            raise Unidentified(f"{one.__qualname__} has no text")
        node = without_decorators(definition[1])
        constants = []
        for name, value in _named(node, one.__globals__):
            called = plain_function(getattr(value, "check", value))
            if called is not None and _is_own(called, function):
                left.append(called)
            elif _is_plain(value):
                constants.append(f"{name}={_text(value)}")
        found[id(one)] = sha256([one.__qualname__, normalised(node), *sorted(constants)])
    return sha256(sorted(found.values()))


def _is_own(called: types.FunctionType, function: types.FunctionType) -> bool:
    """Whether it is of the same package, and not of the core."""
    here = function.__module__.partition(".")[0]
    return called.__module__.partition(".")[0] == here and not is_core(called.__module__)


def _named(node: ast.AST, scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What the dotted names of a text stand for, as far as they are found in modules."""
    for first, *rest in dotted_names(node):
        if first not in scope:
            continue
        value = scope[first]
        while rest and isinstance(value, types.ModuleType):
            value = getattr(value, rest.pop(0), None)
        yield first, value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(part) for item in value.items() for part in item)
    return isinstance(value, _PLAIN)


def _text(value: Any) -> str:
    """A plain value; a number with a source is its number."""
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, tuple | list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"[{','.join(f'{_text(k)}:{_text(v)}' for k, v in value.items())}]"
    return repr(value)
