"""One function per theorem, lemma and figure statement: the theory's, then the decoder's."""

from . import (
    attention,
    bookkeeping,
    concentration,
    decoder,
    feature_limits,
    features,
    recursion,
    recursion_attention,
    residual,
    section_7_attention,
    section_7_reach,
    self_training,
    separation,
    starts,
    training_sets,
)

claims = (
    *features.claims,
    *feature_limits.claims,
    *attention.claims,
    *concentration.claims,
    *separation.claims,
    *recursion.claims,
    *recursion_attention.claims,
    *bookkeeping.claims,
    *section_7_reach.claims,
    *section_7_attention.claims,
    *decoder.claims,
    *training_sets.claims,
    *self_training.claims,
    *residual.claims,
    *starts.claims,
)

# Written before their evidence, which waits for a GPU: a recording knows their checks.
awaiting = ()
