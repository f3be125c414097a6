"""The model: its weights, outputs and loss, the forces on them, their descent and flow, and what is conserved."""

from .network import Start, Weights, check_orthogonal, loss, outputs, start

__all__ = ["Start", "Weights", "check_orthogonal", "loss", "outputs", "start"]
