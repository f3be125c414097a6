"""Before the first run of a process: is this the arithmetic, and are these the random numbers, that runs are promised?

Settings of JAX are pinned (`precision`). What a compiler or a library was told otherwise, by `XLA_FLAGS` for one, is found
by a small program whose answers are known: its sums are wrong if the compiler may reorder them, its products if they
are taken with fewer digits, its words if the generator is another one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from ..errors import PlanError
from ..identity.provenance import PRNG
from .precision import exact_numbers

# What threefry gives for seed 0: of the counts 0, 1, 2, 3 both words, the first in the upper half.
WORDS = (0x6B20015999BA4EFE, 0x375F238FCDDB151D, 0xF71F4EA9A20E4081, 0x9312778BE4E8DFBE)
SIZE = 64  # of the matrices that are multiplied: large enough for units that take fewer digits
LAST_DIGIT = (
    2.0**-12
)  # of their entries, which a product with 11 digits (TF32) or 8 (bfloat16) would drop
ALLOWED = (
    2.0**-22
)  # relative error of a product of 32-bit numbers that was taken with all its digits
FLAGS = ("XLA_FLAGS", "NVIDIA_TF32_OVERRIDE")


class Answers(NamedTuple):
    """What the small program computes."""

    sum_in_order: Array
    nan_times_zero: Array
    product_32: Array
    product_64: Array
    words: Array


@jax.jit
def _compute(large: Array, one: Array, nan: Array, entry: Array, key: Array) -> Answers:
    matrix = jnp.full((SIZE, SIZE), entry)
    short = matrix.astype(jnp.float32)
    return Answers(
        sum_in_order=(one + large) - large,
        nan_times_zero=nan * 0.0,
        product_32=(short @ short)[0, 0],
        product_64=(matrix @ matrix)[0, 0],
        words=jr.bits(key, (len(WORDS),), jnp.uint64),
    )


def answers() -> Answers:
    """What this process computes now, on its first device."""
    with exact_numbers():
        numbers = (1e16, 1.0, float("nan"), 1 + LAST_DIGIT)
        found = _compute(*(jnp.asarray(x, float) for x in numbers), jr.key(0, impl=PRNG))
        return jax.device_get(found)


def faults(found: Answers) -> Iterator[str]:
    """What is wrong with the answers, in words."""
    product = SIZE * (1 + LAST_DIGIT) ** 2
    if found.sum_in_order != 0 or not np.isnan(found.nan_times_zero):
        yield "sums are not computed in the order in which they are written (fast math)"
    if abs(found.product_32 - product) > ALLOWED * product:
        yield "products of 32-bit matrices are taken with fewer digits (TF32 or bfloat16)"
    if found.product_64 != product:
        yield "products of 64-bit matrices are taken with fewer digits"
    if tuple(map(int, found.words)) != WORDS:
        yield f"the generator {PRNG} gives other random numbers than it always did"


@functools.cache
def check_arithmetic() -> None:
    """Refuse to run where the digits would be others; looked at once in a process.

    **Raises:** `PlanError`, which names the variables of the environment that are known to do this.
    """
    found = list(faults(answers()))
    if found:
        given = [f"{name}={os.environ[name]}" for name in FLAGS if os.environ.get(name)]
        blamed = f" The environment has {', '.join(given)}: unset it." if given else ""
        raise PlanError(
            f"nothing is run in this session, since its numbers would not be those of others: {'; '.join(found)} "
            f"(JAX {jax.__version__}, {jax.default_backend()}).{blamed}"
        )
