"""Reductions inside of the compiled programs: what they carry, and how one more record changes it."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Int

from ..plan.observables import Observables, known
from ..plan.reductions import Reductions, Running


class Carried(eqx.Module):
    """What reductions carry from record to record: how many records there were, and what each of them keeps, by name."""

    records: Int[Array, ""]
    running: dict[str, Running]


def begin_reductions(
    reduce: Reductions, measured: Observables, finite: Bool[Array, "..."], counts: ArrayLike
) -> Carried:
    """What reductions carry after the record of the start, which may not count."""
    seen = known(measured)
    running = {name: one.begin(jnp.asarray(seen[one.observable])) for name, one in reduce}
    first = Carried(jnp.zeros((), jnp.int32), running)
    return reduced(reduce, first, measured, finite, jnp.asarray(counts))


def reduced(
    reduce: Reductions,
    carried: Carried,
    measured: Observables,
    finite: Bool[Array, "..."],
    counts: Bool[Array, ""],
) -> Carried:
    """What reductions carry after one more record, if it counts. Runs that left the finite numbers have none."""
    seen = known(measured)
    running = {}
    for name, one in reduce:
        x = jnp.where(finite, jnp.asarray(seen[one.observable], float), jnp.nan)
        old = carried.running[name]
        new = one.update(old, x, carried.records)
        running[name] = {part: jnp.where(counts, new[part], old[part]) for part in old}
    return Carried(carried.records + counts, running)
