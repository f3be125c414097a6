"""Headlines: what a page says was found, with the rows of the ledger that it rests on.

A headline is a bullet of a page, and names its rows in square brackets behind the statement:

    * **Nothing is learned by T**, whatever the constants are [thm4.5-remark: false; thm4.5: trivial].
    * In training attention moves on [lemB.6-margin (training): outside].

An id stands with the word that all rows of the claim have; in parentheses, what they are held against
or the regime picks some of them. For an untyped claim the word is its outcome.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from ..claims.claim import Claim, Regime
from ..study import Study
from ..verbs.check import named

FOUND = "What we found"
# A bracket with a colon in it that is no link.
_BRACKET = re.compile(r"\[([^\[\]]*:\s[^\[\]]*)\](?!\()")
_ITEM = re.compile(r"([\w.'-]+)(?:\s*\(([^()]*)\))?\s*:\s*([a-z_ ]+)")


@dataclasses.dataclass(frozen=True)
class Reference:
    """Some rows of a claim, and the word that a headline says they have."""

    claim: str
    where: tuple[str, ...]
    word: str


@dataclasses.dataclass(frozen=True)
class Headline:
    """A bullet of a page, as one line of text."""

    text: str

    @property
    def items(self) -> tuple[str, ...]:
        """What stands in its brackets, as it is written."""
        found = [
            item.strip() for inside in _BRACKET.findall(self.text) for item in inside.split(";")
        ]
        return tuple(found)

    @property
    def begins(self) -> str:
        """Its first words, by which a message names it."""
        return self.text if len(self.text) < 60 else f"{self.text[:57]}..."


def headlines(page: str, section: str = FOUND) -> list[Headline]:
    """The bullets of the sections of a Markdown page whose heading begins with these words."""
    found = []
    for heading, lines in _sections(page):
        if heading.startswith(section):
            found += [Headline(text) for text in bullets(lines)]
    return found


def bullets(lines: Iterable[str]) -> Iterator[str]:
    """The bullets at the left margin, each with the lines that go on under it."""
    current: list[str] = []
    for line in lines:
        goes_on = bool(current) and line.startswith(" ") and bool(line.strip())
        if goes_on:
            current.append(line.strip())
            continue
        if current:
            yield " ".join(current)
            current = []
        if line.startswith("* "):
            current = [line.removeprefix("* ").strip()]
    if current:
        yield " ".join(current)


def _sections(page: str) -> Iterator[tuple[str, list[str]]]:
    heading = ""
    lines: list[str] = []
    for line in page.splitlines():
        if line.startswith("#"):
            yield heading, lines
            heading = line.lstrip("# ").strip()
            lines = []
        else:
            lines.append(line)
    yield heading, lines


def reference(item: str) -> Reference | None:
    """`thm4-TII (population): holds` in parts; None if it is not of that form."""
    found = _ITEM.fullmatch(item)
    if found is None:
        return None
    where = tuple(part.strip() for part in (found[2] or "").split(",") if part.strip())
    return Reference(found[1], where, found[3].strip().replace(" ", "_"))


def untrue(study: Study, headline: Headline) -> list[str]:
    """What a headline says of the study's rows that is not so, as sentences."""
    wrong = []
    for item in headline.items:
        asked = reference(item)
        problem = (
            f'"{item}" is not of the form "id: word"' if asked is None else _problem(study, asked)
        )
        if problem:
            wrong.append(f"{headline.begins}: {problem}.")
    return wrong


def _problem(study: Study, asked: Reference) -> str:
    claims = {claim.id: claim for claim in study.claims}
    if asked.claim not in claims:
        return f'{study.name} has no claim "{asked.claim}"'
    claim = claims[asked.claim]
    rows = [row for row in _rows(study, claim) if set(asked.where) <= _places(row)]
    if not rows:
        return f'no row of "{asked.claim}" is of {", ".join(asked.where)}'
    words = {str(row.expect) for row in rows}
    if words != {asked.word}:
        return f'"{asked.claim}" is said to be {asked.word}, and is {", ".join(sorted(words))}'
    return ""


def _rows(study: Study, claim: Claim) -> Iterator[Regime]:
    for regime in claim.regimes:
        yield named(study, claim, regime)


def _places(row: Regime) -> set[str]:
    """What a row is held against, and its regime."""
    return {str(row.name), str(row.on)}
