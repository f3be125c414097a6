"""Every claim of `state_tracking`, on the evidence it asks for."""

from phasescope.studies.state_tracking import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
