"""Sequences that another program trained on, checked before an arm is fed with them."""

from __future__ import annotations

import numpy as np

from ..errors import PlanError
from .corpora import read_corpus
from .spec import TextSpec


def check_tokens(spec: TextSpec, windows: np.ndarray, arm: str) -> None:
    """Every token is a whole number below the size of the vocabulary: those that are read and those that are predicted.

    **Arguments:** `spec`: the numbers of the run, which name its corpus. `windows`: `[update, sequence, place]`, or of
    another shape, which is for others to refuse. `arm`: the name that the error begins with.

    **Raises:** `PlanError` that names the first token that is none, and where it stands.
    """
    corpus = read_corpus(spec.corpus, spec.level, spec.types)
    types = len(corpus.types)
    wrong = ~((windows >= 0) & (windows < types) & (windows == np.floor(windows)))
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0]))
        raise PlanError(
            f"{arm}: {windows[place]} at {list(place)} of batches.windows is no token of {corpus.name}, whose {types} types are "
            f"numbered from 0 to {types - 1}; {int(wrong.sum())} of {windows.size} are none. The corpus, level= and types= "
            "have to be those of the other program."
        )
