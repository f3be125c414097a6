"""Training: its arms, mini-batches, updates and flows."""

from .arms import population, sampled, start, symmetric

__all__ = ["population", "sampled", "start", "symmetric"]
