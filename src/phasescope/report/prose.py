"""The prose of a study's README.md in the page: emphasis, code, formulas, and the rows that a headline names.

A small part of Markdown; whatever else stands there is shown as it is written.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..ledger.appearance import SYMBOLS, key
from ..ledger.headlines import BRACKET, Headline, headlines, reference, sections
from ..ledger.html import name_of
from ..ledger.markup import Markup, join, tag
from .anchors import anchor
from .mathematics import formula

if TYPE_CHECKING:
    from ..ledger.ledger import Row

_TOKEN = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\$\$(?P<display>[^$]+)\$\$"
    r"|\$(?P<formula>[^$]+)\$"
    rf"|(?P<rows>{BRACKET.pattern})"
    r"|\[(?P<text>[^\[\]]*)\]\([^()\s]*\)"
    r"|\*\*(?P<bold>.+?)\*\*"
    r"|\*(?P<italic>[^*\s][^*]*)\*"
)
_ARXIV = re.compile(r"arxiv[.:/ a-z]*?(\d{4}\.\d{4,5})", re.IGNORECASE)
# Where a full stop ends no sentence.
_OPAQUE = re.compile(r"\$[^$]*\$|`[^`]*`|\([^()]*\)")
SETTING = "Setting"


@dataclasses.dataclass(frozen=True)
class About:
    """What the README.md of a study says at the top of the report.

    `title` is what its heading says beside the name, `setting` the first paragraph on the setting, `arxiv` the number of
    the paper there; each is empty if the page does not have it.
    """

    title: str = ""
    setting: str = ""
    arxiv: str = ""
    found: tuple[Headline, ...] = ()


def about(page: str, *more: str) -> About:
    """What a README.md says of its study; `more` are other texts that may name the paper on arXiv."""
    title = ""
    setting = ""
    top = ""
    for heading, lines in sections(page):
        if not title and ":" in heading:
            title = heading.partition(":")[2].strip()
            top = "\n".join(lines)
        if heading == SETTING and not setting:
            setting = next(_paragraphs(lines), "")
    found = next((hit[1] for text in (top, *more) if (hit := _ARXIV.search(text))), "")
    return About(title, setting, found, tuple(headlines(page)))


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    current: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            current.append(line.strip())
        elif current:
            yield " ".join(current)
            current = []


def prose(text: str, rows: Sequence[Row] = ()) -> Markup:
    """Markdown within a line as HTML. `rows` are those that a headline may name."""
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(text):
        parts.append(text[end : found.start()])
        parts.append(_element(found, rows))
        end = found.end()
    return join([*parts, text[end:]])


def _element(found: re.Match[str], rows: Sequence[Row]) -> Markup:
    if found["code"]:
        return tag("code", found["code"])
    if found["display"] or found["formula"]:
        return formula(found["display"] or found["formula"])
    if found["rows"]:
        return _references(found["rows"], rows)
    if found["bold"]:
        return tag("b", prose(found["bold"], rows))
    if found["italic"]:
        return tag("i", prose(found["italic"], rows))
    return prose(found["text"] or "", rows)


def _references(bracket: str, rows: Sequence[Row]) -> Markup:
    """The rows that a headline rests on, each as a link with the symbol of its word."""
    links = [_reference(item.strip(), rows) for item in bracket[1:-1].split(";")]
    return tag("span", Markup(" ".join(links)), class_="rests-on")


def _reference(item: str, rows: Sequence[Row]) -> Markup:
    asked = reference(item)
    named = [row for row in rows if asked is not None and row.claim == asked.claim]
    named = [row for row in named if asked and set(asked.where) <= {str(row.regime), str(row.on)}]
    if asked is None or not named:
        return tag("span", item)
    word = tag("b", SYMBOLS[key(named[0])], aria_hidden="true")
    return tag("a", word, f" {item}", href=f"#{anchor(named[0])}", class_=name_of(key(named[0])))


def lead_and_rest(headline: Headline) -> tuple[str, str]:
    """The first sentence of a headline, up to the rows that it names, and what follows it."""
    text = headline.text
    bold = re.match(r"\*\*.+?\*\*", text)
    begin = bold.end() if bold else 0
    if bold and bold[0].endswith((".**", "!**")):
        return bold[0], text[begin:].strip()
    hidden = _OPAQUE.sub(lambda found: "x" * len(found[0]), text)
    ends = [found.start() for found in BRACKET.finditer(text, begin)][:1]
    ends += [found.end() for found in re.finditer(r"[.;](?=\s)", hidden) if found.end() > begin][:1]
    end = min(ends, default=len(text))
    return text[:end].strip(), text[end:].strip()


def words_of(headline: Headline) -> list[str]:
    """The words of the rows that a headline names, each once."""
    found = [asked.word for item in headline.items if (asked := reference(item))]
    return [word for word in dict.fromkeys(found) if word in SYMBOLS]
