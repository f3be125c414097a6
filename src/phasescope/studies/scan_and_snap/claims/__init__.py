"""One function per theorem, lemma and figure statement, in the order of the paper."""

from . import (
    attention,
    bookkeeping,
    counterfactual,
    counts,
    curves,
    decoder,
    decoupling,
    discussion,
    experiments,
    figure_6,
    force,
    freezing,
    gradients,
    matrices,
    momentum,
    pull,
    rates,
    roots,
    snapping,
    speed,
    text,
)

claims = (
    *gradients.claims,
    *bookkeeping.claims,
    *decoupling.claims,
    *decoder.claims,
    *roots.claims,
    *speed.claims,
    *counts.claims,
    *matrices.claims,
    *pull.claims,
    *attention.claims,
    *force.claims,
    *snapping.claims,
    *rates.claims,
    *freezing.claims,
    *counterfactual.claims,
    *curves.claims,
    *experiments.claims,
    *figure_6.claims,
    *discussion.claims,
    *momentum.claims,
    *text.claims,
)

# Checks that are written before their evidence: a recording knows them.
awaiting = ()
