"""Every claim of `regular_language`, on the evidence it asks for."""

from phasescope.studies.regular_language import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "scale-N-beyond": "five sizes compiled for one row: 8 s",
    }
