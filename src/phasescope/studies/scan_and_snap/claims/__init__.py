"""One function per theorem, lemma and figure statement, in the order of the paper."""

from . import (
    attention,
    decoder,
    decoupling,
    discussion,
    experiments,
    freezing,
    gradients,
    momentum,
    pull,
    rates,
    snapping,
)

claims = (
    *gradients.claims,
    *decoupling.claims,
    *decoder.claims,
    *pull.claims,
    *attention.claims,
    *snapping.claims,
    *rates.claims,
    *freezing.claims,
    *experiments.claims,
    *discussion.claims,
    *momentum.claims,
)
