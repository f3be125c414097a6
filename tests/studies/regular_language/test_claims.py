"""Every claim of `regular_language` is shown evidence on which it must not hold."""

from phasescope.studies.regular_language import study

from ..contract import ClaimContract
from .counter_examples import COUNTER_EXAMPLES, REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = COUNTER_EXAMPLES
    repaired = REPAIRED
    about_no_change = ("C-noise",)  # a loss stays where it is
    stand_in = staticmethod(stand_in)
