"""One function per theorem, lemma and figure statement, in the order of the paper; then what we found beyond it."""

from . import (
    experiments,
    first_layer,
    four_gram,
    growth,
    induction,
    kernel,
    lemmas,
    ours,
    stage_two,
    theorem_4,
    transition,
)

claims = (
    *first_layer.claims,
    *stage_two.claims,
    *theorem_4.claims,
    *transition.claims,
    *four_gram.claims,
    *kernel.claims,
    *induction.claims,
    *growth.claims,
    *lemmas.claims,
    *experiments.claims,
    *ours.claims,
)
