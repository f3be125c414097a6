"""The fingerprint of an arm: all code and all values that can change the digits of its runs.

It is found by walking from the arm's function: its syntax tree as it was loaded, the values that its
closure holds, its default arguments, and every global name that it refers to, in turn. Code of the
interpreter and of installed libraries is known by its name (their versions are part of a run's
provenance); code of the user, of phasescope and of every package that offers a study is read.
Comments, docstrings, the order of definitions and the files they stand in do not count.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import dis
import enum
import fractions
import functools
import hashlib
import importlib
import importlib.util
import pathlib
import pkgutil
import re
import site
import sys
import sysconfig
import threading
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..discovery import installed
from .source import Definition, Source, Unidentified, definition_of, sources, text_of

CORE = "phasescope"
STUDIES = "phasescope.studies"
# Packages and modules of the core that every run goes through. They count as a whole, for every arm.
ENGINE = ("spec", "plan", "engine", "records")
# Modules in them that cannot change a number.
NOT_ENGINE = ("engine.cache", "engine.scoped", "records.recorded", "records.names")
# Decorators that check types while tests run; they compute nothing.
_TRANSPARENT = ("jaxtyping", "beartype")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"}
# Blocks of a sweep are named by threads, and two that read source at once make Python 3.11 raise SystemError.
_ONE_AT_A_TIME = threading.RLock()
_GENERATED = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """What was found: a digest for each definition, by name, and the texts that they came from.

    `digest` names the code of a run. `model` leaves phasescope's own core out: it is the same as
    long as the study's code is.
    """

    parts: Mapping[str, str]
    sources: tuple[Source, ...]

    @functools.cached_property
    def digest(self) -> str:
        return _sha(["code", engine_digest(), *sorted(self.parts.values())])

    @functools.cached_property
    def model(self) -> str:
        own = (part for name, part in self.parts.items() if not name.startswith("core:"))
        return _sha(["model", *sorted(own)])

    def edited(self) -> list[str]:
        """Files whose code was edited after it was loaded: what runs is what was loaded."""
        with _ONE_AT_A_TIME:
            return sorted(source.name for source in self.sources if source.is_edited())


def fingerprint(arm: Any, spec: type | None = None) -> Fingerprint:
    """The fingerprint of an arm; of its Spec class, the methods and properties count.

    Raises `Unidentified` for an arm that refers to something of which nobody can say whether it is
    the same in another process.
    """
    with _ONE_AT_A_TIME:
        walk = _Walk(_packages_that_count(arm))
        walk.parts["root"] = _sha(["root", walk.value(arm)])
        for cls in spec.__mro__ if spec is not None else ():
            if walk.counts(cls.__module__) and not _is_engine(cls.__module__):
                walk.methods(cls)
        return Fingerprint(walk.parts, tuple(walk.sources.values()))


@functools.cache
def engine_digest() -> str:
    """The code of the core that every run goes through."""
    names = []
    for part in ENGINE:
        folder = getattr(importlib.import_module(f"{CORE}.{part}"), "__path__", None)
        inner = pkgutil.iter_modules(folder) if folder else ()
        names += [f"{CORE}.{part}", *(f"{CORE}.{part}.{module.name}" for module in inner)]
    files = [importlib.import_module(name).__file__ or "" for name in names if _is_engine(name)]
    return _sha(["engine", *sorted(text_of(next(sources(file)).tree) for file in files)])


class _Walk:
    """One walk over everything that a function can reach."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages
        self.parts: dict[str, str] = {}
        self.sources: dict[str, Source] = {}
        self._seen: dict[int, str] = {}
        self._alive: list[Any] = []  # what was seen must not be freed, or its id would be used again

    def counts(self, module: str) -> bool:
        """Whether code of this module is read, rather than known by its name."""
        return module.partition(".")[0] in self.packages or _is_loose(module)

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
        if isinstance(x, types.MethodType | functools.partial):
            return (
                _text("call", each(x.__func__), each(x.__self__))
                if isinstance(x, types.MethodType)
                else _text("partial", each(x.func), each(x.args), each(x.keywords))
            )
        if isinstance(x, property | staticmethod | classmethod | functools.cached_property):
            inner = x.fget if isinstance(x, property) else getattr(x, "func", getattr(x, "__func__", None))
            return _text(type(x).__name__, each(inner))
        if typing.get_origin(x) is not None:
            return _text("type", each(typing.get_origin(x)), *map(each, typing.get_args(x)))
        if isinstance(x, enum.Enum):
            return _text("enum", each(type(x)), x.name)
        if isinstance(x, Mapping):
            items = sorted((each(k), each(v)) for k, v in x.items())
            return _text("mapping", *(part for item in items for part in item))
        if isinstance(x, set | frozenset):
            return _text("set", *sorted(map(each, x)))
        if isinstance(x, tuple | list):
            kind = each(type(x)) if hasattr(x, "_fields") else type(x).__name__
            return _text(kind, *map(each, x))
        if isinstance(x, np.generic | np.ndarray) or type(x).__module__.startswith("jaxlib"):
            array = _array(x)
            if array is not None:
                return array
        if isinstance(x, re.Pattern | pathlib.PurePath | fractions.Fraction | np.dtype):
            return f"{type(x).__name__}:{x!r}"
        if dataclasses.is_dataclass(x) and (self.counts(type(x).__module__) or not hasattr(x, "__wrapped__")):
            fields = [(f.name, each(getattr(x, f.name, None))) for f in dataclasses.fields(x)]
            return _text("record", each(type(x)), *(part for field in fields for part in field))
        return self._other(x, lenient)

    def _other(self, x: Any, lenient: bool) -> str:
        """Callables of libraries by their name and what they wrap; objects of counted classes by their state."""
        wrapped = getattr(x, "__wrapped__", None)
        name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
        if wrapped is not None:
            return _text("wrapped", type(x).__name__, self.value(wrapped, lenient))
        if callable(x) and isinstance(name, str):
            return f"library:{getattr(x, '__module__', '')}.{name}"
        if self.counts(type(x).__module__) and hasattr(x, "__dict__"):
            return _text("object", self.value(type(x)), self.value(vars(x), lenient))
        known = _name_in_library(x)
        if known or lenient:
            return f"library:{known or type(x).__qualname__}"
        raise Unidentified(f"it refers to a {type(x).__module__}.{type(x).__qualname__}, which has no identity")

    def _module(self, module: types.ModuleType) -> str:
        """A module that is used as a value: all of it counts."""
        if not self.counts(module.__name__) or _is_engine(module.__name__):
            return f"library:{module.__name__}"
        file = getattr(module, "__file__", None)
        source = next(sources(file), None) if file else None
        if source is None:
            raise Unidentified(f"the module {module.__name__} has no source")
        self.sources[source.name] = source
        text = text_of(source.tree)
        self._record(module.__name__, module.__name__, text, self._references(source.tree, None, vars(module)))
        return _text("module", _sha([text]))

    def _function(self, function: types.FunctionType, lenient: bool) -> str:
        code = function.__code__
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None and _is_transparent(function):
            return self.value(wrapped, lenient)
        module = _module_of(code.co_filename, function.__module__)
        held = _held(function)
        if not self.counts(module):
            own = [self.value(v, lenient=True) for _, v in held if not isinstance(v, types.ModuleType)]
            inner = [] if wrapped is None else [self.value(wrapped, lenient=True)]
            return _text(f"library:{function.__module__}.{function.__qualname__}", *own, *inner)
        if _is_engine(module):
            return f"library:{CORE}.{function.__qualname__}"
        found = definition_of(code)
        scope = function.__globals__
        if found is None:
            text = _bytecode(code)
            refers = self._names_in(code, scope)
        else:
            source, node = found
            self.sources[source.name] = source
            text = text_of(node)
            refers = self._references(node, code, scope)
        name = f"{module}:{function.__qualname__}"
        own = [f"{n}={self.value(v)}" for n, v in held]
        return _text("function", self._record(module, name, text, [*own, *refers]))

    def _class(self, cls: type) -> str:
        if not self.counts(cls.__module__):
            return f"library:{cls.__module__}.{cls.__qualname__}"
        if _is_engine(cls.__module__):
            return f"library:{CORE}.{cls.__qualname__}"
        scope = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        node = self._class_text(cls)
        if node is None:  # typed in, without a text: by what it has
            return _text("class", cls.__qualname__, *map(self.value, cls.__bases__), *self._members(cls))
        text = text_of(node)
        refers = self._references(node, None, scope)
        return _text("class", self._record(cls.__module__, f"{cls.__module__}:{cls.__qualname__}", text, refers))

    def _class_text(self, cls: type) -> ast.ClassDef | None:
        """The text of a class, from the file of its methods or of its module."""
        functions = [f for f in map(_plain_function, vars(cls).values()) if f is not None]
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
            self.parts[f"spec:{cls.__qualname__}:{_sha([part])[:16]}"] = _sha([part])

    def _members(self, cls: type) -> list[str]:
        members = []
        for name, member in sorted(vars(cls).items()):
            function = _plain_function(member)
            if function is None or name in _GENERATED or function.__code__.co_filename == "<string>":
                continue
            members.append(_text("member", name, self.value(function)))
        return members

    def _record(self, module: str, name: str, text: str, refers: Iterable[str]) -> str:
        """Note a definition with what it refers to; returns what others may call it by."""
        own = _sha([text])
        kind = "core" if _is_core(module) else "own"
        part = _sha([text, *sorted(set(refers))])
        self.parts[f"{kind}:{name}:{part[:16]}"] = part
        return own

    def _references(self, node: Definition, code: types.CodeType | None, scope: Mapping[str, Any]) -> list[str]:
        """The global names and dotted names that a text refers to, each with what it stands for."""
        wanted = None if code is None else _global_names(code) | _outer_names(node)
        found = []
        for chain in _chains(node):
            if (wanted is None or chain[0] in wanted) and chain[0] in scope:
                name = ".".join(chain)
                try:
                    found.append(f"{name}={self._resolved(scope[chain[0]], chain[1:])}")
                except Unidentified as error:
                    raise Unidentified(f"{error} (as {name})") from None
        for module, name in _imports(node):
            found.append(f"{module}.{name}={self._imported(module, name, scope)}")
        return found

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
        names = sorted({name for inner in _all_codes(code) for name in inner.co_names})
        for name in sorted(_global_names(code)):
            x = scope.get(name, builtins)
            if isinstance(x, types.ModuleType) and x is not builtins:
                used = [n for n in names if n in vars(x) or n in getattr(x, "__all__", ())]
                found += [f"{name}.{n}={self._resolved(x, (n,))}" for n in used]
            elif x is not builtins:
                found.append(f"{name}={self.value(x)}")
        return found


