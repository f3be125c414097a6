"""One function per theorem, lemma and figure statement: the theory's, then the decoder's."""

from . import (
    attention,
    decoder,
    features,
    recursion,
    residual,
    self_training,
    starts,
    training_sets,
)

claims = (
    *features.claims,
    *attention.claims,
    *recursion.claims,
    *decoder.claims,
    *training_sets.claims,
    *self_training.claims,
    *residual.claims,
    *starts.claims,
)
