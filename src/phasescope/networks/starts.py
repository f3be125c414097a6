"""How the matrices of a decoder are drawn at the start, in three ways that the papers and their code have.

`gaussian`: all alike, with one standard deviation. `pytorch`: the defaults of PyTorch's encoder layer, embedding and read-out
uniform. `gpt`: as GPT-2, what writes into the stream smaller by the root of twice the number of layers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

STARTS = ("gaussian", "pytorch", "gpt")


@dataclasses.dataclass
class Draws:
    """Hands out one array after the other of numbers that are drawn at once: each draw would be compiled by itself.

    `scale` is the standard deviation of all matrices, or of embeddings the largest entry with `pytorch`. `size` is the number
    of parameters that will be drawn.
    """

    key: PRNGKeyArray
    way: str
    scale: Float[Array, ""] | float
    layers: int
    size: int
    dtype: Any
    used: int = 0

    def __post_init__(self) -> None:
        if self.way == "pytorch":
            self.numbers = jr.uniform(self.key, (self.size,), self.dtype, -1.0, 1.0)
        else:
            self.numbers = jr.normal(self.key, (self.size,), self.dtype)

    def embedding(self, shape: tuple[int, ...]) -> Array:
        """Embeddings and the read-out."""
        return self._next(shape, self.scale)

    def attention(self, inputs: int, shape: tuple[int, ...]) -> Array:
        """Queries, keys and values: PyTorch draws them as one matrix, by Xavier's rule."""
        xavier = float(np.sqrt(6 / (inputs + 3 * inputs)))
        return self._next(shape, xavier if self.way == "pytorch" else self.scale)

    def matrix(self, inputs: int, shape: tuple[int, ...]) -> Array:
        """Any other matrix."""
        return self._next(shape, self._bound(inputs) if self.way == "pytorch" else self.scale)

    def residual(self, inputs: int, shape: tuple[int, ...]) -> Array:
        """What writes into the stream."""
        made = self.matrix(inputs, shape)
        return made / float(np.sqrt(2 * self.layers)) if self.way == "gpt" else made

    def bias(self, inputs: int, outputs: int) -> Array:
        """Of the network: zero, but for PyTorch."""
        return self._next((outputs,), self._bound(inputs) if self.way == "pytorch" else 0.0)

    def _bound(self, inputs: int) -> float:
        return 1 / float(np.sqrt(inputs))

    def _next(self, shape: tuple[int, ...], scale: Float[Array, ""] | float) -> Array:
        begin = self.used
        self.used += int(np.prod(shape))
        part = self.numbers[begin : self.used].reshape(shape)
        return (part * scale).astype(self.dtype)
