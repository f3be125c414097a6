"""The base of the ratios: full-batch gradient descent of the study `co_occurrence` in eager PyTorch, float64.

Written from the paper's equations, with all of W: `layers` is the model as printed, one-hot words through three linear
maps, attention, then the MLP on every position; `one_hot` sums over the queries before the MLP, which is linear;
`lookup` does that and looks words up instead of multiplying. The faster of the last two is the base.

With what the reduction knows: `read_out` is `lookup` with a^T W formed first, so that the MLP is one vector;
`scores` also takes all scores of a step from one d x d matrix.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch.nn.functional import embedding, logsigmoid, one_hot

PRINTED = ("layers", "one_hot", "lookup")
REDUCED = ("read_out", "scores")
STYLES = (*PRINTED, *REDUCED)


class Loop:
    """One run: weights that require gradients, fixed output weights, samples."""

    def __init__(self, weights, a, tokens, labels, eta: float, style: str) -> None:
        self.parameters = [
            torch.tensor(np.asarray(w), dtype=torch.float64, requires_grad=True) for w in weights
        ]
        self.a, self.labels = torch.tensor(np.asarray(a)), torch.tensor(np.asarray(labels))
        self.tokens, self.eta = torch.tensor(np.asarray(tokens), dtype=torch.long), eta
        words = self.parameters[0].shape[1]
        self.X = one_hot(self.tokens, words).to(torch.float64)
        self.forward = getattr(self, style)
        self.keys, self.queries = self.tokens[:, :, None], self.tokens[:, None, :]
        self.root = self.parameters[0].shape[0] ** 0.5

    def layers(self):
        W_Q, W_K, W_V, W = self.parameters
        q, k, v = self.X @ W_Q.T, self.X @ W_K.T, self.X @ W_V.T
        p = torch.softmax(q @ k.transpose(1, 2) / self.root, dim=2)  # sample, query, key
        return ((p @ v @ W.T) @ self.a).sum(1)

    def one_hot(self):
        W_Q, W_K, W_V, W = self.parameters
        q, k, v = self.X @ W_Q.T, self.X @ W_K.T, self.X @ W_V.T
        return (self._attend(q, k)[:, None] @ v)[:, 0] @ W.T @ self.a

    def lookup(self):
        W_Q, W_K, W_V, W = self.parameters
        q, k, v = (embedding(self.tokens, w.T) for w in (W_Q, W_K, W_V))
        return (self._attend(q, k)[:, None] @ v)[:, 0] @ W.T @ self.a

    def read_out(self):
        W_Q, W_K, W_V, W = self.parameters
        q, k = (embedding(self.tokens, w.T) for w in (W_Q, W_K))
        return (self._attend(q, k) * ((self.a @ W) @ W_V)[self.tokens]).sum(1)

    def _attend(self, q, k):
        """The weight on each key, summed over the queries."""
        return torch.softmax(q @ k.transpose(1, 2) / self.root, dim=2).sum(1)

    def scores(self):
        W_Q, W_K, W_V, W = self.parameters
        G = (self.a @ W) @ W_V
        p = torch.softmax((W_K.T @ W_Q)[self.keys, self.queries] / self.root, dim=1)
        return (p.sum(2) * G[self.tokens]).sum(1)

    def losses(self) -> torch.Tensor:
        """The loss of each sample."""
        return -logsigmoid(self.labels * self.forward())

    def step(self) -> None:
        """One step of full-batch gradient descent."""
        grads = torch.autograd.grad(self.losses().mean(), self.parameters)
        with torch.no_grad():
            torch._foreach_add_(self.parameters, list(grads), alpha=-self.eta)

    def run(self, steps: int) -> tuple[float, float]:
        """Wall and CPU seconds of some steps."""
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.step()
        return time.perf_counter() - wall, time.process_time() - cpu
