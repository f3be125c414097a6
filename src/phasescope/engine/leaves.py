"""A state and the arrays that a checkpoint keeps of it: the one as the other, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, PyTree

from ..identity.provenance import PRNG
from .precision import exact_numbers


def leaves_of(tree: PyTree) -> list[np.ndarray]:
    """The arrays of a tree on the host, in order; random keys as their raw words."""
    arrays = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    with exact_numbers():
        return [np.asarray(jax.device_get(_without_key_type(x))) for x in arrays]


def tree_of(shapes: PyTree, leaves: Sequence[np.ndarray]) -> PyTree:
    """The inverse: a tree like `shapes`, in which the leaves stand where it has shapes of arrays.

    Raises ValueError if there are more or fewer leaves than shapes.
    """
    wanted, structure = jax.tree.flatten(eqx.filter(shapes, _is_shape))
    if len(wanted) != len(leaves):
        raise ValueError(f"the checkpoint holds {len(leaves)} arrays, the plan has {len(wanted)}")
    arrays = [_array_like(shape, leaf) for shape, leaf in zip(wanted, leaves, strict=True)]
    rest = eqx.filter(shapes, _is_shape, inverse=True)
    return eqx.combine(jax.tree.unflatten(structure, arrays), rest)


def _without_key_type(x: Array) -> Array:
    if _is_key(x):
        return jr.key_data(x)
    return x


def _array_like(shape: jax.ShapeDtypeStruct, leaf: np.ndarray) -> Array:
    if _is_key(shape):
        return jr.wrap_key_data(jnp.asarray(leaf), impl=PRNG)
    return jnp.asarray(leaf, shape.dtype)


def _is_key(x: Array | jax.ShapeDtypeStruct) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)
