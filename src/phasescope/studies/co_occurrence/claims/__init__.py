"""Every statement of the paper that can be measured, in the paper's order, and what we found beside it."""

from . import appendix_f, attention, exact, experiment, late, phase_1, phase_2, start

claims = (
    *exact.claims,
    *start.claims,
    *phase_1.claims,
    *phase_2.claims,
    *appendix_f.claims,
    *late.claims,
    *attention.claims,
    *experiment.claims,
)
