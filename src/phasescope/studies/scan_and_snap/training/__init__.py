"""Training: its arms, mini-batches, updates and flows."""

from .arms import population, sampled, start, symmetric, text_attention

__all__ = ["population", "sampled", "start", "symmetric", "text_attention"]
