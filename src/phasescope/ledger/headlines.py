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

FOUND = "What we found"
# A bracket with a colon in it that is no link.
BRACKET = re.compile(r"\[([^\[\]]*:\s[^\[\]]*)\](?!\()")
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
            item.strip() for inside in BRACKET.findall(self.text) for item in inside.split(";")
        ]
        return tuple(found)

    @property
    def begins(self) -> str:
        """Its first words, by which a message names it."""
        return self.text if len(self.text) < 60 else f"{self.text[:57]}..."


def headlines(page: str, section: str = FOUND) -> list[Headline]:
    """The bullets of the sections of a Markdown page whose heading begins with these words."""
    found = []
    for heading, lines in sections(page):
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


def sections(page: str) -> Iterator[tuple[str, list[str]]]:
    """The headings of a Markdown page, each with the lines under it."""
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
