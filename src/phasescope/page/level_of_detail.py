"""Level of detail: which records of a long run to send, so that a curve looks the same with far fewer points."""

from __future__ import annotations

import numpy as np

# Curves of an array that are looked at one by one; of an array of more, the range that they span together is kept.
FEW = 32


def chosen_records(values: np.ndarray, points: int) -> np.ndarray:
    """Indices along the first axis, at most `points` of them (and at least 4), in rising order.

    The first and the last are among them. Of every stretch of records the smallest and the largest value of each
    curve are kept, so that no peak is lost; of many curves, the smallest and the largest of all together.
    """
    count = len(values)
    if points >= count or count <= 4:
        return np.arange(count)
    curves = values.reshape(count, -1)
    if curves.shape[1] == 0:
        return np.unique(np.linspace(0, count - 1, max(points, 2)).round().astype(np.int64))
    if 2 * curves.shape[1] > min(2 * FEW, points - 2):
        return _joined(count, _between(curves, points - 2))
    stretches = max((points - 2) // (2 * curves.shape[1]), 1)
    edges = _edges(count, stretches)
    found = [_extreme(curve, edges, largest) for curve in curves.T for largest in (True, False)]
    return _joined(count, found)


def _between(curves: np.ndarray, points: int) -> list[np.ndarray]:
    """Where many curves together are largest and smallest, in each stretch."""
    known = np.isfinite(curves)
    edges = _edges(len(curves), max(points // 2, 1))
    top = np.where(known, curves, -np.inf).max(axis=1)
    bottom = np.where(known, curves, np.inf).min(axis=1)
    return [_extreme(top, edges, largest=True), _extreme(bottom, edges, largest=False)]


def _edges(count: int, stretches: int) -> np.ndarray:
    return np.unique(np.linspace(0, count, stretches + 1).astype(np.int64))[:-1]


def _joined(count: int, found: list[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate([np.array([0, count - 1]), *found]))


def _extreme(curve: np.ndarray, edges: np.ndarray, largest: bool) -> np.ndarray:
    """The index of the largest or smallest value in each stretch; what is not finite counts as neither."""
    filled = np.where(np.isfinite(curve), curve if largest else -curve, -np.inf)
    tops = np.maximum.reduceat(filled, edges)
    lengths = np.diff(np.append(edges, len(curve)))
    at_top = filled == np.repeat(tops, lengths)
    places = np.where(at_top, np.arange(len(curve)), len(curve) - 1)
    return np.minimum.reduceat(places, edges)
