"""Every statement of the paper that can be measured, in the paper's order, and what we found beside it."""

from . import (
    appendix_f,
    attention,
    closed_system,
    experiment,
    initialisation,
    late_time,
    phase_1,
    phase_2,
)

claims = (
    *closed_system.claims,
    *initialisation.claims,
    *phase_1.claims,
    *phase_2.claims,
    *appendix_f.claims,
    *late_time.claims,
    *attention.claims,
    *experiment.claims,
)
