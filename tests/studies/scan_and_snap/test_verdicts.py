"""Every claim of `scan_and_snap`, on the evidence it asks for."""

from phasescope.studies.scan_and_snap import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
