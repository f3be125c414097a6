"""text_plan: the plan of an arm that trains a decoder on text."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..plan.dynamics import State
from ..plan.plan import Plan, Stage
from ..plan.times import linear_times
from .corpora import read_corpus
from .decoder import initial
from .observables import TextObserved, measure, with_drift
from .sampling import Windows, check_size, fixed_windows
from .spec import TextSpec
from .starts import Draws
from .training import TextState, products_of, training


def text_plan(spec: TextSpec) -> Plan:
    """The plan of an arm that trains a decoder on a corpus: one stage, recorded at even times; `time` counts updates.

    **Arguments:** `spec`: a `TextSpec`.

    **Returns:** a `Plan`; the tokens of the corpus are its tables, so that another text of the same size compiles nothing.

    **Raises:** `CorpusError` if the corpus is missing, empty, or too short.
    """
    corpus = read_corpus(spec.corpus, spec.level, spec.types)
    columns = spec.sequences if spec.windows == "in_turn" else 1
    check_size(corpus, spec.context, columns)
    shape = spec.shape(len(corpus.types))

    def tables() -> tuple[np.ndarray, Windows]:
        return corpus.training, fixed_windows(corpus, spec.context, spec.probes)

    def init(key: Array, made: tuple[Any, Windows]) -> State:
        tokens, windows = jax.tree.map(jnp.asarray, made)
        draws = Draws(
            key=key,
            way=spec.start,
            scale=spec.start_scale,
            layers=spec.layers,
            size=shape.drawn,
            dtype=jnp.dtype(spec.dtype),
        )
        return State(TextState(initial(draws, shape, spec.start_slope), windows), tokens)

    def measured(state: TextState) -> TextObserved:
        with products_of(spec):
            return measure(state, spec.maps)

    return Plan(
        init=init,
        stages=(Stage("training", training(spec), linear_times(spec.updates, spec.records)),),
        measure=measured,
        derive=with_drift,
        tables=tables,
    )
