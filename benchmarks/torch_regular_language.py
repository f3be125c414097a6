"""The eager PyTorch loop that the speeds are measured against, in the styles a competent researcher would write it.

`lookup` reads W and u at the entries of the one-hot vectors; `matmul` multiplies with the one-hot vectors; `einsum`
does so the way the paper prints the model, and is the base of the thresholds. They are the same numbers.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from phasescope.studies.regular_language import data

STYLES = ("lookup", "matmul", "einsum")


class Attention(nn.Module):
    """One softmax attention layer and a linear read-out, on every string of lengths 1..N."""

    def __init__(self, length: int, lam: float, style: str) -> None:
        super().__init__()
        strings = data.all_strings(length)
        tokens, lengths = torch.tensor(strings.tokens), torch.tensor(strings.lengths)
        position = torch.arange(length)
        self.lam, self.style = lam, style
        self.u = nn.Parameter(torch.zeros(2 * length, dtype=torch.float64))
        self.W = nn.Parameter(torch.zeros(2 * length, 2 * length, dtype=torch.float64))
        self.keys = 2 * position + tokens
        self.query = self.keys[torch.arange(len(lengths)), lengths - 1]
        self.entries = self.keys * (2 * length) + self.query[:, None]
        self.absent = torch.zeros(tokens.shape, dtype=torch.float64).masked_fill(
            position >= lengths[:, None], -torch.inf
        )
        self.X = functional.one_hot(self.keys, 2 * length).double()
        self.x = functional.one_hot(self.query, 2 * length).double()
        self.y = torch.tensor(data.labels(strings, data.even_pairs_pivots(length)))
        self.weight = 0.5 ** lengths.double()
        self.three = (lengths == 3).nonzero()[:, 0]

    def forward(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The output on every string, and its attention."""
        if self.style == "lookup":
            scores, values = self.W.view(-1)[self.entries], self.u[self.keys]
        elif self.style == "matmul":
            scores, values = (self.X * (self.x @ self.W.T)[:, None]).sum(-1), self.X @ self.u
        else:
            scores = torch.einsum("nld,de,ne->nl", self.X, self.W, self.x)
            attention = torch.softmax(scores / self.lam + self.absent, -1)
            return torch.einsum("nl,nld,d->n", attention, self.X, self.u), attention
        attention = torch.softmax(scores / self.lam + self.absent, -1)
        return (attention * values).sum(-1), attention


@dataclasses.dataclass
class Log:
    """What a figure of the paper needs, at every step."""

    loss: list[float] = dataclasses.field(default_factory=list)
    norm: list[float] = dataclasses.field(default_factory=list)
    scores: list[np.ndarray] = dataclasses.field(default_factory=list)
    attention: list[np.ndarray] = dataclasses.field(default_factory=list)


def train(
    steps: int,
    length: int = 6,
    lam: float = 2.0,
    eta: float = 0.1,
    switch: int = 100,
    style: str = "lookup",
):
    """Two phases of gradient descent; the log and the seconds of the loop alone (wall, CPU)."""
    model, log = Attention(length, lam, style), Log()
    optimiser = torch.optim.SGD(
        [{"params": [model.u], "lr": eta}, {"params": [model.W], "lr": eta * lam}]
    )
    wall, cpu = time.perf_counter(), time.process_time()
    for t in range(steps):
        if t == switch:
            optimiser.param_groups[1]["lr"] = eta
        output, attention = model()
        loss = (model.weight * functional.softplus(-model.y * output, threshold=40.0)).sum()
        optimiser.zero_grad()
        loss.backward()
        log.loss.append(loss.item())
        log.norm.append(model.u.detach().norm().item())
        log.scores.append(model.u.detach().numpy().copy())
        log.attention.append(attention.detach()[model.three].numpy())
        optimiser.step()
    return log, time.perf_counter() - wall, time.process_time() - cpu
