"""The smoothed ReLU in its three readings, and its slope, which is all that training sees.

Above 0 all agree: $x^q / (q \\varrho^{q-1})$ up to the knee $\\varrho$, then linear. `main` continues the power to
$-\\varrho$ and is constant below (even q); `zero` is 0 below 0; `app` is a small bump of size $\\varpi$.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

VARPI = 1e-3  # \varpi of `app`, "tiny"


class Activation(eqx.Module):
    """sReLU with its numbers; `cut` is B, where `app` turns constant."""

    kind: str = eqx.field(static=True)
    power: int = eqx.field(static=True)
    knee: Float[Array, ""] | float
    cut: Float[Array, ""] | float

    def __call__(self, x: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """The value."""
        inside = (
            self.knee * (jnp.clip(x, -self.knee, self.knee) / self.knee) ** self.power / self.power
        )
        above = jnp.where(x > self.knee, x - self.knee * (1 - 1 / self.power), inside)
        if self.kind == "main":
            return above
        if self.kind == "zero":
            return jnp.where(x > 0, above, 0.0)
        below = jnp.where(x > -VARPI, x**2, -VARPI * jnp.maximum(x, -self.cut))
        return jnp.where(x > 0, above, below)

    def slope(self, x: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """The derivative; at a kink, that of the side on which the definition puts the point."""
        ratio = jnp.clip(x / self.knee, -1.0, 1.0)
        above = jnp.where(x > -self.knee, ratio ** (self.power - 1), 0.0)
        if self.kind == "main":
            return above
        if self.kind == "zero":
            return jnp.where(x > 0, above, 0.0)
        below = jnp.where(x > -VARPI, 2 * x, jnp.where(x > -self.cut, -VARPI, 0.0))
        return jnp.where(x > 0, above, below)
