"""Every claim of `scan_and_snap`, on the evidence it asks for."""

from phasescope.studies.scan_and_snap import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "C2-path-published": "sequences of 4096 tokens for one row: 13 s",
        "C24-published": "the sweeps of figure 6, at float32 sampled updates: 25 s for three rows",
        "C25-published": "rests on the sweeps of C24",
        "C28-published": "sampled updates of Adam for one row",
        "fig6-published": "rests on the sweeps of C24",
    }
