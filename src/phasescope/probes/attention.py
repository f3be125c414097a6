"""How spread attention is, and how far it has moved."""

from __future__ import annotations

from ..errors import ProbeError
from .arrays import Array, as_pattern, library_of


def entropy(pattern: Array) -> Array:
    """The entropy of attention in nats, of every query: 0 if it looks at one key, log(n) if at n alike.

        >>> from phasescope import probes
        >>> float(probes.entropy(np.full((1, 4), 0.25))[0] / np.log(4))
        1.0

    **Arguments:** `pattern`: `[..., query, key]`, rows that add up to 1. A key that is masked has weight 0.

    **Returns:** `[..., query]`.
    """
    p = as_pattern(pattern)
    xp = library_of(p)
    safe = xp.where(p > 0, p, xp.ones_like(p))  # 0 log 0 is 0
    return -xp.sum(p * xp.log(safe), axis=-1) + 0.0


def drift(pattern: Array, reference: Array) -> Array:
    """How far attention has moved on the same batch: the total variation between two patterns, of every query.

        >>> from phasescope import probes
        >>> probes.drift(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]))
        array([0.5])

    **Arguments:** `pattern`, `reference`: `[..., query, key]`, on one batch, of two times of training. Between
    one record and the next it says whether attention is frozen; against the first, how far it came.

    **Returns:** `[..., query]`, from 0 (the same) to 1 (no key in common).

    **Raises:** `ProbeError` if the shapes differ.
    """
    p = as_pattern(pattern)
    q = as_pattern(reference, "reference")
    if p.shape != q.shape:
        raise ProbeError(
            f"drift compares patterns on one batch: their shapes are {tuple(p.shape)} and {tuple(q.shape)}."
        )
    xp = library_of(p)
    return 0.5 * xp.sum(xp.abs(p - q), axis=-1)
