"""The numbers of one run, and a preset for each experiment."""

from __future__ import annotations

import math
from typing import Any

import phasescope as ps
from phasescope.networks import TextSpec


class Spec(ps.Spec):
    """Defaults are Syn-Small of the paper's Figure 4, left: two classes, 34 tokens, 100 updates
    with momentum."""

    num_last: int = ps.field(2, doc="last tokens", at_least=1)
    per_last: int = ps.field(1, symbol="q", doc="classes that share a last token", at_least=1)
    common: int = ps.field(10, symbol="C", doc="tokens common to all classes", at_least=0)
    distinct: int = ps.field(10, symbol="D", doc="distinct tokens of a class", at_least=1)
    p_common: float = ps.field(
        1.0, symbol="p_c", doc="weight of a common token, before normalisation", above=0
    )
    p_min: float = ps.field(
        0.1, symbol=r"p_{\min}", doc="weight of the rarest distinct token", above=0
    )
    p_max: float = ps.field(
        1.0, symbol=r"p_{\max}", doc="weight of the most frequent distinct token", above=0
    )
    eta_Y: float = ps.field(1.0, symbol=r"\eta_Y", doc="step size of the decoder", above=0)
    eta_Z: float = ps.field(1.0, symbol=r"\eta_Z", doc="step size of the attention", at_least=0)
    ratio: float | None = ps.field(
        None,
        symbol=r"\eta_Y/\eta_Z",
        doc="where given, the decoder's step size is this times eta_Z",
        above=0,
    )
    momentum: float = ps.field(
        0.9, symbol=r"\mu", doc="heavy-ball momentum of sgd", at_least=0, at_most=1
    )
    momentum_Z: float | None = ps.field(
        None,
        symbol=r"\mu_Z",
        doc="momentum of the attention; by default that of the decoder",
        at_least=0,
        at_most=1,
    )
    optimiser: str = ps.field(
        "sgd",
        choices=("sgd", "adam", "flow"),
        doc="flow: the limit of small steps (population and symmetric arms)",
    )
    init: str = ps.field(
        "zero", choices=("zero", "uniform"), doc="uniform: within 1/sqrt(M) of zero"
    )
    batch: int = ps.field(128, symbol="B", doc="sequences in a mini-batch", at_least=1)
    seq_length: int = ps.field(
        128, symbol="T", doc="length of a sequence, query included", at_least=2
    )
    precision: str = ps.field(
        "float64",
        choices=("float64", "float32"),
        doc="sampled: numbers in which mini-batches are computed",
    )
    steps: int = ps.field(100, doc="updates", at_least=1, traced=True)
    horizon: float | None = ps.field(
        None, symbol="t", doc="end of flow arms; by default `steps`", above=0
    )
    classes: float | None = ps.field(
        None,
        symbol="K",
        doc="classes, where only their number matters; by default num_last * per_last",
        at_least=1,
    )
    vocabulary: float | None = ps.field(
        None, symbol="M", doc="outputs; by default all context, last and label tokens", at_least=2
    )
    rho_0: float = ps.field(
        1.0, symbol=r"\rho_0", doc="closed_form: norm of exp(z) P at the start", above=0
    )
    class_weight: str = ps.field(
        "mean",
        choices=("mean", "sum"),
        doc="theory, closed_form: whether updates of the attention are averaged",
    )

    def __check_init__(self) -> None:
        K = self.classes
        M = self.vocabulary
        if isinstance(K, float) and isinstance(M, float) and K > M:
            raise ps.SpecError(
                f"there are more classes than outputs (K > M): classes={K:g}, vocabulary={M:g}."
            )
        if isinstance(M, float) and K is None and self.num_last * self.per_last > M:
            raise ps.SpecError(
                f"there are more classes than outputs (K > M): {self.num_last} * {self.per_last} classes, "
                f"vocabulary={M:g}; raise vocabulary or leave it out."
            )

    @property
    def labels(self) -> int:
        """The number of classes of the data as it is laid out."""
        return self.num_last * self.per_last

    @property
    def context(self) -> int:
        """$S$: tokens that occur before the last one."""
        return self.common + self.distinct * self.labels

    @property
    def K(self) -> Any:
        """Classes, as a number."""
        return float(self.labels) if self.classes is None else self.classes

    @property
    def M(self) -> Any:
        """Outputs of the softmax, as a number."""
        if self.vocabulary is not None:
            return self.vocabulary
        if self.classes is None:
            return float(self.context + self.num_last + self.labels)
        return self.common + (self.distinct + 1) * self.classes + self.classes / self.per_last

    @property
    def rate_Y(self) -> Any:
        """The decoder's step size, given itself or by its ratio to the attention's."""
        return self.eta_Y if self.ratio is None else self.ratio * self.eta_Z

    @property
    def momenta(self) -> tuple[Any, Any]:
        """Of the decoder and of the attention."""
        return self.momentum, self.momentum if self.momentum_Z is None else self.momentum_Z

    @property
    def share(self) -> Any:
        """$1/K$ where updates of the attention are averaged over the classes, 1 where they are
        summed, as printed."""
        if self.class_weight == "mean":
            return 1 / self.K
        return 1.0

    @property
    def end(self) -> Any:
        """Where flow arms end, in batch-1 steps."""
        return 1.0 * self.steps if self.horizon is None else self.horizon


