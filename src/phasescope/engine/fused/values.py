"""The arrays that a function is followed with: known numbers, nodes of a program, or nothing that a program could use."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# Kinds of numbers that a program computes with.
KINDS = ("float64", "int32", "int64", "bool")


@dataclasses.dataclass(frozen=True)
class Hidden:
    """An array that no program can compute, and why. It matters only if an output depends on it."""

    why: str


# Known numbers, or an array of nodes, or neither.
Value = np.ndarray | Hidden


def is_known(x: Value) -> bool:
    """Whether it is an array of numbers."""
    return isinstance(x, np.ndarray) and x.dtype != object


def known(x: Any) -> Value:
    """Numbers of JAX as an array; keys of random numbers are hidden."""
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return Hidden("it draws random numbers")
    return np.asarray(x)


def first_hidden(*values: Value) -> Hidden | None:
    """The first of them that is hidden, if one is."""
    return next((x for x in values if isinstance(x, Hidden)), None)


def scalars(x: Value) -> list[Any]:
    """The nodes of an array, in order; none of a hidden one."""
    return [] if isinstance(x, Hidden) else x.ravel().tolist()
