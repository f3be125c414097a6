"""The numbers of one run of the decoder on text."""

from __future__ import annotations

import jax

from ..errors import CorpusError, SpecError
from ..spec import Spec, field
from .corpora import GENERATED, LEVELS, canonical
from .decoder import ACTIVATIONS, NORMALISATIONS, POSITIONS, Shape
from .starts import STARTS


class TextSpec(Spec):
    """A decoder on a corpus. Defaults are small and on the generated text, so that they run anywhere.

    The names differ from those of the studies' own models, which have other ranges and other meanings.
    """

    corpus: str = field(
        GENERATED,
        doc="wikitext-2, tinyshakespeare, generated, or the path of a text file; kept as NAME@DIGEST",
    )
    level: str = field("word", choices=LEVELS, doc="what a token is")
    types: int = field(0, doc="most frequent types that are kept; 0 for all", at_least=0)
    context: int = field(32, doc="tokens of a sequence; doubled sequences need 4", at_least=4)
    sequences: int = field(16, doc="sequences in a batch", at_least=1)
    windows: str = field(
        "anywhere",
        choices=("anywhere", "in_turn"),
        doc="sequences begin anywhere, or the text is cut into columns that are read in turn",
    )
    width: int = field(32, symbol="D", doc="width of the stream", at_least=1)
    hidden: int = field(128, doc="neurons of the feed-forward layer", at_least=1)
    layers: int = field(2, doc="attention layers, each with its network", at_least=1)
    heads: int = field(2, symbol="H", doc="heads of a layer", at_least=1)
    positions: str = field("alibi", choices=POSITIONS, doc="how positions are told")
    normalisation: str = field("none", choices=NORMALISATIONS, doc="layer normalisation")
    activation: str = field("gelu", choices=ACTIVATIONS, doc="of the network")
    tied: bool = field(False, doc="the read-out is the embedding")
    sees_itself: bool = field(True, doc="a token attends to itself, too")
    attention_bias: bool = field(False, doc="queries, keys, values and their output have biases")
    bias: bool = field(True, doc="all other layers have biases")
    scaled_embedding: bool = field(False, doc="embeddings are multiplied by the root of the width")
    start: str = field("gaussian", choices=STARTS, doc="how matrices are drawn")
    start_scale: float = field(0.01, doc="their size at the start", above=0)
    start_slope: float = field(0.01, doc="every ALiBi slope at the start")
    method: str = field("sgd", choices=("sgd", "adamw"), doc="how it is trained")
    rate: float = field(0.1, doc="learning rate", above=0)
    network_rate: float = field(
        1.0, doc="learning rate of the feed-forward layers over that of the rest", above=0
    )
    warm_up: int = field(0, doc="updates in which the rate rises", at_least=0, traced=True)
    cosine: int = field(
        0,
        doc="update until which the rate falls like a cosine; 0: it stays",
        at_least=0,
        traced=True,
    )
    last_rate: float = field(0.1, doc="rate after the fall over the rate", above=0, at_most=1)
    clip: float | None = field(None, doc="largest norm of a gradient; by default none", above=0)
    dropout: float | None = field(
        None, doc="share of activations dropped in training; by default none", at_least=0, below=1
    )
    second_moment: float = field(0.99, doc="decay of Adam's squares", above=0, below=1)
    weight_decay: float = field(0.1, doc="of AdamW, on matrices and embeddings", at_least=0)
    updates: int = field(1000, doc="updates", at_least=1, traced=True)
    records: int = field(50, doc="record times", at_least=1)
    probes: int = field(
        16, doc="fixed sequences that losses and attention are measured on", at_least=1
    )
    maps: int = field(0, doc="of them, those whose attention is recorded whole", at_least=0)
    arithmetic: str = field(
        "float32",
        choices=("float32", "float64", "tf32"),
        doc="of its floating-point numbers; tf32: float32 with products in tensor cores",
    )

    def __check_init__(self) -> None:
        if not isinstance(self.corpus, jax.Array):
            object.__setattr__(self, "corpus", _named(self.corpus))
        if self.width % self.heads:
            raise SpecError(
                f"width={self.width} cannot be cut into heads={self.heads}: take a multiple of {self.heads}."
            )
        if self.maps > self.probes:
            raise SpecError(
                f"maps={self.maps} are of the probes: take at most probes={self.probes}."
            )

    @property
    def dtype(self) -> str:
        """Of the parameters."""
        return "float64" if self.arithmetic == "float64" else "float32"

    def shape(self, vocabulary: int) -> Shape:
        """The sizes and parts of the decoder."""
        return Shape(
            vocabulary=vocabulary,
            context=self.context,
            width=self.width,
            hidden=self.hidden,
            layers=self.layers,
            heads=self.heads,
            positions=self.positions,
            normalisation=self.normalisation,
            activation=self.activation,
            tied=self.tied,
            sees_itself=self.sees_itself,
            attention_bias=self.attention_bias,
            bias=self.bias,
            scaled_embedding=self.scaled_embedding,
        )


def _named(corpus: str) -> str:
    try:
        return canonical(corpus)
    except CorpusError as problem:
        raise SpecError(f"corpus: {problem}") from None
