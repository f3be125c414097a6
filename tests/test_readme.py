"""The README tells the truth: its tables of verdicts are those of the claims' established words.

`python tests/test_readme.py` prints them, with `--write` it puts them into the README.
"""

import re
import sys
from pathlib import Path

import pytest

from phasescope import Study, find
from phasescope.claims.statement import Kind
from phasescope.claims.words import Word
from phasescope.discovery import installed, is_built_in
from phasescope.ledger.appearance import SYMBOLS
from phasescope.ledger.tally import Group, Tally, group_of, in_words, tally

README = Path(__file__).parents[1] / "README.md"
BENCHMARKS = Path(__file__).parents[1] / "benchmarks" / "README.md"
BEGIN = "<!-- tables of verdicts: python tests/test_readme.py --write -->\n"
END = "<!-- end of the tables -->\n"
CLAIM_NAMED = r"""check(?: |\(")(\w+)(?: --claim |", claim=")([\w.-]+)"""
NOT_TYPED = (
    "Not yet typed: the rows of these studies have an outcome and no word, and the paper's statements and\n"
    "ours are counted together."
)


def built_in_studies() -> list[Study]:
    return [find(name) for name, point in installed().items() if is_built_in(point)]


def established(study: Study) -> Tally:
    """The words that are established, the paper's statements and ours apart."""
    entries = []
    for claim in study.claims:
        kind = claim.typed.kind if claim.typed else None
        whose = claim.typed.whose if claim.typed else None
        entries += [(group_of(kind, whose), regime.expect.value) for regime in claim.regimes]
    return tally(entries)


def linked(study: Study) -> str:
    return f"[`{study.name}`](src/phasescope/studies/{study.name}/README.md)"


def cited(study: Study) -> str:
    """The paper in a few words, for a narrow column: its authors and where it appeared."""
    found = re.fullmatch(r"(.*? & \w+), .* \((.*)\)", study.paper)
    return f"{found[1]} ({found[2]})" if found else study.paper


def typed_row(study: Study) -> str:
    """A line of the table of words: the paper's statements, the corrected ones, ours, regressions."""
    words = established(study).words
    groups = (Group.PAPER, Group.CORRECTED, Group.OURS, Group.REGRESSION)
    cells = [in_words(words.get(group, {})) for group in groups]
    return f"| {linked(study)}: {cited(study)} | " + " | ".join(cells) + " |"


def untyped_row(study: Study) -> str:
    """A line of the table of outcomes."""
    counts = established(study).words[Group.UNTYPED]
    outcomes = [counts.get(outcome, 0) for outcome in ("holds", "fails", "undecided")]
    numbers = (sum(outcomes), *outcomes)
    return f"| {linked(study)} | {study.paper} | " + " | ".join(map(str, numbers)) + " |"


def tables_of_verdicts() -> str:
    """Both tables, as they stand in the README."""
    studies = built_in_studies()
    typed = [s for s in studies if established(s).words.keys() - {Group.UNTYPED}]
    untyped = [s for s in studies if Group.UNTYPED in established(s).words]
    lines = []
    if typed:
        heads = ("study", "the paper's statements", "corrected", "ours", "regressions")
        lines += [*head(heads), *map(typed_row, typed), ""]
    if untyped:
        heads = ("study", "paper", "rows", "hold", "fail", "undecided")
        lines += [NOT_TYPED, "", *head(heads), *map(untyped_row, untyped), ""]
    return "\n".join(lines)


def head(names: tuple[str, ...]) -> list[str]:
    return ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]


def parts_of_the_readme() -> tuple[str, str, str]:
    """What stands before the tables, the tables, and what stands after them."""
    before, rest = README.read_text().split(BEGIN)
    tables, after = rest.split(END)
    return before, tables, after


def test_the_tables_of_verdicts_are_those_of_the_claims_established_words():
    right = tables_of_verdicts()
    _, found, _ = parts_of_the_readme()
    assert found.strip() == right.strip(), f"`python {__file__} --write` puts right:\n{right}"


def test_the_speeds_of_the_readme_are_those_of_the_page_on_benchmarks():
    """Measured by hand, and written down there with the machine and its load."""
    number = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?=x| \|)")
    measured = set(re.findall(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?", BENCHMARKS.read_text()))
    fast = README.read_text().partition("## Fast")[2].partition("\n## ")[0]
    said = number.findall(fast)
    assert len(said) >= 14
    assert [x for x in said if x not in measured] == []


def test_every_picture_and_page_that_the_readme_shows_is_there():
    text = README.read_text()
    links = [part.split(")")[0].partition("#")[0] for part in text.split("](")[1:]]
    assert [
        link
        for link in links
        if "://" not in link and not (README.parent / link.partition("#")[0]).exists()
    ] == []


PAGES = [*sorted((README.parent / "docs").glob("*.md")), README.parent / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_or_names_is_there(page: Path):
    text = page.read_text()
    links = [
        page.parent / link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link
    ]
    named = [README.parent / path for path in re.findall(r"`(src/phasescope/[\w./]+)`", text)]
    assert [str(path) for path in links + named if not path.exists()] == []


def test_the_page_on_design_says_once_what_belongs_in_every_package():
    source = README.parent / "src" / "phasescope"
    packages = {f"{path.parent.name}/" for path in source.glob("*/__init__.py")}
    modules = {path.name for path in source.glob("[a-z]*.py")}
    text = (README.parent / "docs" / "design.md").read_text()
    firsts = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = [name for first in firsts for name in re.findall(r"`([^`]+)`", first)]
    assert sorted(named) == sorted(packages | modules)


def test_the_page_on_words_has_every_kind_and_every_word_with_its_symbol():
    text = (README.parent / "docs" / "words.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    kinds = [kind for kind in Kind if not any(line.startswith(f"| `{kind}` |") for line in lines)]
    words = [
        word
        for word in Word
        if not any(word.said in line and SYMBOLS[word] in line for line in lines)
    ]
    assert (kinds, words) == ([], [])


def test_every_claim_that_an_example_names_is_there():
    texts = [page.read_text() for page in (README, *PAGES)]
    asked = [pair for text in texts for pair in re.findall(CLAIM_NAMED, text)]
    studies = {study.name: study for study in built_in_studies()}
    known = {(name, id) for name, s in studies.items() for c in s.claims for id in c.names}
    assert asked
    assert [pair for pair in asked if pair[0] in studies and pair not in known] == []


if __name__ == "__main__":
    if "--write" in sys.argv:
        before, _, after = parts_of_the_readme()
        README.write_text(f"{before}{BEGIN}\n{tables_of_verdicts()}\n{END}{after}")
    else:
        print(tables_of_verdicts())
