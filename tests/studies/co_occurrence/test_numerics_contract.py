"""What every study promises; by itself, since it compiles every arm twice."""

from phasescope.studies.co_occurrence import study
from phasescope.testing import check_study


def test_the_study_keeps_its_contract():
    check_study(study, evidence=False)
