"""The decoder once more, written for one sequence and one head at a time, with NumPy or PyTorch in 64 bits.

It shares nothing with `phasescope.networks` but the names of the parameters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erf


def loss(
    p: dict[str, Any],
    shape: Any,
    windows: np.ndarray,
    xp: Any = np,
    masks: list[np.ndarray] | None = None,
) -> Any:
    """Mean cross-entropy of windows `[sequence, place]`; `p` holds parameters by name, such as `blocks.0.query`.

    `masks`, one for each place where something is dropped, are what the numbers there are multiplied by: of the embedded
    tokens, and in every layer of the weights, what is attended to, the hidden neurons, and what the network adds.
    """
    total = 0.0
    for number, window in enumerate(windows):
        kept = None if masks is None else [_as(mask[number], xp) for mask in masks]
        scores = _scores(p, shape, window[:-1], xp, kept)[0]
        right = sum(scores[i, int(window[i + 1])] for i in range(len(window) - 1))
        total = total + xp.log(xp.exp(scores).sum(1)).sum() - right
    return total / (windows.shape[0] * (windows.shape[1] - 1))


def attention(p: dict[str, Any], shape: Any, tokens: np.ndarray) -> np.ndarray:
    """The weights `[layer, head, query, key]` of one sequence."""
    return np.array(_scores(p, shape, tokens, np)[1])


def _scores(
    p: dict[str, Any], shape: Any, tokens: np.ndarray, xp: Any, kept: list[Any] | None = None
) -> tuple[Any, list[Any]]:
    T = len(tokens)
    x = p["embedding"][tokens]
    if shape.scaled_embedding:
        x = x * math.sqrt(shape.width)
    if shape.positions == "learned":
        x = x + p["positions"][:T]
    if shape.positions == "sinusoidal":
        x = x + _as(_waves(T, shape.width), xp)
    weights = []
    masks = kept or [1.0] * (1 + 4 * shape.layers)
    x = x * masks[0]
    for l in range(shape.layers):
        of_weights, of_attended, of_hidden, of_network = masks[1 + 4 * l : 5 + 4 * l]
        q = {
            name.removeprefix(f"blocks.{l}."): v
            for name, v in p.items()
            if name.startswith(f"blocks.{l}.")
        }
        y, seen = _attend(q, shape, _norm(q, "norms.0", x, shape, "pre", xp), xp, of_weights)
        weights.append(seen)
        x = _norm(q, "norms.0", x + y * of_attended, shape, "post", xp)
        y = _network(q, shape, _norm(q, "norms.1", x, shape, "pre", xp), xp, of_hidden)
        x = _norm(q, "norms.1", x + y * of_network, shape, "post", xp)
    x = _norm(p, "final_norm", x, shape, "pre", xp)
    out = x @ (p["embedding"].T if shape.tied else p["read"])
    return out + p.get("read_bias", 0.0), weights


def _attend(q: dict[str, Any], shape: Any, x: Any, xp: Any, mask: Any) -> tuple[Any, list[Any]]:
    T = x.shape[0]
    size = shape.width // shape.heads
    out = q.get("out_bias", 0.0)
    weights = []
    for h in range(shape.heads):
        asks, offers, values = (
            x @ q[name][:, h] + (q[f"{name}_bias"][h] if f"{name}_bias" in q else 0.0)
            for name in ("query", "key", "value")
        )
        scores = asks @ offers.T / math.sqrt(size)
        back = np.arange(T)[:, None] - np.arange(T)
        if shape.positions == "alibi":
            scores = scores - q["slopes"][h] * _as(back * 1.0, xp)
        seen = _as((back >= (0 if shape.sees_itself else 1)) * 1.0, xp)
        strength = xp.exp(scores) * seen
        whole = strength.sum(1)[:, None]
        whole = whole + _as((back.max(1) < (0 if shape.sees_itself else 1))[:, None] * 1.0, xp)
        weights.append(strength / whole)
        used = weights[-1] if isinstance(mask, float) else weights[-1] * mask[h]
        out = out + used @ values @ q["out"][h]
    return out, weights


def _network(q: dict[str, Any], shape: Any, x: Any, xp: Any, mask: Any) -> Any:
    h = x @ q["up"] + q.get("up_bias", 0.0)
    if shape.activation == "relu":
        h = h * (h > 0)
    else:
        h = h * 0.5 * (1 + (erf if xp is np else xp.special.erf)(h / math.sqrt(2)))
    return (h * mask) @ q["down"] + q.get("down_bias", 0.0)


def _norm(q: dict[str, Any], name: str, x: Any, shape: Any, here: str, xp: Any) -> Any:
    if shape.normalisation != here:
        return x
    mean = x.mean(1)[:, None]
    spread = ((x - mean) ** 2).mean(1)[:, None]
    out = (x - mean) / xp.sqrt(spread + 1e-5) * q[f"{name}.scale"]
    return out + q.get(f"{name}.shift", 0.0)


def _waves(T: int, width: int) -> np.ndarray:
    out = np.zeros((T, width))
    for place in range(T):
        for i in range(width):
            angle = place / 10_000 ** ((i - i % 2) / width)
            out[place, i] = math.sin(angle) if i % 2 == 0 else math.cos(angle)
    return out


def _as(x: np.ndarray, xp: Any) -> Any:
    return x if xp is np else xp.from_numpy(x)
