"""Every claim of `co_occurrence`, on the evidence it asks for."""

from phasescope.studies.co_occurrence import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "appC-closed-training-theory": "test_numerics_arms compares the same two arms",
        "lemC.1-C.4-gradient-closed_form-beyond": "test_numerics_gram_matrices holds these equations against the weights; "
        "the row of distinct words stays",
        "ours-R2-descent-training-theory": "test_numerics_arms compares the same two arms",
        "ours-R3-population-theory": "test_numerics_symmetric_words compares the same two arms",
        "ours-fig1-distinct-training-beyond": "a flow at the size of the experiment for one row: 14 s",
        "ours-fig1-flow-training-beyond": "30,000 steps of descent for one row",
        "ours-threshold-random-training-beyond": "two sweeps at width 2048 for one row",
        "ours-attention-matters-population-beyond": "18 lanes to kappa t = 1e6 for two rows",
    }
    on_the_page = {
        "thm3.1-T1": ("11.4",),
        "ours-T1-natural": ("9.5",),
        "thm3.1-iii-close": ("4096", "-1.00"),
        "thm3.2-iv-one": ("30",),
        "ours-read-out-width": ("512",),
        "corF.12-values": ("1024",),
        "ours-loss-exponent": ("2048",),
        "thm3.3-ii-power": ("4096",),
        "lem4.2-much-smaller": ("0.03",),
        "lemD.8-0.01": ("0.001",),
        "sec3-jointly": ("0.7%",),
        "ours-balance-end": ("0.12",),
        "fig1-numbers": ("58", "0.001"),
        "ours-fig1-test": ("51",),
    }
