"""The errata sheet of a paper: what its authors should know, with the rows that show it.

It is made of the errata that the study's page lists and of the rows of the ledger. An erratum and a row
belong together if the erratum names the claim or the claim names the erratum.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..claims.statement import Whose
from ..claims.words import Word
from ..files import Document

if TYPE_CHECKING:
    from .ledger import Row

# A statement of the paper whose row has one of these words belongs on its errata sheet.
DISPUTED = (Word.FALSE, Word.AGAINST, Word.VACUOUS, Word.NOT_REPRODUCED)
_NAMED = re.compile(r"`([^`]+)`")
_CELL = re.compile(r"(?<!\\)\|")


@dataclasses.dataclass(frozen=True)
class Erratum:
    """One entry: what the page says of it, the paper's statements that do not hold, and other rows
    that bear on it, the corrected statements among them.

    An entry that only rows know of has no label and no text.
    """

    label: str
    text: str
    disputed: tuple[Row, ...] = ()
    checks: tuple[Row, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return (*self.disputed, *self.checks)

    def to_json(self) -> Document:
        """As plain values."""
        return {
            "label": self.label,
            "text": self.text,
            "disputed": [row.to_json() for row in self.disputed],
            "checks": [row.to_json() for row in self.checks],
        }


@dataclasses.dataclass(frozen=True)
class ErrataSheet:
    """What the authors of a paper should know. Printed, it is Markdown.

    `counts` says how the paper's statements fare altogether, `version` which phasescope found it.
    """

    study: str
    paper: str
    version: str
    counts: str
    entries: tuple[Erratum, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Erratum]:
        return iter(self.entries)

    def command(self, row: Row) -> str:
        """What makes a row again."""
        return f"phasescope check {self.study} --claim {row.claim}"

    def first_with(self, row: Row) -> Erratum:
        """The first entry that has the row: there it is shown in full."""
        return next(entry for entry in self.entries if row in entry.rows)

    def to_json(self) -> Document:
        """As plain values."""
        facts = {name: getattr(self, name) for name in ("study", "paper", "version", "counts")}
        return facts | {"entries": [entry.to_json() for entry in self.entries]}

    def to_markdown(self) -> str:
        """The sheet as Markdown."""
        from .errata_markdown import errata_markdown

        return errata_markdown(self)

    def to_latex(self) -> str:
        """The sheet as a LaTeX document of its own."""
        from .errata_latex import errata_latex

        return errata_latex(self)

    def __repr__(self) -> str:
        return self.to_markdown()


def listed_errata(page: str) -> dict[str, str]:
    """The table of errata in a Markdown page, as text by label.

    It stands under a heading that begins with "Errata", a label and a text to a line.
    """
    found = {}
    inside = False
    for line in page.splitlines():
        if line.startswith("#"):
            inside = line.lstrip("# ").startswith("Errata")
        cells = [cell.strip() for cell in _CELL.split(line)]
        if inside and len(cells) == 4 and cells[1].strip("-: "):
            found[cells[1]] = cells[2]
    return found


def claims_named_in(text: str) -> set[str]:
    """The names between backticks."""
    return set(_NAMED.findall(text))


def errata_entries(listed: Mapping[str, str], rows: Iterable[Row]) -> tuple[Erratum, ...]:
    """The errata of a page with their rows, then the disputed statements that none of them names."""
    rows = list(rows)
    entries = []
    for label, text in listed.items():
        mine = [row for row in rows if _belongs(row, label, text)]
        entries.append(_entry(label, text, mine))
    placed = {row.claim for entry in entries for row in entry.rows}
    left = [row for row in rows if row.claim not in placed and is_disputed(row)]
    for claim in dict.fromkeys(row.claim for row in left):
        entries.append(_entry("", "", [row for row in left if row.claim == claim]))
    return tuple(entries)


def is_disputed(row: Row) -> bool:
    """A statement of the paper that does not hold as printed, and no assumption of it is broken."""
    return row.whose == Whose.PAPER and row.word in DISPUTED


def _entry(label: str, text: str, rows: Sequence[Row]) -> Erratum:
    disputed = tuple(row for row in rows if is_disputed(row))
    checks = tuple(row for row in rows if not is_disputed(row))
    return Erratum(label, text, disputed, checks)


def _belongs(row: Row, label: str, text: str) -> bool:
    """The erratum names the claim, or the claim one of the labels of the erratum."""
    labels = {part.strip() for part in label.split(",")}
    of_the_claim = {part.strip() for part in row.erratum.split(",")} - {""}
    return row.claim in claims_named_in(text) or bool(labels & of_the_claim)
