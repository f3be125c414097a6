"""What is shown: bounded values of strict JSON, and arrays as they lie in memory behind a header of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Characters of a word that comes from a store; a page shows no longer ones.
LONGEST_WORD = 2000
MOST_ITEMS = 20_000
DEEPEST = 8
LARGEST_WHOLE = 2**63


def plain(value: Any, depth: int = 0) -> Any:
    """Any value as JSON that every browser reads: bounded, and numbers that are not finite as null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_WHOLE else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item(), depth)
    if isinstance(value, str):
        return value if len(value) <= LONGEST_WORD else f"{value[:LONGEST_WORD]}…"
    if depth > DEEPEST:
        return None
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), depth)
    if isinstance(value, Mapping):
        items = list(value.items())[:MOST_ITEMS]
        return {str(k)[:200]: plain(v, depth + 1) for k, v in items}
    if isinstance(value, Sequence):
        return [plain(one, depth + 1) for one in value[:MOST_ITEMS]]
    return plain(str(value), depth)


def packed(header: Mapping[str, Any], *arrays: np.ndarray) -> bytes:
    """A uint32 with the length of the header, the header as JSON, zeros up to a multiple of 8, then float64 numbers.

    Several arrays follow each other; the header says their shapes.
    """
    text = json.dumps(header, allow_nan=False).encode()
    start = np.uint32(len(text)).astype("<u4").tobytes() + text
    padding = b"\0" * (-len(start) % 8)
    data = [np.ascontiguousarray(array, dtype="<f8").tobytes() for array in arrays]
    return b"".join([start, padding, *data])


def over_two_axes(
    shown: np.ndarray, y: tuple[str, Any], x: tuple[str, Any], value: str, values: Sequence[str]
) -> dict[str, Any]:
    """The part of a header that all maps have: one of several quantities over two axes, each a name and its values."""
    low, high = extremes(shown)
    return {
        "dims": [y[0], x[0]],
        "shape": list(shown.shape),
        "dtype": "float64",
        "min": low,
        "max": high,
        "x": plain(x[1]),
        "y": plain(y[1]),
        "value": value,
        "values": values,
    }


def unpacked(data: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """The header and the numbers of what `packed` made."""
    length = int(np.frombuffer(data[:4], "<u4")[0])
    begin = 4 + length + (-(4 + length) % 8)
    return json.loads(data[4 : 4 + length]), np.frombuffer(data[begin:], "<f8")


def extremes(values: np.ndarray) -> tuple[float | None, float | None]:
    """The least and the largest finite number."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (None, None)
