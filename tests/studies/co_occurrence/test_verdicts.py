"""Every claim of `co_occurrence`, on the evidence it asks for."""

from phasescope.studies.co_occurrence import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "App.C-theory": "test_numerics_arms compares the same two arms",
        "C.1-beyond": "test_numerics_gram_matrices holds these equations against the weights; C.1-theory stays",
        "Fig1-distinct-beyond": "a flow at the size of the experiment for one row: 14 s",
        "Fig1-flow-beyond": "30,000 steps of descent for one row",
        "Fig1-flow-published": "30,000 steps of descent for one row",
        "R2-descent-theory": "test_numerics_arms compares the same two arms",
        "R3-theory": "test_numerics_symmetric_words compares the same two arms",
        "T3.1-iii-theory": "six sweeps for one row: 10 s; T3.1-iii-relative stays",
        "X2-random-beyond": "two sweeps at width 2048 for one row",
        "X3-where-beyond": "18 lanes to kappa t = 1e6 for one row",
    }
