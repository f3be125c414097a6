"""Datasets that theory computes directly, without a run; whoever asks for one computes it in
64-bit numbers."""

from . import decoder, decoupling, gradients, matrices, mixtures, snapping

__all__ = ["decoder", "decoupling", "gradients", "matrices", "mixtures", "snapping"]
