"""The numbers of one run: of the theory's model, trained block by block, and of the decoder of the experiments."""

from __future__ import annotations

import math

import jax

import phasescope as ps

from . import data
from .actions import Action, named

# At the end of a stage the proof has loss d^-(C_B - 6.05): exp(-(1/2 - 3.01 c) 2B) with c = 1.005 log d / B.
MARGIN = 6.05


class ChainSpec(ps.Spec):
    """What both models have. Fields without a value are those of the arm: see the README."""

    group: str = ps.field(
        "C6", doc="the action: C6, S5, D4, A4, Q8, C2xC3, regS3, or rows written out"
    )
    variables: int = ps.field(60, symbol="N", doc="variables to name the chain with", at_least=2)
    samples: int = ps.field(200, doc="test chains at each length", at_least=1)
    eta: float | None = ps.field(
        None, symbol=r"\eta", doc="step size; by default that of the arm", above=0
    )
    steps: int | None = ps.field(
        None, doc="updates; by default those of the arm", at_least=1, traced=True
    )
    stages: int = ps.field(
        1, symbol="K", doc="stages of Algorithm 2 or of self-training", at_least=1
    )

    def __check_init__(self) -> None:
        named(self.group)  # an action that does not exist is refused

    @property
    def action(self) -> Action:
        """The group action by its table."""
        return named(self.group)

    @property
    def tokens(self) -> data.Vocabulary:
        """The vocabulary of the full models, $d = N + n_g + n_y + 1$."""
        return data.vocabulary(self.action, self.variables)


class TheorySpec(ChainSpec):
    """The theory's model, in full and reduced."""

    vocabulary: float = ps.field(
        1e6, symbol="d", doc="size of the vocabulary in the reductions", above=1
    )
    neurons: int | None = ps.field(
        None, symbol="m", doc="neurons per class; by default 2 n_y", at_least=1
    )
    power: int = ps.field(10, symbol="q", doc="exponent of the smoothed ReLU", at_least=2)
    knee: float | None = ps.field(
        None,
        symbol=r"\varrho",
        doc="where the smoothed ReLU turns linear; by default 1 / log d",
        above=0,
    )
    clip: float = ps.field(5.0, symbol="C_B", doc="logits are cut at B = C_B log d", above=0)
    activation: str = ps.field(
        "main", choices=("main", "zero", "app"), doc="reading of the smoothed ReLU below 0"
    )
    attention_eta: float = ps.field(
        1e-3, symbol=r"\eta / N", doc="step size of an entry of Q", above=0
    )
    threshold: float | None = ps.field(
        None,
        symbol="E_1",
        doc="a stage ends at loss d^-E_1; by default C_B - 6.05 as in the proof",
        above=0,
    )
    pace: str = ps.field(
        "steps",
        choices=("steps", "path"),
        doc="count updates, or follow the gradient-flow path in accelerated time",
    )
    feature_steps: int = ps.field(
        70_000, doc="updates of W before routing with trained features", at_least=1, traced=True
    )
    distance: int = ps.field(
        2000, doc="pace path: how many steps of fixed length along it", at_least=1, traced=True
    )
    stride: float = ps.field(
        0.005, doc="pace path: how far a step moves the fastest entry of Q", above=0
    )
    init_scale: float | None = ps.field(
        None, symbol=r"\sigma_0", doc="size of W at the start; by default d^-1/2", above=0
    )
    bias: float | None = ps.field(
        None, symbol="b", doc="bias of the neurons; by default sigma_0 log d", above=0
    )
    slot: int = ps.field(
        0, doc="output slot that is trained; 0 for all five", at_least=0, at_most=5
    )
    algorithm: int = ps.field(
        1,
        doc="Algorithm 1 trains steps 1 and 2, Algorithm 2 step 2 only",
        at_least=1,
        at_most=2,
    )
    features: str = ps.field(
        "ideal", choices=("ideal", "trained"), doc="limit features, or trained first"
    )
    start_43: float = ps.field(0.0, symbol="q_{43}", doc="diagonal of Q_43 at the start")
    start_44: float = ps.field(0.0, symbol="q_{44}", doc="diagonal of Q_44 at the start")

    def __check_init__(self) -> None:
        if self.neurons is not None and self.neurons < self.action.values:
            raise ps.SpecError(
                f"neurons={self.neurons} cannot hold the features of {self.group}: a class needs a neuron for each of "
                f"{self.action.values} values. Take neurons={self.action.values} or more."
            )
        if self.activation == "main" and self.power % 2:
            raise ps.SpecError(
                f'activation="main" needs an even power, got power={self.power}: odd ones are negative below 0.'
            )
        self._check_threshold()

    def _check_threshold(self) -> None:
        """A clipped logit leaves a loss of about d e^-B = d^(1 - C_B): no stage can end below it."""
        if isinstance(self.threshold, jax.Array) or isinstance(self.clip, jax.Array):
            return
        if self.threshold is None:
            if self.algorithm == 2 and self.clip <= MARGIN:
                raise ps.SpecError(
                    f"the proof ends a stage at loss d^-(C_B - {MARGIN}), which clip={self.clip:g} does not bring below 1. "
                    f"Take clip above {MARGIN}, or give a threshold below {self.clip - 1:g} yourself."
                )
            return
        if self.threshold >= self.clip - 1:
            raise ps.SpecError(
                f"threshold={self.threshold:g} asks for a loss of d^-{self.threshold:g}, but with clip={self.clip:g} no loss "
                f"falls below d^-{self.clip - 1:g}. Take clip above {self.threshold + 1:g} (the proof wants "
                f"{self.threshold + MARGIN:g}), or a threshold below {self.clip - 1:g}."
            )

    @property
    def per_class(self) -> int:
        """$m$, the number of neurons of a class."""
        return 2 * self.action.values if self.neurons is None else self.neurons


