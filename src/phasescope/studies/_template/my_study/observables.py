"""What the theorems talk about. The annotation names the axes."""

from jaxtyping import Array, Float

import phasescope as ps


class Observed(ps.Observables):
    """All arms report the same."""

    loss: Float[Array, ""] = ps.field(symbol=r"\mathcal{L}", doc="loss")
    overlap: Float[Array, ""] = ps.field(symbol="w^2", doc="0 at the saddle, 1 at the minimum")


def measure(weight: Float[Array, ""]) -> Observed:
    """Look at one state."""
    return Observed(loss(weight), weight**2)


def loss(weight: Float[Array, ""]) -> Float[Array, ""]:
    """A double well: a saddle at 0, minima at -1 and 1."""
    return 0.25 * (weight**2 - 1) ** 2
