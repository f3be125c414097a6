"""How many rows of a ledger have which word: the paper's statements first, ours next, the rest apart."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..claims.statement import Kind, Whose
from .appearance import SYMBOLS, key

if TYPE_CHECKING:
    from .ledger import Row


class Group(enum.StrEnum):
    """Whose statement a row is about; what is not a result, or has no word, is counted apart."""

    PAPER = "the paper's"
    CORRECTED = "the paper's, corrected"
    OURS = "ours"
    REGRESSION = "regressions"
    UNTYPED = "untyped"


@dataclasses.dataclass(frozen=True)
class Tally:
    """Rows by group and word. Every row is counted once, under the word that it has; `surprises`
    says how many of them have another word than the established one.
    """

    words: Mapping[Group, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    surprises: int = 0

    @property
    def total(self) -> int:
        return sum(sum(found.values()) for found in self.words.values())

    def __str__(self) -> str:
        parts = [f"{group}: {in_words(found)}" for group, found in self.words.items()]
        return "; ".join([*parts, surprises_in_words(self.surprises)])


def group_of(kind: str | None, whose: str | None) -> Group:
    """The group of a statement."""
    if kind is None:
        return Group.UNTYPED
    if kind == Kind.REGRESSION:
        return Group.REGRESSION
    named = {Whose.PAPER: Group.PAPER, Whose.CORRECTED: Group.CORRECTED, Whose.OURS: Group.OURS}
    return named[Whose(whose or Whose.PAPER)]


def tally(entries: Iterable[tuple[Group, str]], surprises: int = 0) -> Tally:
    """Count groups and words; both come in their usual order."""
    found = Counter(entries)
    words = {}
    for group in Group:
        counted = {word: found[group, word] for word in SYMBOLS if found[group, word]}
        if counted:
            words[group] = counted
    return Tally(words, surprises)


def counts(ledger: Iterable[Row]) -> dict[str, Tally]:
    """The tally of every study in the ledger."""
    studies: dict[str, list[Row]] = {}
    for row in ledger:
        studies.setdefault(row.study, []).append(row)
    return {
        study: tally(
            ((group_of(row.kind, row.whose), key(row)) for row in rows),
            surprises=sum(row.surprising for row in rows),
        )
        for study, rows in studies.items()
    }


def in_words(words: Mapping[str, int]) -> str:
    """`12 hold, 3 false, 1 not yet`; `none` if there are none."""
    return ", ".join(f"{n} {_verb(word, n)}" for word, n in words.items() if n) or "none"


def surprises_in_words(number: int) -> str:
    """`no surprise`, `1 surprise`, `2 surprises`."""
    if number == 0:
        return "no surprise"
    return "1 surprise" if number == 1 else f"{number} surprises"


def _verb(word: str, number: int) -> str:
    plain = word.replace("_", " ")
    return plain.removesuffix("s") if word in ("holds", "fails") and number != 1 else plain
