"""Every claim of `lazy_to_rich` is shown evidence on which it must not hold."""

from phasescope.studies.lazy_to_rich import study

from ..contract import ClaimContract
from .counter_examples import COUNTER_EXAMPLES, REPAIRED
from .stand_ins import stand_in


class TestClaims(ClaimContract):
    study = study
    counter_examples = COUNTER_EXAMPLES
    repaired = REPAIRED
    stand_in = staticmethod(stand_in)
    # Columns of tables: ours-many-keys and ours-eq10-length hold them by their limits.
    not_held = dict.fromkeys(
        ("X", "deviation", "limit_S", "limit_X", "limit_level", "limit_slope", "printed_X"),
        "a column of a table, which a limit or a standard error holds",
    )
