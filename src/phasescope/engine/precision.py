"""exact_numbers: what a run pins, so that one call gives the same digits in every session.

JAX's own settings are pinned for the current thread alone. Equinox has one setting for the whole process, read when a
program is traced; it is pinned while any thread is inside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import equinox._errors as equinox_errors
import jax

from ..identity.provenance import PRNG
from .cache import kept_programs
from .scoped_settings import WhileInside, jax_setting

PINS: tuple[tuple[Callable[..., Any], Any], ...] = (
    (jax.enable_x64, True),
    (jax.default_matmul_precision, "highest"),
    (jax.default_prng_impl, PRNG),
    (jax.threefry_partitionable, True),
    (jax.numpy_dtype_promotion, "standard"),
    (jax.numpy_rank_promotion, "allow"),
)
# They change random numbers too, but JAX offers them to nobody by a public name, and not in all versions.
HIDDEN_PINS: dict[str, Any] = {"random_seed_offset": 0, "use_high_dynamic_range_gumbel": False}
ON_ERROR = "EQX_ON_ERROR"  # where equinox keeps what it read in the environment


@contextlib.contextmanager
def exact_numbers() -> Iterator[None]:
    """The numbers of a run, for your own calls: 64-bit floats, full matmul precision, one generator.

        >>> import jax.numpy as jnp
        >>> with ps.exact_numbers():
        ...     jnp.ones(3).dtype.name
        'float64'

    A session's own settings come back at the end. What is compiled inside is kept on disk.

    **Returns:** a context manager.
    """
    with contextlib.ExitStack() as stack:
        for setting, value in PINS:
            stack.enter_context(setting(value))
        for name, value in HIDDEN_PINS.items():
            stack.enter_context(jax_setting(name, value))
        stack.enter_context(_complaints_are_nan)
        stack.enter_context(kept_programs())
        yield


def _let_complaints_be_nan() -> Callable[[], None]:
    """What `EQX_ON_ERROR=nan` does, whatever the environment says: a solver's complaint ends a run as a divergence.

    Equinox's default raises from a callback, and a program with a callback in it is compiled anew in every process.
    """
    before = getattr(equinox_errors, ON_ERROR, "raise")
    setattr(equinox_errors, ON_ERROR, "nan")

    def undo() -> None:
        setattr(equinox_errors, ON_ERROR, before)

    return undo


_complaints_are_nan = WhileInside(_let_complaints_be_nan)
