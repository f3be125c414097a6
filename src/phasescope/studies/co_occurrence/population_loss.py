"""The population loss, exactly, for any values and scores: a sum over all multisets of irrelevant words."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .data import SPECIAL_WORDS, Batch
from .model.forces import outputs
from .spec import LABELS, SHARES

AT_ONCE = 2**15  # samples whose outputs are computed together


def samples(dim: int, length: int) -> Batch:
    """All samples that differ as multisets, each with its probability."""
    parts = []
    for kind, tokens, shares in _by_type(dim, length):
        labels = np.full(len(tokens), LABELS[kind])
        types = np.full(len(tokens), kind)
        parts.append(Batch(tokens, labels, types, shares))
    return Batch(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def count(dim: int, length: int) -> int:
    """How many there are."""
    total = 0
    for special in SPECIAL_WORDS:
        irrelevant = length - len(special)
        total += math.comb(dim - 4 + irrelevant, irrelevant)
    return total


def population_loss(G: Any, S: Any, width: int, length: int, dim: int) -> float:
    """The expected loss over fresh samples from a vocabulary of `dim` words."""
    return float(population_losses(G, S, width, length, dim) @ np.array(SHARES))


def population_losses(G: Any, S: Any, width: int, length: int, dim: int) -> np.ndarray:
    """The expected loss of each type."""
    found = np.zeros(4)
    with jax.enable_x64(True):
        values = jnp.asarray(np.asarray(G)[:dim])
        scores = jnp.asarray(np.asarray(S)[:dim, :dim])
        for kind, tokens, shares in _by_type(dim, length):
            for i in range(0, len(tokens), AT_ONCE):
                few = tokens[i : i + AT_ONCE]
                pad = (
                    AT_ONCE - len(few) if len(tokens) > AT_ONCE else 0
                )  # so that one shape is compiled
                F = _outputs(values, scores, np.pad(few, ((0, pad), (0, 0))), width)[: len(few)]
                losses = np.logaddexp(0.0, -LABELS[kind] * np.asarray(F))
                found[kind] += shares[i : i + AT_ONCE] @ losses
    return found / np.array(SHARES)


@jax.jit
def _outputs(G, S, tokens, width):
    unused = jnp.zeros(len(tokens))  # outputs depend on the words alone
    batch = Batch(tokens, labels=unused, types=unused, shares=unused)  # type: ignore[arg-type]
    return outputs(G, S, batch, width)


@functools.lru_cache(maxsize=1)
def _by_type(dim: int, length: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Type, samples and shares of the population, for each type; kept, as a claim asks for it again and again."""
    found = []
    for kind, special in enumerate(SPECIAL_WORDS):
        r = length - len(special)
        chosen = _multisets(range(3, dim), r)
        orders = math.factorial(r) / _repetitions(chosen)
        tokens = np.concatenate([np.tile(special, (len(chosen), 1)), chosen], axis=1)
        found.append((kind, tokens, SHARES[kind] * orders * (dim - 3.0) ** -r))
    return found


def _multisets(words: range, size: int) -> np.ndarray:
    """All multisets of `size` words, one a row."""
    rows = math.comb(len(words) + size - 1, size)
    each = itertools.chain.from_iterable(itertools.combinations_with_replacement(words, size))
    return np.fromiter(each, int, rows * size).reshape(rows, size)


def _repetitions(chosen: np.ndarray) -> np.ndarray:
    """The product of the factorials of the multiplicities, for each falling row."""
    repeated = np.ones(len(chosen))
    product = np.ones(len(chosen))
    for word, following in itertools.pairwise(chosen.T):
        repeated = np.where(word == following, repeated + 1, 1)
        product *= repeated
    return product
