"""The text of code as it was loaded.

A function that runs was loaded from a text that may have been edited since. A text is believed
only if it compiles to the code that was loaded; once it has been read it is remembered, so that a
later edit of the file changes nothing here (and can be told).
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import importlib.util
import inspect
import linecache
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path

# Parts of a syntax tree that cannot change what is computed.
_NOT_CODE = {"type_comment", "kind", "ctx", "returns", "type_ignores"}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_HAS_DOCSTRING = getattr(inspect, "CO_HAS_DOCSTRING", 0)  # Python 3.13 and later

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Unidentified(Exception):
    """Code or a value of which nobody can say whether it is the same in another process."""


@dataclasses.dataclass(frozen=True)
class Source:
    """The text of one file, or of one cell of a notebook, with the code that it compiles to."""

    name: str
    tree: ast.Module
    codes: dict[str, list[types.CodeType]]
    nodes: dict[tuple[str, int], list[Definition]]
    stamp: tuple[int, int] | None  # of the file when it was read; None for what has no file

    def definition(self, code: types.CodeType) -> Definition | None:
        """The part of the text that compiles to `code`, or None."""
        for found in self.codes.get(code.co_qualname, []):
            if same_code(found, code):
                return self._node(found)
        return None

    def class_definition(self, qualname: str) -> ast.ClassDef | None:
        """The last class of this name; local ones are called `function.<locals>.Name`."""
        for code in reversed(self.codes.get(qualname, [])):
            node = self._node(code)
            if isinstance(node, ast.ClassDef):
                return node
        return None

    def _node(self, code: types.CodeType) -> Definition | None:
        return _that_compiled_to(code, self.nodes.get((code.co_name, code.co_firstlineno), []))

    def is_edited(self) -> bool:
        """Whether the file now holds other code; comments and docstrings do not count."""
        if self.stamp is None or _stamp(self.name) == self.stamp:
            return False
        try:
            now = ast.parse(_text(self.name) or "")
        except (SyntaxError, ValueError):
            return True
        return normalised(now) != normalised(self.tree)


_read: dict[str, list[Source]] = {}
_found: dict[int, tuple[types.CodeType, tuple[Source, Definition] | None]] = {}


def sources(name: str) -> Iterator[Source]:
    """The present text of a file, then those that were read before, the newest first."""
    known = _read.setdefault(name, [])
    stamp = _stamp(name)
    if not any(source.stamp == stamp for source in known):
        fresh = _load(name, stamp)
        if fresh is not None:
            known.append(fresh)
    yield from reversed(known)


NOBODYS = (
    "<string>"  # what any text is called that is not a file: the one that is known may be another's
)


def definition_of(code: types.CodeType) -> tuple[Source, Definition] | None:
    """The text that `code` was loaded from; None if it never had one.

    The answer for a code object never changes: an edit of the file does not edit what was loaded.
    Raises `Unidentified` if there is a text, but it holds other code than was loaded.
    """
    if id(code) not in _found:
        _found[id(code)] = (code, _search(code))  # with the code, so that its id is not used again
    return _found[id(code)][1]


def _search(code: types.CodeType) -> tuple[Source, Definition] | None:
    seen = False
    for source in sources(code.co_filename):
        seen = True
        node = source.definition(code)
        if node is not None:
            return source, node
    if seen and code.co_filename != NOBODYS:
        raise Unidentified(
            f"{code.co_qualname} in {code.co_filename} was edited after it was loaded"
        )
    return None


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects do the same; lines, files and docstrings do not count."""
    same_names = (
        a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
    )
    if a.co_code != b.co_code or not same_names:
        return False
    first, second = _constants(a), _constants(b)
    return len(first) == len(second) and all(map(_same_constant, first, second))


@functools.cache
def text_of(definition: Definition) -> str:
    """`normalised`, remembered for each definition."""
    return normalised(definition)


def without_decorators(definition: Definition) -> Definition:
    """The same definition, undecorated; a lambda has no decorators."""
    bare = copy.copy(definition)
    if isinstance(bare, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        bare.decorator_list = []
    return bare


def normalised(node: object) -> str:
    """A syntax tree as text, without positions, comments, docstrings and annotations of arguments."""
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__}:{node.value!r}"
    if isinstance(node, ast.AST):
        fields = (f"{name}={normalised(value)}" for name, value in _fields(node))
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(normalised, node))}]"
    return repr(node)


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    for name, value in ast.iter_fields(node):
        if name in _NOT_CODE or (name == "annotation" and isinstance(node, ast.arg)):
            continue
        if name == "body" and isinstance(node, _DOCUMENTED):
            value = value[1:] if ast.get_docstring(node, clean=False) is not None else value
        if value is not None and value != []:
            yield name, value


def _constants(code: types.CodeType) -> list[object]:
    """The constants, without a docstring."""
    constants = list(code.co_consts)
    if _HAS_DOCSTRING:
        documented = bool(code.co_flags & _HAS_DOCSTRING)
    else:  # the first constant is the docstring or None
        documented = bool(constants) and isinstance(constants[0], str | None)
    return constants[1:] if documented else constants


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return same_code(a, b)
    return type(a) is type(b) and repr(a) == repr(b)


def _stamp(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _text(name: str) -> str | None:
    """The text of a file, or of a cell that an interactive session remembers."""
    try:
        return importlib.util.decode_source(Path(name).read_bytes())
    except (OSError, UnicodeDecodeError, SyntaxError):
        return "".join(linecache.getlines(name)) or None


def _load(name: str, stamp: tuple[int, int] | None) -> Source | None:
    text = _text(name)
    if text is None:
        return None
    try:
        tree = ast.parse(text)
        module = _compiled(name, text)
    except (SyntaxError, ValueError):
        return None
    codes: dict[str, list[types.CodeType]] = {}
    for code in _nested(module):
        codes.setdefault(code.co_qualname, []).append(code)
    return Source(name, tree, codes, _index(tree), stamp)


def _compiled(name: str, text: str) -> types.CodeType:
    """The text compiled as it was when it was loaded: a loader may have put decorators into it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == name:
            compiler = getattr(getattr(module, "__loader__", None), "source_to_code", None)
            if compiler is not None:
                return compiler(text.encode(), name)
    return compile(text, name, "exec", dont_inherit=True)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _nested(constant)


def _index(tree: ast.Module) -> dict[tuple[str, int], list[Definition]]:
    """Definitions by their name and first line, as code objects have them."""
    found: dict[tuple[str, int], list[Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.setdefault((node.name, first), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
    return found


def _that_compiled_to(code: types.CodeType, nodes: list[Definition]) -> Definition | None:
    """Which of several definitions that begin on one line: the one that holds the instructions."""
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    spans = set()
    for line, end_line, column, end_column in code.co_positions():
        if None not in (line, end_line, column, end_column) and column != end_column:
            spans.add((line, column, end_line, end_column))
    for node in nodes:
        body = node.body if isinstance(node, ast.Lambda) else node
        assert isinstance(body, ast.expr | ast.stmt)
        if (body.lineno, body.col_offset, body.end_lineno, body.end_col_offset) in spans:
            return node
    raise Unidentified(f"{code.co_qualname}: line {code.co_firstlineno} holds several functions")
