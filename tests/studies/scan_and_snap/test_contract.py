"""`scan_and_snap` keeps the contract of a study: every arm runs, and a lane of a sweep is the run by itself."""

from phasescope.studies.scan_and_snap import study
from phasescope.testing import check_study


def test_the_study_keeps_its_contract():
    check_study(study, evidence=False)
