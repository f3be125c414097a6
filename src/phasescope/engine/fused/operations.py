"""The scalar operations of a program, each as a function of vectors of one shape and, for constants, plain JAX.

They are those that a GPU kernel knows for 64-bit numbers. Where its own version differs from XLA's, ours is written out: its
maximum and minimum drop NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

Operation = Callable[..., Array]


def maximum(x: Array, y: Array) -> Array:
    """The larger one; NaN if one of them is."""
    return lax.select(lax.gt(x, y) | lax.ne(x, x), x, y)


def minimum(x: Array, y: Array) -> Array:
    """The smaller one; NaN if one of them is."""
    return lax.select(lax.lt(x, y) | lax.ne(x, x), x, y)


def select(chosen: Array, if_false: Array, if_true: Array) -> Array:
    """One of two, by a truth value; the order is that of `select_n`."""
    return lax.select(chosen, if_true, if_false)


OPERATIONS: dict[str, Operation] = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lax.div,
    "rem": lax.rem,
    "neg": lax.neg,
    "pow": lax.pow,
    "exp": lax.exp,
    "exp2": lax.exp2,
    "expm1": lax.expm1,
    "log": lax.log,
    "log1p": lax.log1p,
    "sqrt": lax.sqrt,
    "rsqrt": lax.rsqrt,
    "cbrt": lax.cbrt,
    "sin": lax.sin,
    "cos": lax.cos,
    "tan": lax.tan,
    "asin": lax.asin,
    "acos": lax.acos,
    "atan": lax.atan,
    "atan2": lax.atan2,
    "sinh": lax.sinh,
    "cosh": lax.cosh,
    "tanh": lax.tanh,
    "floor": lax.floor,
    "ceil": lax.ceil,
    "max": maximum,
    "min": minimum,
    "lt": lax.lt,
    "le": lax.le,
    "gt": lax.gt,
    "ge": lax.ge,
    "eq": lax.eq,
    "ne": lax.ne,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
    "not": lax.bitwise_not,
    "select": select,
}


def converted(x: Array, dtype: Any) -> Array:
    """The number as one of another kind; truth values are 0 and 1."""
    if x.dtype == bool:
        return select(x, filled(x.shape, 0, dtype), filled(x.shape, 1, dtype))
    return lax.convert_element_type(x, dtype)


def filled(shape: tuple[int, ...], value: Any, dtype: Any) -> Array:
    """A vector of one constant, of exactly this kind: a bare number would become one of 32 bits in a kernel."""
    return jnp.full(shape, value, dtype)
