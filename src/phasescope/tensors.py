"""Tensors of PyTorch, as NumPy takes them; torch itself is not loaded."""

from __future__ import annotations

from typing import Any


def without_gradient(x: Any) -> Any:
    """The numbers of a tensor or parameter on any device; what is none of torch is returned as it is."""
    if not hasattr(x, "detach"):
        return x
    x = x.detach().cpu()
    return x.float() if str(x.dtype) == "torch.bfloat16" else x  # which NumPy has not
