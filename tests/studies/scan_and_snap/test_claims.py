"""Every claim of `scan_and_snap` is shown evidence on which it must not hold."""

from phasescope.studies.scan_and_snap import study

from ..contract import ClaimContract
from .counter_examples import COUNTER_EXAMPLES, REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = COUNTER_EXAMPLES
    repaired = REPAIRED
    not_held = {
        "batch_loss": "the loss of one mini-batch: held by the released log within 10% (fig4-log)",
    }
    stand_in = staticmethod(stand_in)
