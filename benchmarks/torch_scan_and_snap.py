"""The eager PyTorch loops of `scan_and_snap`, in the styles a competent researcher would write them.

`one_hot` multiplies with one-hot tokens, the way the paper prints the model; `lookup` reads Z at the tokens and adds
the attention up by token. Both draw sequences with torch.multinomial, keep M x M tables, and log the loss and the
attention of every class at each step. `population` is the loop over endless sequences of all classes.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
from torch.nn import functional

STYLES = ("lookup", "one_hot")


@dataclasses.dataclass
class Data:
    """Context distributions over all M tokens, and the ids of last tokens and labels."""

    P: torch.Tensor
    last: torch.Tensor
    label: torch.Tensor

    @classmethod
    def syn(
        cls,
        num_last: int,
        per_last: int,
        dtype: torch.dtype = torch.float32,
        C: int = 10,
        D: int = 10,
    ) -> Data:
        K = num_last * per_last
        S = C + D * K
        P = torch.zeros(K, S + num_last + K, dtype=dtype)
        P[:, :C] = 1.0
        for k in range(K):
            P[k, C + k * D : C + (k + 1) * D] = torch.linspace(0.1, 1.0, D, dtype=torch.float64).to(
                dtype
            )
        rows = torch.arange(K)
        return cls(P / P.sum(1, keepdim=True), S + rows // per_last, S + num_last + rows)


@dataclasses.dataclass
class Log:
    """What a figure needs, at every step."""

    loss: list[float] = dataclasses.field(default_factory=list)
    attention: list[np.ndarray] = dataclasses.field(default_factory=list)


def attended(Z: torch.Tensor, tokens: torch.Tensor, last: torch.Tensor, style: str) -> torch.Tensor:
    """The attention of every sequence, added up by token."""
    M = len(Z)
    if style == "one_hot":
        X = functional.one_hot(tokens, M).to(Z.dtype)
        b = torch.softmax(torch.einsum("btm,bm->bt", X, Z[last]), 1)
        return torch.einsum("btm,bt->bm", X, b)
    b = torch.softmax(Z[last[:, None], tokens], 1)
    return torch.zeros(len(tokens), M, dtype=Z.dtype).scatter_add(1, tokens, b)


def train(
    steps: int, data: Data, eta_Y: float, eta_Z: float, *, style: str = "lookup", batch: int = 128, length: int = 128,
    init: str = "zero", given: list[tuple[torch.Tensor, torch.Tensor]] | None = None,
    start: tuple[np.ndarray, np.ndarray] | None = None,
):  # fmt: skip
    """Mini-batches of sequences; the log and the seconds of the loop alone (wall, CPU).

    `given` are the batches to take instead of drawing them, `start` the tables to start from.
    """
    K, M = data.P.shape
    width = M**-0.5 if init == "uniform" else 0.0
    table = lambda i: (
        torch.tensor(start[i]) if start else (2 * torch.rand(M, M, dtype=data.P.dtype) - 1) * width
    )
    Y, Z = (table(i).requires_grad_() for i in range(2))
    groups = [{"params": [Y], "lr": eta_Y}, {"params": [Z], "lr": eta_Z}]
    optimiser, log = torch.optim.SGD(groups, lr=1.0, momentum=0.9), Log()
    wall, cpu = time.perf_counter(), time.process_time()
    for t in range(steps):
        if given is None:
            classes = torch.randint(K, (batch,))
            tokens = torch.multinomial(data.P[classes], length - 1, replacement=True)
        else:
            classes, tokens = given[t]
        v = attended(Z, tokens, data.last[classes], style)
        logits = functional.normalize(v, dim=1) @ Y
        loss = functional.cross_entropy(logits, data.label[classes])
        optimiser.zero_grad()
        loss.backward()
        log.loss.append(loss.item())
        with torch.no_grad():
            c = data.P * torch.exp(Z[data.last])
            log.attention.append((c / c.sum(1, keepdim=True)).numpy())
        optimiser.step()
    return log, time.perf_counter() - wall, time.process_time() - cpu


def population(steps: int, data: Data, eta_Y: float, eta_Z: float):
    """Endless sequences of all classes; the log and the seconds of the loop alone (wall, CPU)."""
    M = data.P.shape[1]
    Y, Z = (torch.zeros(M, M, dtype=data.P.dtype, requires_grad=True) for _ in range(2))
    groups = [{"params": [Y], "lr": eta_Y}, {"params": [Z], "lr": eta_Z}]
    optimiser, log = torch.optim.SGD(groups, lr=1.0, momentum=0.9), Log()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        c = data.P * torch.exp(Z[data.last])
        c = c / c.sum(1, keepdim=True)
        loss = functional.cross_entropy(functional.normalize(c, dim=1) @ Y, data.label)
        optimiser.zero_grad()
        loss.backward()
        log.loss.append(loss.item())
        log.attention.append(c.detach().numpy())
        optimiser.step()
    return log, time.perf_counter() - wall, time.process_time() - cpu
