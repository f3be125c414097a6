"""One function per theorem, lemma and figure statement: the theory's, then the decoder's."""

from . import (
    attention,
    decoder,
    features,
    recursion,
    residual,
    section_7,
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

# Written before their evidence: they are of the study as soon as it is there.
awaiting = section_7.claims
