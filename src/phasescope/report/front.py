"""The first screen: what this is, and of every study a paragraph, a picture and its headlines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ledger.appearance import SYMBOLS
from ..ledger.headlines import Headline
from ..ledger.html import name_of
from ..ledger.markup import Markup, join, safe_name, tag
from ..ledger.tally import Tally, counts
from .anchors import between
from .figures import picture
from .gather import Section
from .prose import lead_and_rest, prose, words_of

if TYPE_CHECKING:
    from ..ledger.ledger import Row

ARXIV = "https://arxiv.org/abs/"


def opening(title: str, rows: Sequence[Row], studies: int) -> Markup:
    """Title, what this is, and whether all is as established."""
    what = (
        "Theorems about the training dynamics of transformers, each held against runs, exact dynamics, the paper's "
        "own equations or closed forms. A row is a statement of a paper (or of ours) with the word that its check "
        "earned, the numbers behind it, and a plot of what was compared."
    )
    return tag("header", tag("h1", title), tag("p", what, class_="lede"), _state(rows, studies))


def _state(rows: Sequence[Row], studies: int) -> Markup:
    surprises = sum(tally.surprises for tally in counts(rows).values())
    claims = len({(row.study, row.claim) for row in rows})
    if surprises == 0:
        verdict: Markup | str = "Every word is the established one."
    else:
        differ = "1 word differs" if surprises == 1 else f"{surprises} words differ"
        verdict = tag("a", f"{differ} from what was established.", href="#surprises")
    parts = (_count(studies, "study"), _count(claims, "claim"), _count(len(rows), "row"))
    return tag("p", f"{', '.join(parts)}. ", verdict)


def _count(number: int, word: str) -> str:
    """`1 claim`, `2 claims`, `2 studies`."""
    plural = f"{word.removesuffix('y')}ies" if word.endswith("y") else f"{word}s"
    return f"{number} {word if number == 1 else plural}"


def study_card(section: Section) -> Markup:
    """A study in a paragraph, a picture and its headlines."""
    study = section.study
    said = section.about
    tally = counts(section.rows).get(study.name, Tally())
    heading = tag("h2", tag("code", study.name), f": {said.title}" if said.title else None)
    cover = section.cover
    left = [
        tag("p", paper(section), class_="paper") if study.paper or said.arxiv else None,
        tag("p", prose(said.setting)) if said.setting else None,
        tag("p", f"{tally}. ", _ways(section), class_="quiet"),
        _headlines(said.found, section.rows),
    ]
    right = picture(cover) if cover is not None else None
    body = tag("div", tag("div", *left), right, class_="card")
    return tag("section", heading, body, id=safe_name("study", study.name), class_="study")


def _ways(section: Section) -> Markup:
    """From a study to its rows and its figures."""
    name = section.study.name
    rows = tag("a", _count(len(section.rows), "row"), href=f"#{safe_name('rows', name)}")
    if not section.drawings:
        return rows
    drawn = _count(len(section.drawings), "figure")
    return between([rows, tag("a", drawn, href=f"#{safe_name('figures', name)}")])


def paper(section: Section) -> Markup:
    """The paper, with the way to it if the study, or its page, names one."""
    link = section.study.link or (section.about.arxiv and f"{ARXIV}{section.about.arxiv}")
    if not link:
        return join([section.study.paper])
    name = f"arXiv:{link.removeprefix(ARXIV)}" if link.startswith(ARXIV) else link
    there = tag("a", name, href=link, rel="noreferrer noopener", class_="outside-link")
    return join([section.study.paper, " ", there])


def _headlines(found: Sequence[Headline], rows: Sequence[Row]) -> Markup | None:
    """What was found; each opens to its conditions and the rows that it rests on."""
    if not found:
        return None
    items = [_headline(headline, rows) for headline in found]
    note = tag("p", "What was found; open a line for its conditions and the rows that it rests on.")
    return tag("div", note, tag("ul", *items), class_="headlines")


def _headline(headline: Headline, rows: Sequence[Row]) -> Markup:
    lead, rest = lead_and_rest(headline)
    words = [
        tag("span", tag("b", SYMBOLS[word], aria_hidden="true"), f" {said}", class_=name_of(word))
        for word in words_of(headline)
        if (said := word.replace("_", " "))
    ]
    line = join([prose(lead), " ", tag("span", *words, class_="rests-on")])
    if not rest:
        return tag("li", line)
    return tag("li", tag("details", tag("summary", line), tag("p", prose(rest, rows))))
