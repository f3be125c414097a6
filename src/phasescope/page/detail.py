"""Level of detail: which records of a long run to send, so that a curve looks the same with far fewer points."""

from __future__ import annotations

import numpy as np

# Curves of an array that are looked at one by one; of an array of more, records are taken evenly.
FEW = 32


def chosen_records(values: np.ndarray, points: int) -> np.ndarray:
    """Indices along the first axis, about `points` of them, in rising order; the first and the last are among them.

    Of every stretch of records the smallest and the largest value of each curve are kept, so that no peak is lost.
    """
    count = len(values)
    if points >= count or count <= 2:
        return np.arange(count)
    curves = values.reshape(count, -1)
    if curves.shape[1] > FEW or curves.shape[1] == 0:
        return np.unique(np.linspace(0, count - 1, points).round().astype(np.int64))
    stretches = max(points // (2 * curves.shape[1]), 1)
    edges = np.unique(np.linspace(0, count, stretches + 1).astype(np.int64))[:-1]
    found = [np.array([0, count - 1])]
    for curve in curves.T:
        found += [_extreme(curve, edges, largest) for largest in (True, False)]
    return np.unique(np.concatenate(found))


def _extreme(curve: np.ndarray, edges: np.ndarray, largest: bool) -> np.ndarray:
    """The index of the largest or smallest value in each stretch; what is not finite counts as neither."""
    filled = np.where(np.isfinite(curve), curve if largest else -curve, -np.inf)
    tops = np.maximum.reduceat(filled, edges)
    lengths = np.diff(np.append(edges, len(curve)))
    at_top = filled == np.repeat(tops, lengths)
    places = np.where(at_top, np.arange(len(curve)), len(curve) - 1)
    return np.minimum.reduceat(places, edges)
