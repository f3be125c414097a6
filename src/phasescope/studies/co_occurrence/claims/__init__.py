"""Every statement of the paper that can be measured, in the paper's order, and what we found beside it."""

from . import (
    attention,
    attention_weights,
    bookkeeping,
    closed_system,
    experiment,
    first_gradients,
    frozen_attention,
    initialisation,
    late_time,
    phase_1,
    phase_1_end,
    phase_1_lemmas,
    phase_2,
    phase_2_lemmas,
    read_out,
    regressions,
)

claims = (
    *closed_system.claims,
    *initialisation.claims,
    *first_gradients.claims,
    *phase_1.claims,
    *phase_1_lemmas.claims,
    *phase_1_end.claims,
    *phase_2.claims,
    *phase_2_lemmas.claims,
    *read_out.claims,
    *late_time.claims,
    *attention.claims,
    *attention_weights.claims,
    *frozen_attention.claims,
    *experiment.claims,
    *bookkeeping.claims,
    *regressions.claims,
)
