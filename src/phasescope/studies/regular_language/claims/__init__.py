"""One function per theorem, lemma and figure statement, in the order of the paper."""

from . import (
    chain_of_thought,
    experiments,
    implicit_bias,
    lemmas,
    ours,
    parity,
    phase_1,
    phase_2,
)

claims = (
    *lemmas.claims,
    *phase_1.claims,
    *phase_2.claims,
    *implicit_bias.claims,
    *experiments.claims,
    *parity.claims,
    *chain_of_thought.claims,
    *ours.claims,
)
