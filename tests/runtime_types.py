"""How annotations are checked while tests run: by beartype, with an int welcome where a float is (PEP 484).

Shapes of arrays are checked by jaxtyping, which takes twenty microseconds a call: only what is said in its words goes
through it. All else is left to beartype alone, which takes one.
"""

import functools
import sys
import types
import typing
from typing import Any, Self

import jaxtyping
from beartype import BeartypeConf, beartype

UNCHECKED = {
    # Where the backport `importlib_metadata` is installed, the standard library hands out the backport's EntryPoint.
    "phasescope.discovery",
    "phasescope.cli.catalogue",
    # Identity is read from JSON, which has lists for tuples; numpy's scalars are neither ndarray nor float.
    "phasescope.store.entries",
    "phasescope.store.values",
    "phasescope.analysis.comparisons",
    "phasescope.analysis.worst_entry",
    "phasescope.analysis.phases",
    "phasescope.studies.regular_language.chain_of_thought",
}
_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))
_with_shapes = jaxtyping.jaxtyped


def install() -> None:
    """Check the annotations of everything that is imported from phasescope from now on."""
    jaxtyping.jaxtyped = _annotated  # what the hook decorates functions and classes with
    jaxtyping.install_import_hook("phasescope", "runtime_types.checked")


def checked(function):
    """The function, with its annotations enforced; inside a program a Spec holds arrays where it says numbers."""
    if _is_free(function):
        return function
    return _beartype(function)


def _is_free(function) -> bool:
    free = function.__module__ in UNCHECKED or function.__qualname__.endswith("Spec.__init__")
    # beartype sees `Self` only in a whole class
    return free or function.__annotations__.get("return") in ("Self", Self)


def _annotated(decorated=None, *, typechecker):
    """In place of `jaxtyping.jaxtyped`: plain functions without shapes are left to beartype."""
    if decorated is None:
        return functools.partial(_annotated, typechecker=typechecker)
    if not isinstance(decorated, types.FunctionType) or _speaks_of_shapes(decorated.__module__):
        return _with_shapes(decorated, typechecker=typechecker)
    if _is_free(decorated):
        return decorated
    return _checked_from_its_first_call(decorated, typechecker)


def _speaks_of_shapes(module: str) -> bool:
    """Whether a name of the module is one of jaxtyping's, or an array with a shape."""
    here = vars(sys.modules[module])
    return any(getattr(value, "__module__", "") == "jaxtyping" for value in list(here.values()))


def _checked_from_its_first_call(function, typechecker):
    """By then all names of its annotations are known, but for those that only a type checker imports."""
    found: list[Any] = []

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if not found:
            found.append(_with_known_names(function, typechecker))
        return found[0](*args, **kwargs)

    # The identity of code sees through what beartype has made, and knows it by this name.
    wrapped.__code__ = wrapped.__code__.replace(co_filename="<@beartype from the first call on>")
    return wrapped


def _with_known_names(function, typechecker):
    try:
        typing.get_type_hints(function)
    except (NameError, TypeError):
        return _with_shapes(function, typechecker=typechecker)
    return _beartype(function)
