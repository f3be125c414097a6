"""Previous-token heads and induction heads, as TransformerLens scores them.

Both scores are the mean weight on one diagonal of the pattern, over positions; the mean over a batch is left to the caller,
for whom `[batch, head, query, key]` gives `[batch, head]`.
"""

from __future__ import annotations

import numpy as np

from ..errors import ProbeError
from .arrays import Array, as_pattern, library_of


def doubled_tokens(vocabulary: int, length: int, batch: int = 1, seed: int = 0) -> np.ndarray:
    """Random tokens, each sequence written twice: nothing but a repetition can be predicted in them.

        >>> from phasescope import probes
        >>> tokens = probes.doubled_tokens(vocabulary=50, length=8)
        >>> bool((tokens[:, :8] == tokens[:, 8:]).all())
        True

    **Arguments:** `vocabulary`: tokens are 0 to `vocabulary - 1`, uniformly. `length`: of one copy. `batch`:
    sequences. `seed`: of the random numbers.

    **Returns:** whole numbers, `[batch, 2 length]`.
    """
    if vocabulary < 1 or length < 1 or batch < 1:
        raise ProbeError(
            f"vocabulary, length and batch are at least 1, got {vocabulary}, {length} and {batch}."
        )
    once = np.random.default_rng(seed).integers(vocabulary, size=(batch, length))
    return np.concatenate([once, once], axis=1)


def previous_token_score(pattern: Array) -> Array:
    """How much a head looks at the token before: the mean weight of query i on key i - 1.

        >>> from phasescope import probes
        >>> float(probes.previous_token_score(np.eye(4, k=-1)))
        1.0

    **Arguments:** `pattern`: `[..., query, key]`, queries and keys at the same positions.

    **Returns:** `[...]`, from 0 to 1; the first query, which has no token before, does not count.
    """
    return _mean_of_diagonal(pattern, back=1)


def induction_score(pattern: Array) -> Array:
    """How much a head looks at what followed the last time: on doubled sequences of 2 L tokens, the mean weight of
    query i on key i - (L - 1).

        >>> from phasescope import probes
        >>> float(probes.induction_score(np.eye(8, k=-3)))
        1.0

    As in TransformerLens's demo the diagonal begins at query L - 1, the last token of the first copy.

    **Arguments:** `pattern`: `[..., query, key]` on sequences such as `doubled_tokens` makes.

    **Returns:** `[...]`, from 0 to 1.

    **Raises:** `ProbeError` if the number of positions is odd, or below 4.
    """
    positions = as_pattern(pattern).shape[-1]
    if positions % 2 or positions < 4:
        raise ProbeError(
            f"an induction score is of doubled sequences of 4 positions or more, got {positions} positions."
        )
    return _mean_of_diagonal(pattern, back=positions // 2 - 1)


def _mean_of_diagonal(pattern: Array, back: int) -> Array:
    """The mean weight of query i on key i - back."""
    p = as_pattern(pattern)
    positions = p.shape[-1]
    if p.shape[-2] != positions:
        raise ProbeError(
            f"queries and keys are at the same positions, got {p.shape[-2]} queries and {positions} keys."
        )
    if positions <= back:
        raise ProbeError(f"there is no key {back} positions before, with {positions} positions.")
    queries = np.arange(back, positions)
    return library_of(p).mean(p[..., queries, queries - back], axis=-1)
