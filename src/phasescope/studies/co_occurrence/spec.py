"""The numbers of one run, and a preset for each figure and for the theorems' own regime."""

from __future__ import annotations

from typing import Any

import phasescope as ps

TYPES = (
    "both",
    "first",
    "second",
    "neither",
)  # which of the two target words a sample holds; only "both" is positive
LABELS = (1.0, -1.0, -1.0, -1.0)
SPECIAL = (3, 2, 2, 1)  # special words in a sample of each type
SHARES = (1 / 2, 1 / 6, 1 / 6, 1 / 6)
TOLERANCES = {"fine": 1e-9, "coarse": 1e-6}  # relative errors of one step of a flow


class Spec(ps.Spec):
    """Defaults are the theorems' regime at a moderate width."""

    samples: int = ps.field(48, symbol="n", doc="training samples", at_least=1)
    length: int = ps.field(
        4, symbol="L", doc="words of a sample: three of them may be special", at_least=3
    )
    dim: int = ps.field(83, symbol="d", doc="words of the vocabulary", at_least=4)
    width: int = ps.field(256, symbol="m", doc="rows of the attention matrices", at_least=1)
    neurons: int = ps.field(64, symbol="m_1", doc="rows of the MLP", at_least=1)
    zeta: float = ps.field(
        0.1, symbol=r"\zeta", doc="smallness of the start where sigma_0 is not given", above=0
    )
    sigma_0: float | None = ps.field(
        None,
        symbol=r"\sigma_0",
        doc="size of W_Q, W_K, W_V at the start; by default zeta / sqrt(length * width)",
        above=0,
    )
    sigma_1: float | None = ps.field(
        None,
        symbol=r"\sigma_1",
        doc="size of W at the start; by default 1 / sqrt(neurons)",
        above=0,
    )
    output: float = ps.field(1.0, symbol="|a_j|", doc="size of the fixed output weights", above=0)
    init: str = ps.field(
        "gaussian", choices=("gaussian", "uniform", "orthogonal"), doc="law of the start"
    )
    words: str = ps.field(
        "distinct",
        choices=("distinct", "shared"),
        doc="irrelevant words: each in one place only, or drawn at random",
    )
    attention: float = ps.field(
        1.0, doc="speed at which W_Q and W_K learn; 0 freezes the attention", at_least=0
    )
    eta: float = ps.field(0.001, symbol=r"\eta", doc="step size of descent", above=0)
    steps: int = ps.field(30_000, doc="steps of descent", at_least=1, traced=True)
    horizon: float | None = ps.field(
        None, doc="end of flows, counted by the clock; by default where descent ends", above=0
    )
    accuracy: str = ps.field(
        "fine",
        choices=tuple(TOLERANCES),
        doc="of flows: a relative error of 1e-9 a step, or 1e-6, enough for pictures",
    )
    clock: str = ps.field(
        "training",
        choices=("training", "natural"),
        doc="what `time` counts: t = eta * step, or tau = kappa t",
    )

    @property
    def scale_0(self) -> Any:
        r"""$\sigma_0$."""
        if self.sigma_0 is None:
            return self.zeta / (1.0 * self.length * self.width) ** 0.5
        return self.sigma_0

    @property
    def scale_1(self) -> Any:
        r"""$\sigma_1$."""
        if self.sigma_1 is None:
            return 1 / (1.0 * self.neurons) ** 0.5
        return self.sigma_1

    @property
    def output_norm(self) -> Any:
        r"""$\|a\|^2$, which takes the place of $m_1$ in all equations of motion."""
        return self.output**2 * self.neurons

    @property
    def kappa(self) -> Any:
        r"""The rate of the first phase, $m \|a\|^2 (\sigma_0^2 + \sigma_1^2)$."""
        return self.width * self.output_norm * (self.scale_0**2 + self.scale_1**2)

    @property
    def end(self) -> Any:
        r"""Where flows end, in natural time $\tau = \kappa t$."""
        if self.horizon is None:
            return self.kappa * self.eta * self.steps
        return self.horizon if self.clock == "natural" else self.kappa * self.horizon

    @property
    def tick(self) -> Any:
        """How much of the dataset's `time` one unit of natural time is."""
        return 1.0 if self.clock == "natural" else 1 / self.kappa

    @property
    def smallest_dim(self) -> int:
        """Words that samples with nothing but the special words in common need."""
        words = 3
        for share, special in zip(SHARES, SPECIAL, strict=True):
            words += round(share * self.samples) * (self.length - special)
        return words


# Groups of fields, for arms to say what they read.
SIZES = ("samples", "length", "dim", "width", "neurons")
START = ("zeta", "sigma_0", "sigma_1", "output")
MOTION = (*SIZES, *START, "attention", "eta", "steps", "clock")
FLOW = (*MOTION, "horizon", "accuracy")
DRAWN = ("init", "words")  # what of a start is drawn at random, and how


def figure(output: float = 1 / 16, gain: float = 1 / 3**0.5, **changes: Any) -> Spec:
    """The sizes of the paper's experiment; every matrix starts with variance gain^2 / (its columns)."""
    numbers: dict[str, Any] = {
        "samples": 60,
        "length": 5,
        "dim": 64,
        "width": 128,
        "neurons": 256,
        "sigma_0": gain / 64**0.5,
        "sigma_1": gain / 128**0.5,
        "output": output,
        "init": "uniform",
        "words": "shared",
        "eta": 0.01,
        "steps": 30_000,
    }
    return Spec(**numbers | changes)


default = Spec()
presets = {
    "tiny": Spec(
        samples=12,
        dim=24,
        width=16,
        neurons=6,
        sigma_0=0.0625,
        sigma_1=0.4,
        eta=0.01,
        steps=60,
        horizon=5.0,
    ),
    "theory": Spec(clock="natural", horizon=1e8),
    "figure1": figure(),
    "figure1_literal": figure(output=1.0),
    "figure1_distinct": figure(dim=163, words="distinct"),
    "figure1_gain": figure(gain=2**0.5, init="gaussian"),
    "orthogonal": figure(
        init="orthogonal", words="distinct", dim=163, clock="natural", horizon=1e8
    ),
}
