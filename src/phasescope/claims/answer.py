"""Answer: what the authors of a paper say to a row of the ledger."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from ..errors import PlanError


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the authors say to a claim; see `answer`."""

    text: str
    by: str
    date: str

    def __str__(self) -> str:
        return f"{self.text} ({self.by}, {self.date})"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dataclasses.asdict(self)


def answer(text: str, *, by: str, date: str) -> Answer:
    """What the authors of the paper say to a claim, for `ps.Study(answers=...)`.

        >>> said = ps.answer("Line 3 is for l < L.", by="A. Author", date="2026-11-16")
        >>> print(said)
        Line 3 is for l < L. (A. Author, 2026-11-16)

    **Arguments:** `text`: their words, or a faithful summary. `by`: who said it. `date`: when, as
    2026-11-16.

    **Returns:** an `Answer`; every row of the claim shows it, and the errata sheet too.

    **Raises:** `PlanError` without words or a name, or if the date is none.
    """
    if not text.strip() or not by.strip():
        raise PlanError("an answer has words and a name (text, by=...).")
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        raise PlanError(f'the date of an answer is written as 2026-11-16, got "{date}".') from None
    return Answer(text, by, date)
