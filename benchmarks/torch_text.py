"""The decoder of Figure 2 of `lazy_to_rich` as an eager PyTorch loop: two layers, ALiBi with learned slopes, no normalisation.

It holds the parameters of a JAX decoder, so that both start from the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIELDS = ("query", "key", "value", "out", "up", "up_bias", "down", "down_bias", "slopes")


class Decoder(nn.Module):
    """Attention and a GELU network twice, a read-out with bias."""

    def __init__(self, net: Any, device: str) -> None:
        super().__init__()
        put = lambda x: nn.Parameter(torch.tensor(np.asarray(x), device=device))
        self.embedding, self.read, self.read_bias = map(
            put, (net.embedding, net.read, net.read_bias)
        )
        self.blocks = nn.ModuleList()
        for block in net.blocks:
            layer = nn.Module()
            for name in FIELDS:
                setattr(layer, name, put(getattr(block, name)))
            self.blocks.append(layer)
        T = net.shape.context
        back = torch.arange(T, device=device)[:, None] - torch.arange(T, device=device)
        self.back = back.to(self.embedding.dtype)
        self.ahead = back < 0

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding[tokens]
        B, T, D = x.shape
        for block in self.blocks:
            H, S = block.query.shape[1:]
            q, k, v = (
                (x @ matrix.reshape(D, D)).view(B, T, H, S).transpose(1, 2)
                for matrix in (block.query, block.key, block.value)
            )
            bias = (-block.slopes[:, None, None] * self.back).masked_fill(self.ahead, -torch.inf)
            weights = torch.softmax(q @ k.transpose(-1, -2) / S**0.5 + bias, -1)
            x = x + (weights @ v).transpose(1, 2).reshape(B, T, D) @ block.out.reshape(D, D)
            h = functional.gelu(x @ block.up + block.up_bias)
            x = x + h @ block.down + block.down_bias
        return x @ self.read + self.read_bias

    def loss(self, windows: torch.Tensor) -> torch.Tensor:
        scores = self(windows[:, :-1])
        return functional.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())


def updates(model: Decoder, batches: list[torch.Tensor], rate: float) -> list[torch.Tensor]:
    """One step of SGD on each batch; the losses before them, still on the device."""
    optimiser = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for windows in batches:
        loss = model.loss(windows)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return losses
