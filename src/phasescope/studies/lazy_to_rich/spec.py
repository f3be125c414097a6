"""The numbers of one run, and a preset for each figure."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

import phasescope as ps
from phasescope.networks import TextSpec


class Spec(ps.Spec):
    """Defaults are Figure 1's. Fields that only some arms read say so."""

    alpha: float = ps.field(
        1.0, symbol=r"\alpha^\star", doc="weight of the 4-gram against the induction head", above=0
    )
    w_star: float = ps.field(
        0.49, symbol=r"w^\star", doc="dot-product weight of the target", above=0
    )
    sigma: float = ps.field(
        0.01, symbol=r"\sigma_{init}", doc="every trained scalar at the start", above=0
    )
    length: int = ps.field(
        40, symbol="L", doc="tokens of a sequence: a 4-gram and three keys need 5", at_least=5
    )
    tokens: str = ps.field("gaussian", choices=("gaussian", "boolean"), doc="law of a token")
    p_tilde: float | None = ps.field(
        None,
        symbol=r"\tilde p",
        doc="slope of a frozen first layer; by default infinite",
        at_least=0,
        infinite=True,
    )
    eta: float = ps.field(0.1, symbol=r"\eta", doc="step size (descent arms)", above=0)
    batch: int = ps.field(1000, symbol="B", doc="sequences in a batch (sampled arms)", at_least=1)
    steps: int = ps.field(45_000, doc="updates (descent arms)", at_least=1, traced=True)
    horizon: float = ps.field(4000.0, symbol="t", doc="end of flow arms", above=0)
    kappa: float | None = ps.field(
        None,
        symbol=r"\kappa",
        doc="flows: 1, w_K and w_Q are two weights; 2, one weight; by default the arm's",
        above=0,
    )
    imbalance: float = ps.field(
        1.0, symbol="w_Q / w_K", doc="ratio of the two weights at the start", above=0
    )
    p_start: float | None = ps.field(
        None, symbol="p(0)", doc="slope of head 1 at the start; by default sigma", at_least=0
    )
    index_range: str = ps.field(
        "L-1", choices=("L-1", "L-2"), doc="last position that the second layer sees (online_sgd)"
    )
    joint: bool = ps.field(False, doc="train the first layer too, from sigma (online_sgd)")
    dim: int = ps.field(20, symbol="D", doc="width of a token (high_dimensional)", at_least=1)
    optimiser: str = ps.field("gd", choices=("gd", "adam"), doc="high_dimensional")
    sampled: bool = ps.field(
        False, doc="high_dimensional: fresh batches, or the closed form of infinitely many keys"
    )
    reading: str = ps.field(
        "linear",
        choices=("linear", "squared"),
        doc="high_dimensional: the target's score is a x.x', a = w*/D or its square",
    )
    reduction: str = ps.field(
        "mean", choices=("mean", "sum"), doc="high_dimensional: over the coordinates of the output"
    )
    shape: str = ps.field(
        "matrix",
        choices=("matrix", "diagonal"),
        doc="high_dimensional: W_K and W_Q are D x D, or D numbers on a diagonal",
    )

    def __check_init__(self) -> None:
        if isinstance(self.p_tilde, jax.Array):
            return
        if (
            self.p_tilde == math.inf
        ):  # one spelling: a sharp first layer has closed forms of its own
            object.__setattr__(self, "p_tilde", None)
        if self.joint and self.p_tilde is not None:
            raise ps.SpecError(
                f"joint=True trains the first layer: leave p_tilde alone, got p_tilde={self.p_tilde}."
            )

    @property
    def keys(self) -> Any:
        """$N = L - 2$; in flows a mere number."""
        return self.length - 2

    @property
    def g_star(self):
        r"""$\alpha^\star/(1+\alpha^\star)$."""
        return self.alpha / (1 + self.alpha)

    @property
    def h_star(self):
        r"""$1/(1+\alpha^\star)$."""
        return 1 / (1 + self.alpha)

    @property
    def c_star(self):
        r"""$c^\star = w^{\star2}$."""
        return self.w_star**2

    @property
    def u_tilde(self):
        r"""$e^{-\tilde p}$ of a frozen first layer."""
        return 0.0 if self.p_tilde is None else jnp.exp(-jnp.asarray(self.p_tilde))

    @property
    def p_first(self):
        """$p$ at the start."""
        return self.sigma if self.p_start is None else self.p_start


# Groups of fields, for arms to say what they read.
MODEL = ("alpha", "w_star", "sigma", "length", "tokens", "p_tilde", "p_start")
FLOW = (*MODEL, "imbalance", "kappa", "horizon")
DESCENT = (*MODEL, "eta", "batch", "steps", "index_range", "joint")
MATRIX = ("dim", "optimiser", "sampled", "reading", "reduction", "shape")

# Figure 2: stated are sizes, the scale 0.01 of the start, SGD at 0.1 and 1500 epochs, which are 326 batches each.
BATCHES_OF_AN_EPOCH = 326
figure_2 = TextSpec(
    corpus="wikitext-2",
    context=200,
    sequences=32,
    width=128,
    hidden=512,
    rate=0.1,
    updates=1500 * BATCHES_OF_AN_EPOCH,
    records=1500,
)
tiny_text = TextSpec(
    types=30,
    context=8,
    sequences=2,
    width=4,
    hidden=8,
    rate=0.5,
    clip=1.0,
    dropout=0.1,
    updates=6,
    records=3,
    probes=2,
    maps=1,
    arithmetic="float64",
)

default = Spec()
presets = {
    "tiny": (Spec(length=6, batch=8, steps=20, horizon=20.0, dim=3), tiny_text),
    # As the paper states them: 100,000 updates; horizons of flows are the same time.
    "figure_1": Spec(steps=100_000, horizon=10_000.0),
    "figure_2": figure_2,
    "figure_2_norm": figure_2.replace(normalisation="pre"),
    "figure_3": Spec(tokens="boolean", steps=100_000, horizon=10_000.0),
    "figure_4_gd": Spec(dim=100, sampled=True, steps=100_000),
    "figure_4_adam": Spec(dim=100, sampled=True, steps=100_000, optimiser="adam", eta=5e-4),
    "frozen_first_layer": Spec(p_tilde=0.9404, batch=250),
    "printed_range": Spec(index_range="L-2", batch=250),
}
