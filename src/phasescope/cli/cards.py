"""Claims in full, as `check --claim` prints them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..ledger.card import card

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..study import Study


def cards(
    ledger: Ledger,
    studies: Sequence[Study],
    words: Sequence[str],
    claim: str,
    options: Mapping[str, bool],
) -> Iterator[str]:
    """A card for every study that has the claim.

    `words` are the studies as they were typed, if they were; `options` are the flags that were given.
    """
    width = min(max(shutil.get_terminal_size((100, 40)).columns, 60), 120)
    typed = words or [study.name for study in studies]
    given = [flag for flag, is_given in options.items() if is_given]
    for study, word in zip(studies, typed, strict=True):
        rows = [row for row in ledger if row.study == study.name]
        if rows:
            found = study.claim(claim)
            command = shlex.join(["phasescope", "check", word, "--claim", found.id, *given])
            yield card(found, rows, command, width)
