"""Every claim of `regular_language`, on the evidence it asks for."""

from phasescope.studies.regular_language import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "ours-learning-time-N-training-beyond": "seven sizes compiled for one row: 12 s",
        "ours-half-time-N-training-beyond": "five sizes compiled for one row: 8 s",
    }
    on_the_page = {"ours-learning-time-N": ("0.8",)}
