"""The base of the ratios of `lazy_to_rich`: an eager PyTorch loop of online SGD, as one would write it."""

from __future__ import annotations

import time

import torch
from harness import Timing


def losses(
    weights: dict[str, torch.Tensor], x: torch.Tensor, c_star: float, share: float
) -> torch.Tensor:
    """Both partial losses over a batch (sequence, position) behind a sharp first layer."""
    keys, values, query = x[:, :-2], x[:, 1:-1], x[:, -1:]
    distance = torch.arange(keys.shape[1] - 1, -1, -1, dtype=x.dtype)
    copied = weights["g"] * (keys @ torch.softmax(-weights["p"] * distance, 0))
    attention = torch.softmax(weights["w_k"] * weights["w_q"] * query * keys, 1)
    wanted = torch.softmax(c_star * query * keys, 1)
    four = copied - share * keys[:, -1]
    induction = weights["h"] * (attention * values).sum(1) - (1 - share) * (wanted * values).sum(1)
    return 0.5 * torch.stack([(four**2).mean(), (induction**2).mean()])


def start(sigma: float, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Five scalars."""
    return {
        name: torch.full((), sigma, dtype=dtype, requires_grad=True)
        for name in ("p", "g", "w_k", "w_q", "h")
    }


def step(
    weights: dict[str, torch.Tensor], x: torch.Tensor, eta: float, c_star: float, share: float
) -> torch.Tensor:
    """One update in place; the losses before it."""
    found = losses(weights, x, c_star, share)
    slopes = torch.autograd.grad(found.sum(), list(weights.values()))
    with torch.no_grad():
        for w, slope in zip(weights.values(), slopes, strict=True):
            w -= eta * slope
    return found.detach()


def train(steps: int, batch: int, length: int, dtype: torch.dtype, every: int = 100) -> Timing:
    """`steps` updates on fresh batches at the settings of Figure 1; losses are kept every hundredth step."""
    torch.manual_seed(0)
    weights, kept = start(0.01, dtype), []
    for _ in range(3):
        step(weights, torch.randn(batch, length, dtype=dtype), 0.1, 0.49**2, 0.5)
    wall, cpu = time.perf_counter(), time.process_time()
    for i in range(steps):
        found = step(weights, torch.randn(batch, length, dtype=dtype), 0.1, 0.49**2, 0.5)
        if i % every == 0:
            kept.append(found.tolist() + [w.item() for w in weights.values()])
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)
