"""Observables as one flat array for each kind of number: one transfer brings back what a dozen would."""

from __future__ import annotations

import math
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from ..plan.observables import Observables, known

Packed = dict[str, Shaped[Array, "number *lanes"]]


def pack(seen: Observables, lanes: bool) -> Packed:
    """All observables of one kind of number after each other, lanes last."""
    kinds: dict[str, list[Array]] = {}
    for x in known(seen).values():
        kinds.setdefault(jnp.asarray(x).dtype.name, []).append(jnp.asarray(x))
    shape = lambda x: (-1, x.shape[-1]) if lanes else (-1,)
    return {kind: jnp.concatenate([x.reshape(shape(x)) for x in xs]) for kind, xs in kinds.items()}


def unpack(
    like: Observables, packed: Mapping[str, np.ndarray], lanes: bool
) -> dict[str, np.ndarray]:
    """The inverse on the host, of rows of records: views, by name. `like` has the shapes of one record."""
    out, done = {}, dict.fromkeys(packed, 0)
    for name, x in known(like).items():
        kind, own = x.dtype.name, x.shape[:-1] if lanes else x.shape
        first, done[kind] = done[kind], done[kind] + math.prod(own)
        rows = packed[kind][:, first : done[kind]]
        out[name] = rows.reshape(len(rows), *x.shape)
    return out
