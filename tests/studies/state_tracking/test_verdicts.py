"""Every claim of `state_tracking`, on the evidence it asks for."""

from phasescope.studies.state_tracking import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "5.1-1-theory": "six stages of two groups, each compiled: 50 s for six rows; 5.1-1-beyond stays",
        "5.1-2-theory": "rests on the runs of 5.1-1-theory; 5.1-2-beyond stays",
        "5.1-2-ratio-theory": "rests on the runs of 5.1-1-theory; 5.1-2-ratio-beyond stays",
        "5.1-cor-theory": "rests on the runs of 5.1-1-theory; 5.1-cor-beyond stays",
        "gap-feedback-theory": "rests on the runs of 5.1-1-theory; gap-feedback-beyond stays",
        "recursion-theory": "rests on the runs of 5.1-1-theory; recursion-beyond stays",
        "4.1-2-beyond": "rests on the runs of D.44-beyond; 4.1-2-theory stays",
        "D.44-beyond": "6,000 updates of two groups: 15 s for two rows; D.44-theory stays",
        "5.1-1-early-beyond": "six stages compiled for one row: 15 s",
        "A-theory": "the whole model at 24 variables: 15 s for one row; test_numerics_theory_features holds its slope",
        "B.1b-theory": "rests on the sweeps of B.3",
        "B.3-theory": "four sweeps of 70,000 steps: 20 s",
        "equal-attention-theory": "four tables of rollouts that no other row uses: 10 s",
        "separation-theory": "three paths for one row: 9 s",
        "separation-updates-beyond": "6,000 updates of a third group for one row: 12 s",
    }
