"""The decoder of `state_tracking` as an eager PyTorch loop, with the same trick: only answers ask.

`Decoder` holds the parameters of a JAX decoder, so that both start from the same numbers. `starting_over` is the
rollout that most code has: a full forward over the sentence at every step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIELDS = (
    "embedding",
    "query",
    "key",
    "value",
    "out",
    "up",
    "up_bias",
    "down",
    "down_bias",
    "read",
    "read_bias",
)


class Decoder(nn.Module):
    """Two heads over clauses without positions, a ReLU network, five read-outs; layer normalisation if it has some."""

    def __init__(self, net: Any, device: str) -> None:
        super().__init__()
        put = lambda x: nn.Parameter(torch.tensor(np.asarray(x), device=device))
        for name in FIELDS:
            setattr(self, name, put(getattr(net, name)))
        self.norms = nn.ParameterList(
            [put(x) for norm in net.norms for x in (norm.scale, norm.shift)]
        )
        self.width, self.tokens = net.shape.width, net.shape.tokens

    def normed(self, place: int, x: torch.Tensor) -> torch.Tensor:
        if not len(self.norms):
            return x
        return functional.layer_norm(
            x, (self.width,), self.norms[2 * place], self.norms[2 * place + 1]
        )

    def forward(self, predicates: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """Scores of the clauses that follow the answers; both are token numbers, [chain, clause, slot]."""
        E, blank, L = self.embedding, self.tokens.blank, predicates.shape[1]
        p = (
            E[0][predicates[..., 0]]
            + E[1][predicates[..., 1]]
            + E[2][predicates[..., 2]]
            + (E[3, blank] + E[4, blank])
        )
        a = (
            E[3][answers[..., 3]]
            + E[4][answers[..., 4]]
            + (E[0, blank] + E[1, blank] + E[2, blank])
        )
        a, x = self.normed(0, a), self.normed(0, torch.cat([p, a], 1))
        D, (_, H, S) = self.width, self.query.shape
        heads = lambda x, matrix: (
            (x @ matrix.reshape(D, D)).view(*x.shape[:2], H, S).transpose(1, 2)
        )
        n = a.shape[1]
        mask = torch.ones(n, L + n, dtype=torch.bool, device=x.device).tril(L)
        found = functional.scaled_dot_product_attention(
            heads(a, self.query), heads(x, self.key), heads(x, self.value), attn_mask=mask
        )
        y = found.transpose(1, 2).reshape(*a.shape) @ self.out.reshape(D, D)
        y = functional.relu(self.normed(1, y) @ self.up + self.up_bias) @ self.down + self.down_bias
        scores = self.normed(2, y) @ self.read.reshape(D, -1) + self.read_bias.reshape(-1)
        return scores.view(*a.shape[:2], 5, -1)

    def loss(self, predicates: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the next clause, summed over slots and steps, a mean over chains."""
        scores = self(predicates, answers[:, :-1])
        wanted = answers[:, 1:].reshape(-1)
        return functional.cross_entropy(
            scores.reshape(len(wanted), -1), wanted, reduction="sum"
        ) / len(answers)

    @torch.no_grad()
    def starting_over(self, predicates: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """Greedy values, names given, by a full forward at every step."""
        said = answers[:, :1].clone()
        for n in range(1, answers.shape[1]):
            clause = answers[:, n : n + 1].clone()
            clause[..., 4] = self(predicates, said)[:, -1, 4].argmax(-1, keepdim=True)
            said = torch.cat([said, clause], 1)
        return said[:, 1:, 4]


def updates(
    model: Decoder,
    batches: list[tuple[torch.Tensor, torch.Tensor]],
    eta: float,
    fused: bool = False,
) -> list:
    """One Adam update on each batch; the losses before them, still on the device."""
    optimiser = torch.optim.Adam(model.parameters(), lr=eta, fused=fused)
    losses = []
    for predicates, answers in batches:
        loss = model.loss(predicates, answers)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return losses
