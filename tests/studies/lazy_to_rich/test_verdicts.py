"""Every claim of `lazy_to_rich`, on the evidence it asks for."""

from phasescope.studies.lazy_to_rich import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
