"""Primitives that are written as several scalar operations, as a kernel lacks them or has them in another form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Builder, Node

Expansion = Callable[..., Node]


def square(builder: Builder, x: Node) -> Node:
    """x^2."""
    return builder.apply("mul", (x, x), x.dtype)


def integer_pow(builder: Builder, x: Node, *, y: int) -> Node:
    """x^y by squaring, as XLA does it."""
    one = builder.constant(1, x.dtype)
    left = abs(y)
    power = x
    found: Node | None = None
    while left:
        if left % 2:
            found = power if found is None else builder.apply("mul", (found, power), x.dtype)
        left //= 2
        if left:
            power = square(builder, power)
    if found is None:
        return one
    return found if y > 0 else builder.apply("div", (one, found), x.dtype)


def logistic(builder: Builder, x: Node, **_: Any) -> Node:
    """1 / (1 + e^-x)."""
    one = builder.constant(1, x.dtype)
    decay = builder.apply("exp", (builder.apply("neg", (x,), x.dtype),), x.dtype)
    return builder.apply("div", (one, builder.apply("add", (one, decay), x.dtype)), x.dtype)


def absolute(builder: Builder, x: Node) -> Node:
    """|x|, by its sign; NaN stays, and of either zero it is 0, as 0 - x is."""
    zero = builder.constant(0, x.dtype)
    above = builder.apply("gt", (x, zero), bool)
    return builder.apply("select", (above, builder.apply("sub", (zero, x), x.dtype), x), x.dtype)


def sign(builder: Builder, x: Node) -> Node:
    """-1, 0 or 1; NaN stays."""
    zero = builder.constant(0, x.dtype)
    above = builder.apply("gt", (x, zero), bool)
    below = builder.apply("lt", (x, zero), bool)
    if_not_above = builder.apply("select", (below, x, builder.constant(-1, x.dtype)), x.dtype)
    return builder.apply("select", (above, if_not_above, builder.constant(1, x.dtype)), x.dtype)


def clamp(builder: Builder, low: Node, x: Node, high: Node) -> Node:
    """x between two bounds."""
    return builder.apply("min", (builder.apply("max", (low, x), x.dtype), high), x.dtype)


def is_finite(builder: Builder, x: Node) -> Node:
    """Whether x - x is 0."""
    difference = builder.apply("sub", (x, x), x.dtype)
    return builder.apply("eq", (difference, builder.constant(0, x.dtype)), bool)


def convert(builder: Builder, x: Node, *, new_dtype: Any, **_: Any) -> Node:
    """The number as one of another kind; truth values are 0 and 1."""
    if x.dtype == new_dtype:
        return x
    if x.is_constant:
        return builder.constant(x.value, new_dtype)
    if np.dtype(new_dtype).kind == "b":
        return builder.apply("ne", (x, builder.constant(0, x.dtype)), bool)
    if x.dtype.kind == "b":
        return builder.truth(x, new_dtype)
    return builder.apply("convert", (x,), new_dtype)


EXPANSIONS: dict[str, Expansion] = {
    "square": square,
    "integer_pow": integer_pow,
    "logistic": logistic,
    "abs": absolute,
    "sign": sign,
    "clamp": clamp,
    "is_finite": is_finite,
    "convert_element_type": convert,
}
