"""What Python objects hold that can be read without a walk: cells, bytecode, arrays, the function behind a method."""

from __future__ import annotations

import builtins
import hashlib
import sys
import types
from typing import Any

import numpy as np

from .digest import joined
from .references import all_codes
from .source import Unidentified

# Decorators that check types while tests run; they compute nothing.
_TRANSPARENT = ("jaxtyping", "beartype")


def name_in_library(x: Any) -> str:
    """The name of an object that the module of its class defines, such as a distribution of scipy."""
    module = type(x).__module__
    found = [name for name, value in vars(sys.modules.get(module, builtins)).items() if value is x]
    return f"{module}.{found[0]}" if found else ""


def held_by(function: types.FunctionType) -> list[tuple[str, Any]]:
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


def bytecode_text(code: types.CodeType) -> str:
    """Code without a text; it is tied to the version of Python."""
    parts = [f"{sys.version_info[:2]}"]
    for inner in all_codes(code):
        constants = [repr(c) for c in inner.co_consts if not isinstance(c, types.CodeType)]
        parts += [inner.co_code.hex(), repr(inner.co_names), *constants]
    return joined("bytecode", *parts)


def array_text(x: Any) -> str | None:
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
    return joined(
        "array", array.dtype.str, str(np.shape(x)), hashlib.sha256(array.tobytes()).hexdigest()
    )


def plain_function(member: Any) -> types.FunctionType | None:
    """The function behind a method, property or wrapper, if there is one."""
    for name in ("fget", "__func__", "func"):
        member = getattr(member, name, None) or member
    while not isinstance(member, type) and hasattr(member, "__wrapped__"):
        member = member.__wrapped__
    return member if isinstance(member, types.FunctionType) else None


def is_transparent(function: types.FunctionType) -> bool:
    """Whether it is made by a decorator that checks types."""
    path = function.__code__.co_filename
    return any(
        f"/{name}/" in path.replace("\\", "/") or f"@{name}" in path for name in _TRANSPARENT
    )
