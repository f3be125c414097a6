r"""The pivot task: is the last token of a string equal to the token at its pivot?

Even pairs and the steps of parity's chain of thought are both of this kind; only the map $L \mapsto c_L$ from
lengths to pivots differs. Lengths, positions and pivots count from 1; token 0 is `a`, token 1 is `b`.
"""

from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float, Int


def even_pairs_pivots(max_length: int) -> Int[np.ndarray, " length"]:
    """$c_L = 1$: the numbers of `ab` and `ba` add up to an even number iff the first token equals the last."""
    return check_pivots(np.ones(max_length, dtype=int))


def parity_pivots(base_length: int, max_length: int | None = None) -> Int[np.ndarray, " length"]:
    r"""$c_L = \max(1, L - L_0 + 1)$: even pairs up to $L_0$, the steps of the chain of thought beyond.

    The $L_0 - 1$ steps see lengths up to $2 L_0 - 2$, which is the default; the paper prints $2 L_0 - 1$.
    """
    if base_length < 2:
        raise ValueError(
            f"base_length must be at least 2 (one step of thought needs two tokens), got {base_length}."
        )
    longest = 2 * base_length - 2 if max_length is None else max_length
    return check_pivots(np.maximum(1, np.arange(1, longest + 1) - base_length + 1))


def check_pivots(pivots: Int[np.ndarray, " length"]) -> Int[np.ndarray, " length"]:
    """The pivots themselves, or an error naming the first length whose pivot lies outside the string."""
    if len(pivots) < 1:
        raise ValueError("max_length must be at least 1, got no lengths at all.")
    lengths = np.arange(1, len(pivots) + 1)
    if np.any(wrong := (pivots < 1) | (pivots > lengths)):
        L = lengths[wrong][0]
        raise ValueError(f"the pivot of length {L} must lie in 1..{L}, got {pivots[L - 1]}.")
    return pivots


class Strings(NamedTuple):
    """All strings of lengths 1..N, one row each, shortest first; rows are padded with token 0."""

    tokens: Int[np.ndarray, "string position"]
    lengths: Int[np.ndarray, " string"]


def all_strings(max_length: int) -> Strings:
    """The $2^{N+1} - 2$ strings: a, b, aa, ab, ba, bb, aaa, ...

    The whole table is asked for before any string is written: a size that does not fit is refused at once.
    """
    count = 2 ** (max_length + 1) - 2
    try:
        tokens = np.zeros((count, max_length), dtype=int)
    except ValueError:  # numpy cannot even count its bytes
        raise MemoryError(
            f"there are 2^{max_length + 1} - 2 strings of up to {max_length} letters"
        ) from None
    lengths = np.repeat(np.arange(1, max_length + 1), 2 ** np.arange(1, max_length + 1))
    for L in range(1, max_length + 1):
        tokens[lengths == L, :L] = strings_of(L)
    return Strings(tokens, lengths)


def strings_of(length: int) -> Int[np.ndarray, "string position"]:
    """The $2^L$ strings of one length, in alphabetical order."""
    return (np.arange(2**length)[:, None] >> np.arange(length)[::-1]) & 1


def labels(strings: Strings, pivots: Int[np.ndarray, " length"]) -> Float[np.ndarray, " string"]:
    """+1 where the last token equals the pivot's, else -1. A string of one token is always +1."""
    row = np.arange(len(strings.lengths))
    last = strings.tokens[row, strings.lengths - 1]
    pivot = strings.tokens[row, pivots[strings.lengths - 1] - 1]
    return np.where(last == pivot, 1.0, -1.0)


def length_weights(
    max_length: int, first: int = 1, last: int | None = None
) -> Float[np.ndarray, " length"]:
    r"""$\alpha_L = 1$ for the lengths first..last, 0 elsewhere; `first=base_length` gives the CoT loss alone."""
    lengths = np.arange(1, max_length + 1)
    end = max_length if last is None else last
    return ((lengths >= first) & (lengths <= end)).astype(float)


def class_fractions(pivots: Int[np.ndarray, " length"]) -> Float[np.ndarray, "case length"]:
    """The share of strings that match (row 0) and that differ (row 1): halves, but (1, 0) where $c_L = L$."""
    to_itself = pivots == np.arange(1, len(pivots) + 1)
    return np.stack([np.where(to_itself, 1.0, 0.5), np.where(to_itself, 0.0, 0.5)])


def class_weights(pivots: Int[np.ndarray, " length"], alpha: ArrayLike | None = None):
    r"""$\omega^\pm_L$, [case, length, *lanes]: fractions times $\alpha_L$, [length, *lanes] or None for ones."""
    fractions = class_fractions(pivots)
    if alpha is None:
        return fractions
    return fractions.reshape(fractions.shape + (1,) * (np.ndim(alpha) - 1)) * alpha
