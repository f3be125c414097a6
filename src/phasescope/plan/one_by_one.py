"""one_by_one: what is computed for the runs of a block one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
from jax.custom_batching import sequential_vmap


def one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a block of runs calls for one run after the other, instead of for all at once.

        >>> import jax.numpy as jnp
        >>> squares = jax.vmap(ps.one_by_one(lambda x: x**2))(jnp.arange(4))
        >>> squares.tolist()
        [0, 1, 4, 9]

    For the `advance` of a `Dynamics`. Where a run by itself fills the core and its cache, a block of
    them is no faster side by side; and under an adaptive solver all would take the steps of the slowest.

    **Arguments:** `function`: of trees of arrays and anything else, gives a tree of arrays. What
    differs from run to run must be among its arguments, not behind them in a closure.

    **Returns:** the same function; a run of a block gets exactly the digits that it gets by itself.
    """

    def called(*arguments: Any) -> Any:
        arrays, rest = eqx.partition(arguments, eqx.is_array)

        @sequential_vmap
        def of_one_run(arrays: Any) -> Any:
            return function(*eqx.combine(arrays, rest))

        return of_one_run(arrays)

    return called
