r"""Parity by chain of thought: how often the last thought is right, over all inputs of a length.

Starting from $w_1..w_L$, each of $L - 1$ steps appends `a` if the model says +1 and `b` if not; *truncated* thought
drops the first token each time, so that the model always sees $L$ tokens, *full* thought keeps everything. The last
answer is the parity of the number of `b`s (+1: even). A string of one token is its own answer.

Enumeration is replaced by linear algebra over GF(2): at a length the model's answer depends only on whether the string
matches, so the appended token is a constant, or $w_L \oplus w_c$, or its negation. Every token is then the sum of a
set of input tokens (a mask) plus a sign bit, and the answer is right always, never, or exactly half of the time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from . import data


def cot_accuracy(
    output_match: Float[np.ndarray, "*times length"],
    output_differ: Float[np.ndarray, "*times length"],
    beyond: Bool[np.ndarray, "*times"],
    pivots: Int[np.ndarray, " length"],
    input_lengths: Sequence[int],
    *,
    truncated: bool,
) -> Float[np.ndarray, "*times input_length"]:
    r"""Accuracy for each input length: 0, 1/2 or 1.

    `beyond` is whether longer strings than any seen in training are called +1: their attention is uniform, so it is
    $\sum_\ell v_\ell > 0$.
    """
    answers = Answers(
        match=np.asarray(output_match) <= 0,
        differ=np.asarray(output_differ) <= 0,
        beyond=~np.asarray(beyond, dtype=bool),
    )
    accuracies = [_accuracy(answers, pivots, L, truncated) for L in input_lengths]
    return np.stack(accuracies, axis=-1)


class Answers(NamedTuple):
    """The token that the model appends, 1 for `b`: to strings that match, that differ, and that are too long."""

    match: Bool[np.ndarray, "*times length"]
    differ: Bool[np.ndarray, "*times length"]
    beyond: Bool[np.ndarray, "*times"]


def _accuracy(
    answers: Answers, pivots: Int[np.ndarray, " length"], length: int, truncated: bool
) -> Float[np.ndarray, "*times"]:
    """The accuracy on inputs of one length: every token is a mask of input tokens and a sign."""
    times = answers.beyond.shape
    inputs = _single_masks(length)
    words = inputs.shape[1]
    masks = np.zeros((2 * length - 1, *times, words), dtype=np.uint64)
    masks[:length] = inputs.reshape(length, *(1,) * len(times), words)
    signs = np.zeros((2 * length - 1, *times), dtype=bool)
    for new in range(length, 2 * length - 1):
        seen = length if truncated else new
        if seen > len(pivots):
            signs[new] = answers.beyond
            continue
        last = new - 1
        pivot = new - seen + pivots[seen - 1] - 1
        if_match = answers.match[..., seen - 1]
        listens = if_match != answers.differ[..., seen - 1]
        masks[new] = np.where(listens[..., None], masks[last] ^ masks[pivot], np.uint64(0))
        signs[new] = if_match ^ (listens & (signs[last] ^ signs[pivot]))
    everything = np.bitwise_or.reduce(inputs, axis=0)
    is_parity = np.all(masks[-1] == everything, axis=-1)
    return np.where(is_parity, np.where(signs[-1], 0.0, 1.0), 0.5)


def _single_masks(length: int) -> np.ndarray:
    """[token, word]: a mask for each input token by itself, in words of 64 bits."""
    words = -(-length // 64)
    masks = np.zeros((length, words), dtype=np.uint64)
    tokens = np.arange(length)
    masks[tokens, tokens // 64] = np.uint64(1) << (tokens % 64).astype(np.uint64)
    return masks


def cot_accuracy_by_enumeration(
    params: dict, lam: float, input_length: int, *, truncated: bool
) -> float:
    """The same by running the full model on all $2^L$ inputs."""
    tokens = data.strings_of(input_length)
    is_odd = tokens.sum(axis=1) % 2 == 1
    answer = tokens[:, -1]
    for _ in range(input_length - 1):
        answer = (model_outputs(params, tokens, lam) <= 0).astype(int)
        kept = tokens[:, 1:] if truncated else tokens
        tokens = np.concatenate([kept, answer[:, None]], axis=1)
    return float(np.mean((answer == 1) == is_odd))


def model_outputs(
    params: dict,
    tokens: Int[np.ndarray, "string position"],
    lam: float,
) -> Float[np.ndarray, " string"]:
    """$T$ of strings of one length, which may exceed the model's: entries never trained are 0."""
    length = tokens.shape[1]
    extra = max(0, 2 * length - len(params["u"]))
    u = np.pad(params["u"], (0, extra))
    W = np.pad(params["W"], ((0, extra), (0, extra)))
    keys = 2 * np.arange(length) + tokens
    scores = W[keys, keys[:, -1:]] / lam
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.sum(weights * u[keys], axis=1) / np.sum(weights, axis=1)