# Groups of fields, for arms to say what they read.
SIZES = ("num_last", "per_last", "common", "distinct", "classes", "vocabulary")
RATES = ("eta_Y", "eta_Z", "ratio")
MODEL = (*SIZES, "p_common", "p_min", "p_max", *RATES)
FLOW = (*MODEL, "steps", "horizon")
OPTIMISER = ("optimiser", "momentum", "momentum_Z", "init")

# The weight at which two classes overlap by 0.01, with one common and twenty distinct tokens.
SINGLE_COMMON = math.sqrt(0.01 / 0.99 * sum((0.1 + 0.9 * d / 19) ** 2 for d in range(20)))

default = Spec()
# In 32-bit numbers, as PyTorch's default: entropies are those in 64 bits to 1e-6.
syn_medium = Spec(
    num_last=10, per_last=2, init="uniform", eta_Y=1.0, eta_Z=0.5, precision="float32"
)
# Figures 7 and 10: a layer of PyTorch's encoder on WikiText-2, as the released code trains it. The caption has one rate of 5.
figure_7 = TextSpec(
    corpus="wikitext-2",
    level="plain_word",
    context=35,
    sequences=20,
    windows="in_turn",
    width=200,
    hidden=200,
    layers=1,
    heads=1,
    positions="sinusoidal",
    normalisation="post",
    activation="relu",
    attention_bias=True,
    scaled_embedding=True,
    start="pytorch",
    start_scale=0.1,
    rate=5.0,
    clip=0.5,
    dropout=0.3,
    updates=1500,
    records=30,
    maps=4,
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
    "tiny": (Spec(common=2, distinct=3, batch=8, seq_length=8, steps=6), tiny_text),
    "figure_3": Spec(classes=10, vocabulary=1000, eta_Z=0.5, class_weight="sum", horizon=1000.0),
    "figure_4": default,
    "figure_4_right": Spec(eta_Y=10.0),
    "figure_5": Spec(optimiser="adam", eta_Y=0.1, eta_Z=0.1),
    "figure_6": syn_medium,
    "figure_7": figure_7,
    "figure_7_released": figure_7.replace(network_rate=2.0),
    "figure_7_three_layers": figure_7.replace(layers=3, dropout=0.2),
    "figure_10": figure_7.replace(updates=15_000),
    "figure_8": Spec(classes=1, vocabulary=1000, eta_Y=1.0, horizon=60.0),
    "figure_9": Spec(
        classes=10, vocabulary=1000, eta_Y=2.0, eta_Z=1.0, class_weight="sum", horizon=1000.0
    ),
    "single_common": Spec(
        classes=10,
        vocabulary=1000,
        common=1,
        distinct=20,
        p_common=SINGLE_COMMON,
        optimiser="flow",
        horizon=1.4e5,
    ),
}

# The paper's experiments. What its text leaves out of Syn-Small and Syn-Medium (the frequencies of tokens, 100 updates, the
# outputs of the softmax, the start of Figure 6) is in the code and the logs that its authors released.
SYN = ("common", "distinct", "p_min", "p_max", "batch", "seq_length", "momentum", "steps", "init")
# The caption states these; the others are those of the released code.
TEXT_STATED = ("corpus", "layers", "method", "rate")
TEXT_GUESSED = ("level", "width", "hidden", "heads", "context", "sequences", "clip", "dropout")
protocols = {
    "figure_3": ps.protocol(
        "Figure 3",
        arms=("closed_form",),
        stated=("classes", "vocabulary", "eta_Z"),
        guessed=("eta_Y", "rho_0", "class_weight", "horizon"),
    ),
    "figure_4": ps.protocol(
        "Figure 4", arms=("sampled",), stated=(*SYN, "eta_Z"), varied={"eta_Y": (1.0, 10.0)}
    ),
    "figure_5": ps.protocol(
        "Figure 5",
        arms=("sampled",),
        stated=(*SYN, "optimiser"),
        varied={"ratio": (1.0,), "eta_Z": (0.1, 0.5, 1.0)},
    ),
    "figure_6": ps.protocol(
        "Figure 6",
        arms=("sampled",),
        stated=(*SYN, "per_last"),
        varied={
            "num_last": (1, 3, 5, 10),
            "eta_Z": (0.5, 1.0, 2.0, 3.0),
            "ratio": (1.0, 2.0, 5.0, 10.0),
        },
    ),
    "figure_7": ps.protocol(
        "Figure 7, one layer", arms=("text_attention",), stated=TEXT_STATED, guessed=TEXT_GUESSED
    ),
    "figure_7_released": ps.protocol(
        "Figure 7, one layer, rates of the released code",
        arms=("text_attention",),
        stated=TEXT_STATED,
        guessed=TEXT_GUESSED,
    ),
    "figure_7_three_layers": ps.protocol(
        "Figure 7, three layers", arms=("text_attention",), stated=TEXT_STATED, guessed=TEXT_GUESSED
    ),
    "figure_10": ps.protocol(
        "Figure 10",
        arms=("text_attention",),
        stated=("corpus", "layers", "method"),
        guessed=("rate", "updates", "arithmetic", *TEXT_GUESSED),
        scanned=("rate",),
    ),
    "figure_9": ps.protocol(
        "Figure 9",
        arms=("closed_form",),
        guessed=("classes", "vocabulary", "ratio", "eta_Z", "rho_0", "class_weight", "horizon"),
    ),
}
