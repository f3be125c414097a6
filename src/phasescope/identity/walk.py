"""A walk over everything that an arm can reach: definitions are noted with what they refer to."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import fractions
import functools
import importlib
import importlib.util
import pathlib
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .digest import joined, sha256
from .modules import CORE, is_core, is_engine, is_loose, is_model, module_of
from .objects import (
    array_text,
    bytecode_text,
    held_by,
    is_transparent,
    name_in_library,
    plain_function,
)
from .references import (
    all_codes,
    dotted_names,
    global_names,
    imports_inside,
    names_of_types,
    names_outside,
)
from .source import Definition, Source, Unidentified, definition_of, sources, text_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_GENERATED = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}


class Walk:
    """One walk over everything that a function can reach."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages
        self.parts: dict[str, str] = {}
        self.sources: dict[str, Source] = {}
        self._seen: dict[int, str] = {}
        self._alive: list[
            Any
        ] = []  # what was seen must not be freed, or its id would be used again

    def counts(self, module: str) -> bool:
        """Whether code of this module is read, rather than known by its name."""
        return module.partition(".")[0] in self.packages or is_loose(module)

    def value(self, x: Any, lenient: bool = False) -> str:
        """What a value is, as text: equal in every process in which it is the same.

        `lenient`: inside a library, what cannot be identified is known by its type.
        """
        if isinstance(x, _PLAIN):
            return f"{type(x).__name__}:{x!r}"
        if id(x) in self._seen:
            return self._seen[id(x)]
        self._alive.append(x)
        self._seen[id(x)] = f"again:{type(x).__name__}"  # a value that contains itself
        found = self._identify(x, lenient)
        self._seen[id(x)] = found
        return found

    def _identify(self, x: Any, lenient: bool) -> str:
        each = functools.partial(self.value, lenient=lenient)
        if isinstance(x, types.ModuleType):
            return self._module(x)
        if isinstance(x, types.FunctionType):
            return self._function(x, lenient)
        if isinstance(x, type):
            return self._class(x)
        if isinstance(x, types.MethodType):
            return joined("method", each(x.__func__), each(x.__self__))
        if isinstance(x, functools.partial):
            return joined("partial", each(x.func), each(x.args), each(x.keywords))
        if isinstance(x, property | staticmethod | classmethod | functools.cached_property):
            inner = (
                x.fget
                if isinstance(x, property)
                else getattr(x, "func", getattr(x, "__func__", None))
            )
            return joined(type(x).__name__, each(inner))
        if typing.get_origin(x) is not None:
            return joined("type", each(typing.get_origin(x)), *map(each, typing.get_args(x)))
        if isinstance(x, typing.TypeVar | typing.ParamSpec | typing.ForwardRef | typing.NewType):
            return f"type:{x!r}"
        if isinstance(x, enum.Enum):
            return joined("enum", each(type(x)), x.name)
        if isinstance(x, Mapping):
            items = sorted((each(k), each(v)) for k, v in x.items())
            return joined("mapping", *(part for item in items for part in item))
        if isinstance(x, set | frozenset):
            return joined("set", *sorted(map(each, x)))
        if isinstance(x, tuple | list):
            kind = each(type(x)) if hasattr(x, "_fields") else type(x).__name__
            return joined(kind, *map(each, x))
        if isinstance(x, np.generic | np.ndarray) or type(x).__module__.startswith("jaxlib"):
            array = array_text(x)
            if array is not None:
                return array
        if isinstance(x, re.Pattern | pathlib.PurePath | fractions.Fraction | np.dtype):
            return f"{type(x).__name__}:{x!r}"
        if dataclasses.is_dataclass(x) and (
            self.counts(type(x).__module__) or not hasattr(x, "__wrapped__")
        ):
            counted = [f for f in dataclasses.fields(x) if f.metadata.get("identity", True)]
            fields = [(f.name, each(getattr(x, f.name, None))) for f in counted]
            return joined("record", each(type(x)), *(part for field in fields for part in field))
        return self._other(x, lenient)

    def _other(self, x: Any, lenient: bool) -> str:
        """Callables of libraries by their name and what they wrap; objects of counted classes by their state."""
        wrapped = getattr(x, "__wrapped__", None)
        name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
        if wrapped is not None:
            return joined("wrapped", type(x).__name__, self.value(wrapped, lenient))
        if callable(x) and isinstance(name, str):
            return f"library:{getattr(x, '__module__', '')}.{name}"
        if self.counts(type(x).__module__) and hasattr(x, "__dict__"):
            return joined("object", self.value(type(x)), self.value(vars(x), lenient))
        known = name_in_library(x)
        if known or lenient:
            return f"library:{known or type(x).__qualname__}"
        raise Unidentified(
            f"it refers to a {type(x).__module__}.{type(x).__qualname__}, which has no identity"
        )

    def _module(self, module: types.ModuleType) -> str:
        """A module that is used as a value: all of it counts."""
        if not self.counts(module.__name__) or is_engine(module.__name__):
            return f"library:{module.__name__}"
        file = getattr(module, "__file__", None)
        source = next(sources(file), None) if file else None
        if source is None:
            raise Unidentified(f"the module {module.__name__} has no source")
        self.sources[source.name] = source
        text = text_of(source.tree)
        self._record(
            module.__name__,
            module.__name__,
            text,
            self._references(source.tree, None, vars(module)),
        )
        return joined("module", sha256([text]))

    def _function(self, function: types.FunctionType, lenient: bool) -> str:
        code = function.__code__
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None and is_transparent(function):
            return self.value(wrapped, lenient)
        module = module_of(code.co_filename, function.__module__)
        held = held_by(function)
        if not self.counts(module):
            own = [
                self.value(v, lenient=True) for _, v in held if not isinstance(v, types.ModuleType)
            ]
            inner = [] if wrapped is None else [self.value(wrapped, lenient=True)]
            return joined(f"library:{function.__module__}.{function.__qualname__}", *own, *inner)
        if is_engine(module):
            return f"library:{CORE}.{function.__qualname__}"
        found = definition_of(code)
        scope = function.__globals__
        if found is None:
            text = bytecode_text(code)
            refers = self._names_in(code, scope)
        else:
            source, node = found
            self.sources[source.name] = source
            text = text_of(node)
            refers = self._references(node, code, scope)
        name = f"{module}:{function.__qualname__}"
        own = [f"{n}={self.value(v)}" for n, v in held]
        return joined("function", self._record(module, name, text, [*own, *refers]))

    def _class(self, cls: type) -> str:
        if not self.counts(cls.__module__):
            return f"library:{cls.__module__}.{cls.__qualname__}"
        if is_engine(cls.__module__):
            return f"library:{CORE}.{cls.__qualname__}"
        scope = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        node = self._classjoined(cls)
        if node is None:  # typed in, without a text: by what it has
            return joined(
                "class", cls.__qualname__, *map(self.value, cls.__bases__), *self._members(cls)
            )
        text = text_of(node)
        refers = self._references(node, None, scope)
        return joined(
            "class",
            self._record(cls.__module__, f"{cls.__module__}:{cls.__qualname__}", text, refers),
        )

    def _classjoined(self, cls: type) -> ast.ClassDef | None:
        """The text of a class, from the file of its methods or of its module."""
        functions = [f for f in map(plain_function, vars(cls).values()) if f is not None]
        for function in functions:
            if not function.__code__.co_qualname.startswith(f"{cls.__qualname__}."):
                continue  # made by a decorator or by a base class
            found = definition_of(function.__code__)
            if found is not None:
                self.sources[found[0].name] = found[0]
                return found[0].class_definition(cls.__qualname__)
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        for source in sources(file) if file else ():
            node = source.class_definition(cls.__qualname__)
            if node is not None:
                self.sources[source.name] = source
                return node
        return None

    def methods(self, cls: type) -> None:
        """What a class does; not its fields, whose values are part of what was asked."""
        for part in self._members(cls):
            self.parts[f"spec:{cls.__qualname__}:{sha256([part])[:16]}"] = sha256([part])

    def _members(self, cls: type) -> list[str]:
        members = []
        for name, member in sorted(vars(cls).items()):
            function = plain_function(member)
            if (
                function is None
                or name in _GENERATED
                or function.__code__.co_filename == "<string>"
            ):
                continue
            members.append(joined("member", name, self.value(function)))
        return members

    def _record(self, module: str, name: str, text: str, refers: Iterable[str]) -> str:
        """Note a definition with what it refers to; returns what others may call it by."""
        own = sha256([text])
        kind = "core" if is_core(module) and not is_model(module) else "own"
        part = sha256([text, *sorted(set(refers))])
        self.parts[f"{kind}:{name}:{part[:16]}"] = part
        return own

    def _references(
        self, node: Definition, code: types.CodeType | None, scope: Mapping[str, Any]
    ) -> list[str]:
        """The global names and dotted names that a text refers to, each with what it stands for."""
        wanted = None if code is None else global_names(code) | names_outside(node)
        found = []
        types_only = names_of_types(node)
        for chain in dotted_names(node):
            if (wanted is None or chain[0] in wanted) and chain[0] in scope:
                if chain in types_only and not self._is_own_type(scope[chain[0]], chain[1:]):
                    continue
                name = ".".join(chain)
                try:
                    found.append(f"{name}={self._resolved(scope[chain[0]], chain[1:])}")
                except Unidentified as error:
                    raise Unidentified(f"{error} (as {name})") from None
        for module, name in imports_inside(node):
            found.append(f"{module}.{name}={self._imported(module, name, scope)}")
        return found

    def _is_own_type(self, x: Any, rest: tuple[str, ...]) -> bool:
        """Whether a name in an annotation stands for a class whose code counts.

        Types of libraries are known by the text of the annotation alone: jax 0.10 and 0.11 give `Array` other names.
        """
        for name in rest:
            x = getattr(x, name, None)
        return isinstance(x, type) and self.counts(x.__module__)

    def _resolved(self, x: Any, rest: tuple[str, ...]) -> str:
        """What a dotted name stands for; names inside a library stand for themselves."""
        while isinstance(x, types.ModuleType) and rest:
            if not self.counts(x.__name__):
                return f"library:{x.__name__}.{'.'.join(rest)}"
            if not hasattr(x, rest[0]):
                return "missing"
            x, rest = getattr(x, rest[0]), rest[1:]
        return self.value(x)

    def _imported(self, module: str, name: str, scope: Mapping[str, Any]) -> str:
        """What an import inside a function brings."""
        package = scope.get("__package__") or ""
        full = importlib.util.resolve_name(module, package) if module.startswith(".") else module
        if not self.counts(full):
            return f"library:{full}.{name}"
        return self._resolved(importlib.import_module(full), (name,) if name else ())

    def _names_in(self, code: types.CodeType, scope: Mapping[str, Any]) -> list[str]:
        """The same for code without a text: attributes of modules are taken for each name it knows."""
        found = []
        names = sorted({name for inner in all_codes(code) for name in inner.co_names})
        for name in sorted(global_names(code)):
            x = scope.get(name, builtins)
            if isinstance(x, types.ModuleType) and x is not builtins:
                used = [n for n in names if n in vars(x) or n in getattr(x, "__all__", ())]
                found += [f"{name}.{n}={self._resolved(x, (n,))}" for n in used]
            elif x is not builtins:
                found.append(f"{name}={self.value(x)}")
        return found
