"""Every claim of `co_occurrence` is shown evidence on which it must not hold."""

from phasescope.studies.co_occurrence import study

from ..contract import ClaimContract
from .counter_examples import COUNTER_EXAMPLES, REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = COUNTER_EXAMPLES
    repaired = REPAIRED
    stand_in = staticmethod(stand_in)
    not_held = {
        "drift": "zero: an identity holds it to 1e-11",
        "violation": "an identity holds it to its formula, whose error scales with it",
        "violation_error": "zero: an identity holds it to 1e-14",
        "error": "zero: an identity holds it to 1e-12",
    }
