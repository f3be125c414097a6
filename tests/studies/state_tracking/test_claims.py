"""Every claim of `state_tracking` is shown evidence on which it must not hold."""

from phasescope.studies.state_tracking import study

from ..contract import ClaimContract
from .counter_examples import THEORY_EXAMPLES, THEORY_REPAIRED
from .counter_examples_decoder import DECODER_EXAMPLES, DECODER_REPAIRED
from .counter_examples_section_7 import SECTION_7_EXAMPLES, SECTION_7_REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = THEORY_EXAMPLES | SECTION_7_EXAMPLES | DECODER_EXAMPLES
    repaired = THEORY_REPAIRED | SECTION_7_REPAIRED | DECODER_REPAIRED
    not_held = (
        dict.fromkeys(
            ("diagonal", "off_diagonal", "size_diagonal", "size_off_diagonal"),
            "a difference that is zero to rounding, or what it is compared with",
        )
        | dict.fromkeys(
            ("rollout_accuracy", "forced_accuracy", "accuracy_forced", "value_loss", "clipped"),
            "a mean over chains or pairs that no other observable gives",
        )
        | dict.fromkeys(
            ("began", "learned"), "the update of a first crossing: indB.1-order sees their order"
        )
        | dict.fromkeys(
            ("off_variable", "slot_loss", "copy_best", "strongest"), "an end state of one run"
        )
    )
    stand_in = staticmethod(stand_in)