class DecoderSpec(ChainSpec):
    """The decoder of the experiments."""

    length: int = ps.field(5, symbol="L", doc="moves of a training chain", at_least=1)
    width: int = ps.field(64, symbol="d_{model}", doc="width of the stream", at_least=1)
    hidden: int = ps.field(256, doc="neurons of the feed-forward layer", at_least=1)
    heads: int = ps.field(2, symbol="H", doc="attention heads", at_least=1)
    residual: bool = ps.field(False, doc="add the stream around attention and feed-forward layer")
    layer_norm: bool = ps.field(
        False, doc="normalise before attention, feed-forward layer and heads"
    )
    embedding_scale: float = ps.field(1.0, doc="size of the embeddings at the start", above=0)
    batch: int = ps.field(128, doc="chains in a batch", at_least=1)
    dataset: int = ps.field(
        0,
        doc="chains of a fixed training set; 0 for fresh ones at every update",
        at_least=0,
        traced=True,
    )
    optimiser: str = ps.field("adam", choices=("adam", "sgd"), doc="how it is trained")
    stage_steps: int = ps.field(1500, doc="updates of each later stage", at_least=1, traced=True)
    records: int = ps.field(8, doc="record times of a stage", at_least=1)
    precision: str = ps.field(
        "float32", choices=("float32", "float64"), doc="of its floating-point numbers"
    )


# Groups of fields, for arms to say what they read.
NEURONS = ("neurons", "power", "knee", "clip", "activation", "init_scale", "bias")
FEATURES = ("group", "vocabulary", *NEURONS, "eta", "steps", "pace", "distance")
STAGES = ("attention_eta", "algorithm", "stages", "threshold", "feature_steps")
CHAINS = ("group", "variables", "length", "samples")
DECODER = (
    "width",
    "hidden",
    "heads",
    "residual",
    "layer_norm",
    "embedding_scale",
    "batch",
    "dataset",
    "optimiser",
    "eta",
    "steps",
    "records",
    "precision",
)


def end_of_stage(spec: TheorySpec):
    """$E_1$: given, or what the proof reaches."""
    return spec.clip - MARGIN if spec.threshold is None else spec.threshold


# The experiments of Section 7. Stated: groups, L = 5, two heads, Adam at 1e-4, 300 epochs. Guessed: all other numbers.
EPOCHS = 300


def section_7(group: str, dataset: int, **changes) -> DecoderSpec:
    """300 epochs over a fixed set of chains; members are drawn with replacement."""
    batch = 256
    made = DecoderSpec(
        group=group,
        variables=200,
        width=256,
        hidden=1024,
        batch=batch,
        eta=1e-4,
        dataset=dataset,
        steps=_whole(EPOCHS * dataset / batch, 20),
        records=20,
        samples=500,
    )
    return made.replace(**changes)


def _whole(number: float, parts: int) -> int:
    """The next number up that can be cut into so many equal parts."""
    return parts * math.ceil(number / parts)


default = ChainSpec()
presets = {
    "tiny": (
        TheorySpec(
            group="C3",
            variables=6,
            vocabulary=1e4,
            neurons=6,
            power=4,
            knee=0.1,
            eta=0.01,
            steps=8,
            threshold=1.0,
            distance=20,
            feature_steps=20,
            init_scale=0.01,
            bias=0.1,
            samples=8,
        ),
        DecoderSpec(
            group="C3",
            variables=6,
            length=2,
            eta=0.01,
            steps=8,
            samples=8,
            width=8,
            hidden=16,
            batch=4,
            stage_steps=4,
            records=2,
            precision="float64",
        ),
    ),
    "figure_1a": DecoderSpec(
        variables=200, width=256, hidden=1024, batch=256, eta=1e-4, steps=20_000
    ),
    # Algorithm 2 with the limit features and the thresholds of the proof, along the flow's path.
    "theorem_5_1": TheorySpec(
        group="S3",
        vocabulary=1e4,
        power=4,
        pace="path",
        algorithm=2,
        clip=20.0,
        stages=3,
        distance=2500,
    ),
    "section_7_C6": section_7("C6", 50_000),
    "section_7_S5": section_7("S5", 50_000),
    "section_7_S5_stages": section_7(
        "S5", 50_000, stages=3, stage_steps=_whole(20 * 50_000 / 256, 5), records=5
    ),
}
