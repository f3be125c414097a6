"""The numbers of one run, and a preset for each figure and for the theorems' own setting."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope.networks import TextSpec

from . import data
from .closed_forms import theorem_setting


class Spec(ps.Spec):
    """Defaults are the paper's experiment of Section 6."""

    task: str = ps.field(
        "even_pairs", choices=("even_pairs", "parity"), doc="what the pivot of a length is"
    )
    max_length: int | None = ps.field(
        None,
        symbol=r"L_{\max}",
        doc="longest string; by default 6, for parity 2 base_length - 2",
        at_least=2,
        at_most=100_000,  # the scores of a run are a table of its square: 80 GB
    )
    base_length: int = ps.field(
        4, symbol="L_0", doc="parity: length of the input of the chain of thought", at_least=2
    )
    lam: float = ps.field(2.0, symbol=r"\lambda", doc="scale of the attention scores", above=0)
    eta: float = ps.field(0.1, symbol=r"\eta", doc="step size", above=0)
    switch: int = ps.field(100, symbol="t_0", doc="updates in phase 1", at_least=0, traced=True)
    schedule: str = ps.field(
        "two_phase", choices=("two_phase", "vanilla"), doc="whether phase 1 speeds the attention up"
    )
    steps: int = ps.field(10_000, symbol="T", doc="updates in all", at_least=1, traced=True)
    horizon: float | None = ps.field(
        None, symbol=r"\tau", doc="end of flow arms; by default eta * steps", above=0
    )
    lengths: str = ps.field(
        "all",
        choices=("all", "cot"),
        doc="parity: train on all lengths, or on the chain of thought alone",
    )
    init_scale: float = ps.field(
        0.0, symbol=r"\sigma", doc="standard deviation at the start (exhaustive arms)", at_least=0
    )
    handover: int = ps.field(
        1000,
        doc="handover arm: updates on even pairs before the chain of thought",
        at_least=1,
        traced=True,
    )

    def __check_init__(self) -> None:
        if self.lengths == "cot" and self.task != "parity":
            raise ps.SpecError(
                'lengths="cot" needs task="parity": even pairs have no chain of thought.'
            )

    @property
    def size(self) -> int:
        """$N$, the longest length."""
        if self.max_length is not None:
            return self.max_length
        return 2 * self.base_length - 2 if self.task == "parity" else 6

    @property
    def pivots(self) -> np.ndarray:
        """$c_L$ for every length."""
        if self.task == "parity":
            return data.parity_pivots(self.base_length, self.size)
        return data.even_pairs_pivots(self.size)

    @property
    def weights(self) -> np.ndarray:
        r"""$\alpha_L$: 1 for the lengths that are trained on."""
        return data.length_weights(self.size, self.base_length if self.lengths == "cot" else 1)


# Groups of fields, for arms to say what they read.
LANGUAGE = ("task", "max_length", "base_length", "lengths")
TRAINING = (*LANGUAGE, "lam", "eta", "switch", "schedule", "steps")


def in_theorem_setting(max_length: int) -> Spec:
    r"""The theorems' own scalings with unit constants: $\lambda = N^2$, $\eta = N^{-4/3}$, $t_0$ and $T$ as printed."""
    lam, eta, switch, last = theorem_setting(max_length)
    return Spec(max_length=max_length, lam=lam, eta=eta, switch=switch, steps=last)


default = Spec()
# Figure 7: the caption has five sizes and "shakespeare". The rest are the settings that nanoGPT's page gives with these sizes
# for characters on a laptop, or those of its file config/train_shakespeare_char.py.
figure_7 = TextSpec(
    corpus="tinyshakespeare",
    level="character",
    context=64,
    sequences=12,
    width=128,
    hidden=512,
    layers=4,
    heads=4,
    positions="learned",
    normalisation="pre",
    tied=True,
    bias=False,
    start="gpt",
    start_scale=0.02,
    method="adamw",
    rate=1e-3,
    warm_up=100,
    cosine=2000,
    clip=1.0,
    updates=2000,
    records=40,
    maps=2,
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

presets = {
    "tiny": (Spec(max_length=4, switch=10, steps=40), tiny_text),
    "figure_2": Spec(steps=2000),
    "figure_3": Spec(task="parity", steps=2000),
    "figure_4": Spec(lam=10.0, steps=10_000),
    "figure_5": Spec(lam=18.0, steps=10_000),
    "figure_6": Spec(schedule="vanilla", steps=2000),
    "figure_7": figure_7,
    "figure_7_config": figure_7.replace(dropout=0.2, cosine=5000, updates=5000, records=50),
    "extended": Spec(lam=1e4, eta=1.0, switch=7000, steps=1_007_000),
    "cot_alone": Spec(task="parity", lengths="cot", init_scale=0.01, steps=5000),
} | {f"theorem_{n}": in_theorem_setting(n) for n in (6, 16, 32, 64, 128, 256, 1024)}

# Section 6 states these numbers; how long the runs of its plots went on it does not say.
STATED = ("max_length", "lam", "eta", "switch", "schedule", "init_scale")
TRAINED = ("exhaustive", "symmetric")
TEXT_STATED = ("corpus", "context", "sequences", "layers", "heads", "width")
TEXT_GUESSED = ("level", "dropout", "rate", "warm_up", "cosine", "updates", "clip", "method")
protocols = {
    "figure_2": ps.protocol("Figure 2", arms=TRAINED, stated=STATED, guessed=("steps",)),
    "figure_3": ps.protocol(
        "Figure 3", arms=TRAINED, stated=(*STATED, "base_length"), guessed=("steps",)
    ),
    "figure_4": ps.protocol("Figure 4", arms=TRAINED, stated=STATED, guessed=("steps",)),
    "figure_5": ps.protocol("Figure 5", arms=TRAINED, stated=STATED, guessed=("steps",)),
    "figure_6": ps.protocol("Figure 6", arms=TRAINED, stated=STATED, guessed=("steps",)),
    "figure_7": ps.protocol(
        "Figure 7, settings of nanoGPT's page",
        arms=("text_gpt",),
        stated=TEXT_STATED,
        guessed=TEXT_GUESSED,
    ),
    "figure_7_config": ps.protocol(
        "Figure 7, settings of nanoGPT's file for characters",
        arms=("text_gpt",),
        stated=TEXT_STATED,
        guessed=TEXT_GUESSED,
    ),
}
