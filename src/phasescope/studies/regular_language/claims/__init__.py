"""One function per theorem, lemma and figure statement, in the order of the paper; then what is ours, and numbers kept."""

from . import (
    appendix_a,
    bookkeeping,
    chain_of_thought,
    early_laws,
    experiments,
    initialisation,
    initialisation_of_parity,
    loss,
    ours,
    phase_2,
    phase_2_lemmas,
    phase_2_setup,
    rate,
    regressions,
    separability,
    symmetry_lemmas,
    text,
    theorem_4_1,
    theorem_4_1_attention,
    theorem_5_1,
    theorem_5_1_thought,
)

claims = (
    *appendix_a.claims,
    *symmetry_lemmas.claims,
    *initialisation.claims,
    *theorem_4_1.claims,
    *theorem_4_1_attention.claims,
    *early_laws.claims,
    *separability.claims,
    *phase_2.claims,
    *phase_2_setup.claims,
    *phase_2_lemmas.claims,
    *loss.claims,
    *rate.claims,
    *initialisation_of_parity.claims,
    *theorem_5_1.claims,
    *theorem_5_1_thought.claims,
    *experiments.claims,
    *text.claims,
    *chain_of_thought.claims,
    *ours.claims,
    *bookkeeping.claims,
    *regressions.claims,
)

# Checks that are written before their evidence: a recording knows them.
awaiting = ()
