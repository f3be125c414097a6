"""Every claim of `regular_language` is shown evidence on which it must not hold."""

from phasescope.studies.regular_language import study

from ..contract import ClaimContract
from .counter_examples import COUNTER_EXAMPLES, REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = COUNTER_EXAMPLES
    repaired = REPAIRED
    not_held = dict.fromkeys(
        ("token_asymmetry", "score_asymmetry", "pivot_asymmetry", "self_asymmetry"),
        "zero to rounding: two per cent of it are nothing",
    )
    stand_in = staticmethod(stand_in)