def _name_in_library(x: Any) -> str:
    """The name of an object that the module of its class defines, such as a distribution of scipy."""
    module = type(x).__module__
    found = [name for name, value in vars(sys.modules.get(module, builtins)).items() if value is x]
    return f"{module}.{found[0]}" if found else ""


def _held(function: types.FunctionType) -> list[tuple[str, Any]]:
    """What a function holds besides its code: closure cells and default arguments."""
    held = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held.append((name, cell.cell_contents))
        except ValueError:  # not yet bound
            held.append((name, None))
    held += [(f"default {i}", v) for i, v in enumerate(function.__defaults__ or ())]
    held += [(f"default {k}", v) for k, v in sorted((function.__kwdefaults__ or {}).items())]
    return [(n, v) for n, v in held if n != "__class__"]


@functools.cache
def _chains(node: ast.AST) -> list[tuple[str, ...]]:
    """Dotted names as far as they are written out: `data.lengths` of `data.lengths(spec)[0]`."""
    found = set()
    inner = set()
    for part in ast.walk(node):
        chain = _chain(part)
        if chain and id(part) not in inner:
            found.add(chain)
        while isinstance(part, ast.Attribute):
            part = part.value
            inner.add(id(part))
    return sorted(found)


def _chain(node: ast.AST) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


