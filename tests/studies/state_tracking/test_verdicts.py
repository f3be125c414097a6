"""Every claim of `state_tracking`, on the evidence it asks for."""

from phasescope.studies.state_tracking import study

from ..contract import VerdictContract

SIX_STAGES = "six stages of two groups, each compiled: 50 s; thm5.1-1 has three of one group"
MANY_SIZES = "five sizes at two clips for two groups: 60 s; lemF.16-a has one size at three clips"


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "thm5.1-1-six-population-theory": SIX_STAGES,
        "cor5.1-population-theory": SIX_STAGES,
        "ours-gap-sign-population-theory": SIX_STAGES,
        "ours-small-clip-population-theory": SIX_STAGES,
        "ours-early-threshold-population-theory": "six stages compiled for one row: 15 s",
        "lemE.35-a-population-theory": MANY_SIZES,
        "lemE.33-lemF.14-population-theory": MANY_SIZES,
        "lemE.34-population-theory": MANY_SIZES,
        "thm5.1-time-population-theory": MANY_SIZES,
        "indE.2-a-population-theory": MANY_SIZES,
        "lemD.44-population-beyond": "6,000 updates of two groups: 15 s; lemD.44 on the path stays",
        "lemA.12-copy-population-theory": "the whole model at 24 variables: 15 s; "
        "test_numerics_theory_features holds its slope",
        "copy-numbers-population-theory": "rests on the run of lemA.12-copy",
        "indB.1-intervals-population-theory": "rests on the sweeps of indB.1-order",
        "indB.1-order-population-theory": "four sweeps of 70,000 steps: 20 s",
        "ours-equal-attention-closed_form-theory": "four tables of rollouts for one row: 10 s",
        "ours-equal-loss-population-theory": "three paths for one row: 9 s",
        "ours-equal-updates-population-beyond": "6,000 updates of a third group: 12 s",
    }
    on_the_page = {
        "thm4.1-1": ("0.51", "0.38", "0.63"),
        "thm4.1-time": ("3.5", "4.1"),
        "thmB.1-AC": ("-46.8", "-62.6"),
        "thm5.1-2": ("500", "2500"),
        "ours-eps-over-clip": ("2.4",),
        "fig1a-contrast": ("0.07", "-0.03", "0.17"),
        "ours-fig1a-few": ("0.43", "0.00", "0.85"),
        "fig1b-gain": ("0.15", "0.12", "0.18"),
        "fig1b-end": ("0.54",),
        "fig2": ("13", "31"),
        "fig7-contrast": ("0.24", "0.13", "0.36"),
    }
