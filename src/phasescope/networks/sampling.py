"""Sequences of a corpus: drawn inside the program for training, fixed ones for what is measured."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from ..errors import CorpusError
from ..probes import doubled_tokens
from .corpora import Corpus

PROBE_SEED = 7  # of the doubled sequences, which are the same for all runs


class Windows(NamedTuple):
    """Fixed sequences, each one token longer than the context.

    Of the doubled ones, twice half the context is a sequence written twice; what is left goes on with it.
    """

    training: Int[Array | np.ndarray, "probe place"]
    validation: Int[Array | np.ndarray, "probe place"]
    doubled: Int[Array | np.ndarray, "probe place"]


def anywhere(
    key: PRNGKeyArray, tokens: Int[Array, " text"], sequences: int, context: int
) -> Int[Array, "sequence place"]:
    """Sequences that begin at random places, one token longer than the context."""
    starts = jr.randint(key, (sequences,), 0, tokens.shape[0] - context)
    return tokens[starts[:, None] + jnp.arange(context + 1)]


def in_turn(
    number: Int[Array, ""], tokens: Int[Array, " text"], sequences: int, context: int
) -> Int[Array, "sequence place"]:
    """Batch `number` of a text that is cut into so many columns, which are read side by side and then again."""
    rows = tokens.shape[0] // sequences
    batches = (rows - 1) // context
    first = (number % batches) * context
    starts = jnp.arange(sequences) * rows + first
    return tokens[starts[:, None] + jnp.arange(context + 1)]


def fixed_windows(corpus: Corpus, context: int, count: int) -> Windows:
    """Sequences evenly spaced over training and validation text, and doubled random ones."""
    doubled = doubled_tokens(len(corpus.types), context // 2, count, PROBE_SEED).astype(np.int32)
    return Windows(
        _spaced(corpus.training, context, count),
        _spaced(corpus.validation, context, count),
        np.concatenate([doubled, doubled], axis=1)[:, : context + 1],
    )


def check_size(corpus: Corpus, context: int, columns: int) -> None:
    """The text must hold a sequence, in each of so many columns. Raises `CorpusError`."""
    for name, tokens, parts in (
        ("training", corpus.training, columns),
        ("validation", corpus.validation, 1),
    ):
        if len(tokens) // parts <= context:
            cut = f" in {parts} columns" if parts > 1 else ""
            raise CorpusError(
                f"{corpus.name}: the {name} text has {len(tokens)} tokens{cut}, too few for context={context}. "
                "Take a shorter context, fewer sequences or a longer text."
            )


def _spaced(tokens: np.ndarray, context: int, count: int) -> np.ndarray:
    starts = np.linspace(0, len(tokens) - context - 1, count).astype(int)
    return tokens[starts[:, None] + np.arange(context + 1)]