@functools.cache
def _imports(node: ast.AST) -> list[tuple[str, str]]:
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
def _outer_names(node: Definition) -> set[str]:
    """Names in decorators and default arguments, which are evaluated where the function is defined."""
    outer: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        outer += node.decorator_list
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        outer += [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    return {part.id for x in outer for part in ast.walk(x) if isinstance(part, ast.Name)}


@functools.lru_cache(maxsize=4096)
def _global_names(code: types.CodeType) -> frozenset[str]:
    """The global names that code and the functions inside it read."""
    instructions = (i for inner in _all_codes(code) for i in dis.get_instructions(inner))
    return frozenset(i.argval for i in instructions if i.opname in _LOADS)


def _all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _all_codes(constant)


def _bytecode(code: types.CodeType) -> str:
    """Code without a text; it is tied to the version of Python."""
    parts = [f"{sys.version_info[:2]}"]
    for inner in _all_codes(code):
        constants = [repr(c) for c in inner.co_consts if not isinstance(c, types.CodeType)]
        parts += [inner.co_code.hex(), repr(inner.co_names), *constants]
    return _text("bytecode", *parts)


def _array(x: Any) -> str | None:
    """An array by its numbers."""
    import jax
    import jax.numpy as jnp

    if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    if not isinstance(x, jax.Array | np.ndarray | np.generic):
        return None
    array = np.ascontiguousarray(x)
    if array.dtype.hasobject:
        raise Unidentified("it refers to an array of objects, which has no identity")
    return _text("array", array.dtype.str, str(np.shape(x)), hashlib.sha256(array.tobytes()).hexdigest())


def _plain_function(member: Any) -> types.FunctionType | None:
    """The function behind a method, property or wrapper, if there is one."""
    for name in ("fget", "__func__", "func"):
        member = getattr(member, name, None) or member
    while not isinstance(member, type) and hasattr(member, "__wrapped__"):
        member = member.__wrapped__
    return member if isinstance(member, types.FunctionType) else None


def _is_transparent(function: types.FunctionType) -> bool:
    path = function.__code__.co_filename
    return any(f"/{name}/" in path.replace("\\", "/") or f"@{name}" in path for name in _TRANSPARENT)


def _is_core(module: str) -> bool:
    return f"{module}.".startswith(f"{CORE}.") and not f"{module}.".startswith(f"{STUDIES}.")


@functools.lru_cache(maxsize=4096)
def _is_engine(module: str) -> bool:
    """Modules that count as a whole for every arm; what errors say changes no digit."""
    inside = module.removeprefix(f"{CORE}.")
    if inside == module or inside in NOT_ENGINE:
        return False
    return inside.partition(".")[0] in (*ENGINE, "errors")


@functools.lru_cache(maxsize=4096)
def _module_of(file: str, named: str | None) -> str:
    """The module whose file this is; decorators may have given a function another module's name."""
    known = sys.modules.get(named or "")
    if known is not None and getattr(known, "__file__", None) == file:
        return named or ""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == file:
            return name
    return (named or "") if file.startswith("<") else f"file:{file}"


@functools.lru_cache(maxsize=4096)
def _is_loose(module: str) -> bool:
    """Whether a module lies outside the folders of the interpreter and of installed libraries."""
    if module == "__main__":
        return True
    if module.partition(".")[0] in sys.stdlib_module_names or module in sys.builtin_module_names:
        return False
    file = module.removeprefix("file:") if module.startswith("file:") else None
    if file is None:
        loaded = sys.modules.get(module)
        file = getattr(loaded, "__file__", None)
        if file is None:
            return loaded is None and bool(module) and importlib.util.find_spec(module.partition(".")[0]) is None
    path = pathlib.Path(file)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return False
    return not any(path.is_relative_to(folder) for folder in _library_folders())


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    named = [paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths]
    return (*named, *site.getsitepackages(), site.getusersitepackages())


def _packages_that_count(arm: Any) -> frozenset[str]:
    """phasescope, the arm's own package, and every package that offers a study."""
    packages = {point.module.partition(".")[0] for point in installed().values()}
    home = getattr(arm, "__module__", None) or ""
    top = home.partition(".")[0]
    if top and top not in sys.stdlib_module_names:
        packages.add(top)
    return frozenset({CORE, *packages})


def _text(*parts: str) -> str:
    """Parts joined so that no two lists of parts give one text."""
    joined = "".join(f"{len(p)}:{p}" for p in parts)
    return joined if len(joined) < 256 else f"{parts[0][:40]}#{_sha([joined])}"


def _sha(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()
