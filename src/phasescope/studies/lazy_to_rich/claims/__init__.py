"""One function per theorem, lemma and figure statement, in the order of the paper; then what we found beyond it."""

from . import (
    durations,
    experiments,
    figure_2,
    figure_4,
    first_layer,
    four_gram,
    four_gram_laws,
    growth,
    induction,
    kernel,
    lemmas,
    ours,
    records,
    settling,
    stage_two,
    theorem_4,
    transition,
)

claims = (
    *first_layer.claims,
    *stage_two.claims,
    *theorem_4.claims,
    *durations.claims,
    *transition.claims,
    *four_gram.claims,
    *four_gram_laws.claims,
    *kernel.claims,
    *settling.claims,
    *induction.claims,
    *growth.claims,
    *lemmas.claims,
    *experiments.claims,
    *figure_2.claims,
    *figure_4.claims,
    *ours.claims,
    *records.claims,
)

# Checks that are written before their evidence: a recording knows them.
awaiting = ()
