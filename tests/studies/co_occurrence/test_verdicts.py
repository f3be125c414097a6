"""Every claim of `co_occurrence`, on the evidence it asks for."""

from phasescope.studies.co_occurrence import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
