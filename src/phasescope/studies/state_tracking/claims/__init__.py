"""One function per theorem, lemma and figure statement: the theory's, then the decoder's."""

from . import (
    attention,
    bookkeeping,
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
    *bookkeeping.claims,
    *section_7.claims,
    *decoder.claims,
    *training_sets.claims,
    *self_training.claims,
    *residual.claims,
    *starts.claims,
)

# Written before their evidence, which waits for a GPU: a recording knows their checks.
awaiting = ()
