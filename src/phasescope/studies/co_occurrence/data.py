"""The task: does a sample hold both target words? Words are numbers; 0, 1 are the targets, 2 is common to all samples.

The model sees a sample as a multiset of words, so the special words stand first and positions mean nothing else.
Beyond the vocabulary of `dim` words come `length - 1` further ones that no training sample holds: they are for tests.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

import phasescope as ps

from .spec import LABELS, SHARES, SPECIAL, Spec

SPECIAL_WORDS = ((0, 1, 2), (0, 2), (1, 2), (2,))  # of the four types


class Batch(NamedTuple):
    """Samples with their labels, types, and shares of the loss."""

    tokens: Int[Array | np.ndarray, "sample position"]
    labels: Float[Array | np.ndarray, " sample"]
    types: Int[Array | np.ndarray, " sample"]
    shares: Float[Array | np.ndarray, " sample"]


def training_set(spec: Spec, key: Array) -> Batch:
    """The samples of a run: half of them positive, and as many of each negative type."""
    check(spec)
    types = np.repeat(np.arange(4), [round(share * spec.samples) for share in SHARES])
    tokens = _distinct_tokens(types, spec.length)
    if spec.words == "shared":
        random = jr.randint(key, tokens.shape, 3, spec.dim)
        tokens = jnp.where(tokens < 3, tokens, random)
    return Batch(tokens, np.array(LABELS)[types], types, np.full(spec.samples, 1 / spec.samples))


def check(spec: Spec) -> None:
    """Refuse sizes for which there is no such training set."""
    n = spec.samples
    if n % 6:
        below = n - n % 6
        above = below + 6
        nearest = f"{below} or {above}" if below else f"{above}"
        raise ps.SpecError(
            f"samples must be divisible by 6 (half of them positive, a sixth of each negative type), got samples={n}. "
            f"Take {nearest}."
        )
    if spec.words == "distinct" and spec.dim < spec.smallest_dim:
        raise ps.SpecError(
            f'words="distinct" needs dim >= {spec.smallest_dim} for {n} samples of {spec.length} words, got '
            f'dim={spec.dim}. Take dim={spec.smallest_dim}, or words="shared".'
        )


def test_set(spec: Spec) -> Batch:
    """One sample of each type, filled up with words that no training sample holds."""
    fresh = spec.dim + np.arange(spec.length)
    rows = [[*special, *fresh[: spec.length - len(special)]] for special in SPECIAL_WORDS]
    return Batch(np.array(rows), np.array(LABELS), np.arange(4), np.array(SHARES))


def _distinct_tokens(types: np.ndarray, length: int) -> np.ndarray:
    """Special words first, then words that appear nowhere else."""
    rows = []
    fresh = 3
    for kind in types:
        count = length - SPECIAL[kind]
        rows.append([*SPECIAL_WORDS[kind], *range(fresh, fresh + count)])
        fresh += count
    return np.array(rows)
