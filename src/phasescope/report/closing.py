"""The end of the page: figures, vocabulary, papers, runs, and how it was made."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..claims.words import Word
from ..identity.provenance import provenance
from ..ledger.appearance import SYMBOLS
from ..ledger.html import name_of
from ..ledger.markup import Markup, safe_name, tag
from ..ledger.vocabulary import GUARD, KINDS, MARGIN, OBJECTS, REGIMES, UNTYPED, WHOSE
from ..verbs.registration import commit_of
from .anchors import between, link
from .contents import PLACES
from .figures import gallery
from .front import paper
from .gather import Section

if TYPE_CHECKING:
    from ..ledger.ledger import Row


def figures(sections: Sequence[Section]) -> Markup:
    """All figures, study by study."""
    shown = []
    for section in sections:
        drawn = gallery(section)
        if drawn is not None:
            name = section.study.name
            shown += [tag("h3", name, id=safe_name("figures", name)), drawn]
    return _section("figures", *(shown or [tag("p", "None.")]))


def vocabulary() -> Markup:
    """The words of the ledger, and the terms around them."""
    words = [
        tag(
            "dt", tag("b", SYMBOLS[word], aria_hidden="true"), f" {word.said}", class_=name_of(word)
        )
        + tag("dd", word.meaning)
        for word in Word
    ]
    groups = (
        ("Regimes: where the evidence lies", REGIMES),
        ("What a statement is held against", OBJECTS),
        ("Whose statement it is", WHOSE),
        ("Kinds of statements", KINDS),
        ("Numbers", {"margin": MARGIN, "guard": GUARD, "untyped": UNTYPED}),
    )
    lists = [tag("h3", "Words") + tag("dl", *words)]
    lists += [tag("h3", title) + _terms(terms) for title, terms in groups]
    return _section("vocabulary", tag("div", *(tag("div", one) for one in lists), class_="terms"))


def _terms(terms: Mapping[Any, str]) -> Markup:
    return tag("dl", *(tag("dt", str(term)) + tag("dd", said) for term, said in terms.items()))


def papers(sections: Sequence[Section]) -> Markup:
    """What to cite."""
    items = []
    for section in sections:
        bibtex = section.study.bibtex
        authors = ", ".join(section.study.authors)
        by = f" By {authors}." if authors else None
        told = tag("details", tag("summary", "BibTeX"), tag("pre", bibtex)) if bibtex else None
        name = tag("code", section.study.name)
        items.append(tag("li", name, ": ", paper(section) or "no paper is named", by, told))
    return _section("papers", tag("ul", *items))


def runs(sections: Sequence[Section]) -> Markup:
    """Every stored run with the claims that rest on it."""
    users: dict[str, list[Row]] = {}
    for section in sections:
        for row in section.rows:
            for id in row.runs:
                users.setdefault(id, []).append(row)
    if not users:
        return _section("runs", tag("p", "No row rests on a stored run."))
    items = [
        tag("li", tag("code", id), ": ", _claims(rows), id=safe_name("run", id))
        for id, rows in users.items()
    ]
    told = tag("summary", f"{len(users)} runs, and the claims that rest on them")
    return _section("runs", tag("details", told, tag("ul", *items, class_="runs")))


def _claims(rows: Sequence[Row]) -> Markup:
    return between([link(row) for row in {row.claim: row for row in rows}.values()])


def made(now: datetime.datetime, code: Callable[..., Any]) -> Markup:
    """Date, commit, versions and device."""
    here = provenance()
    versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
    found = commit_of(code)
    commit = found["commit"] or "not known: no git here"
    if found["dirty"]:
        commit += ", with changes that are not committed"
    facts = {
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit,
        "versions": versions,
        "device": f"{here['device']}, {here['machine']}",
        "beside it": "ledger.json, ledger.md, ledger.tex, figures/, and an errata sheet of every paper that has errata",
    }
    listed = tag("dl", *(tag("dt", name) + tag("dd", fact) for name, fact in facts.items()))
    told = f"Written by phasescope {__version__}. This file is complete: it loads nothing from elsewhere."
    return tag("footer", tag("h2", PLACES["made"]), listed, tag("p", told), id="made")


def _section(id: str, *inner: Markup) -> Markup:
    return tag("section", tag("h2", PLACES[id]), *inner, id=id)
