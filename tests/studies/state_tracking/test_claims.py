"""Every claim of `state_tracking` is shown evidence on which it must not hold."""

from phasescope.studies.state_tracking import study

from ..contract import ClaimContract
from .counter_examples import THEORY_EXAMPLES, THEORY_REPAIRED
from .counter_examples_decoder import DECODER_EXAMPLES, DECODER_REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = THEORY_EXAMPLES | DECODER_EXAMPLES
    repaired = THEORY_REPAIRED | DECODER_REPAIRED
    stand_in = staticmethod(stand_in)
