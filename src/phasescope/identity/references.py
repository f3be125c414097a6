"""What code refers to: global names, dotted names, imports inside functions."""

from __future__ import annotations

import ast
import dis
import functools
import types
from collections.abc import Iterable, Iterator

from .source import Definition

_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"}
_ANNOTATIONS = {"annotation", "returns"}


@functools.cache
def dotted_names(node: ast.AST) -> list[tuple[str, ...]]:
    """Dotted names as far as they are written out: `data.lengths` of `data.lengths(spec)[0]`."""
    return sorted(_chains(ast.walk(node)))


@functools.cache
def names_of_types(node: ast.AST) -> set[tuple[str, ...]]:
    """The dotted names that stand in annotations and nowhere else."""
    return set(dotted_names(node)) - _chains(_without_annotations(node))


def _without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name not in _ANNOTATIONS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _without_annotations(child)


def _chains(parts: Iterable[ast.AST]) -> set[tuple[str, ...]]:
    found = set()
    inner = set()
    for part in parts:
        chain = _dotted(part)
        if chain and id(part) not in inner:
            found.add(chain)
        while isinstance(part, ast.Attribute):
            part = part.value
            inner.add(id(part))
    return found


def _dotted(node: ast.AST) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


@functools.cache
def imports_inside(node: ast.AST) -> list[tuple[str, str]]:
    """Imports inside a function, as (module, name)."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.ImportFrom) and not isinstance(node, ast.Module):
            module = "." * part.level + (part.module or "")
            found |= {(module, alias.name) for alias in part.names}
        elif isinstance(part, ast.Import) and not isinstance(node, ast.Module):
            found |= {(alias.name, "") for alias in part.names}
    return sorted(found)


@functools.cache
def names_outside(node: Definition) -> set[str]:
    """Names in decorators and default arguments, which are evaluated where the function is defined."""
    outer: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        outer += [part for decorator in node.decorator_list for part in _code_of(decorator)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        outer += [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    return {part.id for x in outer for part in ast.walk(x) if isinstance(part, ast.Name)}


def _code_of(decorator: ast.expr) -> list[ast.expr]:
    """The parts of a decorator, without the Spec class of an arm: its numbers are what was asked."""
    if not isinstance(decorator, ast.Call) or _dotted(decorator.func)[-1:] != ("arm",):
        return [decorator]
    given = [keyword.value for keyword in decorator.keywords if keyword.arg != "spec"]
    return [decorator.func, *decorator.args, *given]


@functools.lru_cache(maxsize=4096)
def global_names(code: types.CodeType) -> frozenset[str]:
    """The global names that code and the functions inside it read."""
    instructions = (i for inner in all_codes(code) for i in dis.get_instructions(inner))
    return frozenset(i.argval for i in instructions if i.opname in _LOADS)


def all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_codes(constant)
