"""Headlines are true: each names the rows that it rests on, with the words that these have."""

import re
from pathlib import Path

import pytest
import xarray as xr

import phasescope as ps
from phasescope import Study, find
from phasescope.discovery import installed, is_built_in
from phasescope.ledger.headlines import BRACKET
from phasescope.testing.headlines import Headline, bullets, headlines, untrue

ROOT = Path(__file__).parents[1]
STUDIES = sorted(name for name, point in installed().items() if is_built_in(point))


def page_of(study: str) -> str:
    return (ROOT / "src" / "phasescope" / "studies" / study / "README.md").read_text()


def on_the_page_of(study: str) -> list[Headline]:
    """What the page says in short, and what it says was found."""
    page = page_of(study)
    return [*headlines(page, "In short"), *headlines(page)]


def in_the_readme_about(study: str) -> list[Headline]:
    """The bullets of README that begin with a link to the study."""
    lines = (ROOT / "README.md").read_text().splitlines()
    return [Headline(text) for text in bullets(lines) if text.startswith(f"[`{study}`](")]


def all_of(study: str) -> list[Headline]:
    return [*on_the_page_of(study), *in_the_readme_about(study)]


@pytest.mark.parametrize("name", STUDIES)
def test_a_headline_says_of_its_rows_what_is_established(name):
    study = find(name)
    assert [wrong for headline in all_of(name) for wrong in untrue(study, headline)] == []


# A number, or a power of ten, that a word does not go on with: of "thm4.5" there is none.
NUMBER = re.compile(r"(?<![\w.^-])\d+(?:,\d{3})*(?:\.\d+)?")


@pytest.mark.parametrize("name", STUDIES)
def test_a_number_in_readme_stands_on_the_page_of_its_study(name):
    """Where the tests of the study hold it against the rows."""
    page = NUMBER.findall(page_of(name))
    texts = [BRACKET.sub("", headline.text) for headline in in_the_readme_about(name)]
    assert [x for text in texts for x in NUMBER.findall(text) if x not in page] == []


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_headlines_and_those_of_a_typed_one_name_their_rows(name):
    found = all_of(name)
    is_typed = all(claim.typed is not None for claim in find(name).claims)
    assert on_the_page_of(name)
    assert in_the_readme_about(name)
    assert [h.begins for h in found if is_typed and not h.items] == []


@pytest.mark.parametrize("name", STUDIES)
def test_a_page_begins_with_what_is_worth_knowing(name):
    headings = re.findall(r"^## (.*)$", page_of(name), re.MULTILINE)
    assert headings[0] == "In short"
    assert 3 <= len(headlines(page_of(name), "In short")) <= 5


# --- the reader of headlines itself -----------------------------------------------------------------------------------


def table():
    return xr.Dataset({"rate": 1.0})


def small_study() -> Study:
    @ps.claim(
        "Lemma 1",
        ps.on("closed form", ps.tables(table)),
        ps.on("population", ps.tables(table), expect="not_yet", because="it is slow"),
        id="lem1-rate",
        kind="rate",
    )
    def rate(table):
        """The rate is 1."""
        return ps.agree(table.rate, 1.0, rtol=0.1)

    @ps.claim(
        "Lemma 2", ps.beyond(ps.tables(table), expect=ps.Outcome.FAILS, because="so"), id="C2"
    )
    def old(table):
        """Untyped."""
        return ps.negative(table.rate)

    class Spec(ps.Spec):
        eta: float = 0.1

    return ps.Study("small", Spec(), arms=(), claims=(rate, old))


@pytest.mark.parametrize(
    "text",
    [
        "It holds [lem1-rate (closed form): holds].",
        "It is slow [lem1-rate (population): not yet; C2: fails].",
        "It is slow [lem1-rate (population, theory): not_yet] and more [C2 (beyond): fails].",
        "An interval [-1.8, -1.5] and a [link: here](README.md) are no references.",
    ],
)
def test_a_headline_that_is_so_is_let_be(text):
    assert untrue(small_study(), Headline(text)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("It [lem1-rate: holds].", '"lem1-rate" is said to be holds, and is holds, not_yet'),
        ("It [lem1-rate (closed form): false].", '"lem1-rate" is said to be false, and is holds'),
        ("It [lem9: holds].", 'small has no claim "lem9"'),
        ("It [C2 (training): fails].", 'no row of "C2" is of training'),
        ("It [C2: fails, lem1-rate: holds].", "is not of the form"),
    ],
)
def test_a_headline_that_is_not_so_is_named_with_what_is(text, problem):
    (wrong,) = untrue(small_study(), Headline(text))
    assert wrong.startswith("It [")
    assert problem in wrong


def test_headlines_are_the_bullets_of_the_sections_on_what_was_found():
    page = "# a\n* no\n## What we found, again\n* one\n  goes on\n\n  and on\n* two\ntext\n## b\n* no\n"
    assert [h.text for h in headlines(page)] == ["one goes on", "two"]
