"""What a long command will take, said before it starts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .terminal import show_problem

if TYPE_CHECKING:
    from ..study import Study


def say_what_it_takes(studies: Sequence[Study], **asked: Any) -> None:
    """Say on standard error what a check or a report of these studies will take in time, memory and disk.

    `asked` are the arguments of `check_cost`. What cannot be foretold is left to the command itself to say.
    """
    from ..store import Store
    from ..verbs.check_cost import check_cost
    from ..verbs.expected import expected_sentence

    try:
        with warnings.catch_warnings():  # the command itself will warn
            warnings.simplefilter("ignore")
            rows = check_cost(*studies, **asked)
    except Exception:  # of a study's own code, which becomes a row of the ledger
        return
    if any(row["needed"] for row in rows):
        show_problem(expected_sentence(rows, Store(Store.default_root(asked["store"])).root))
