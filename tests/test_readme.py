"""The README tells the truth: its table of verdicts is that of the claims' established outcomes."""

import re
from collections import Counter
from pathlib import Path

import pytest

from phasescope import find
from phasescope.discovery import installed, is_built_in

README = Path(__file__).parents[1] / "README.md"


def verdict_row(name: str) -> str:
    study = find(name)
    counts = Counter(regime.expect.value for claim in study.claims for regime in claim.regimes)
    page = f"src/phasescope/studies/{name}/README.md"
    numbers = (sum(counts.values()), counts["holds"], counts["fails"], counts["undecided"])
    return f"| [`{name}`]({page}) | {study.paper} | " + " | ".join(map(str, numbers)) + " |"


def test_the_table_of_verdicts_lists_every_built_in_study_with_its_established_outcomes():
    rows = [verdict_row(name) for name, point in installed().items() if is_built_in(point)]
    assert [row for row in rows if row not in README.read_text()] == []


def test_every_picture_and_page_that_the_readme_shows_is_there():
    text = README.read_text()
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    assert [
        link for link in links if "://" not in link and not (README.parent / link).exists()
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


def test_the_page_on_design_says_what_belongs_in_every_package():
    source = README.parent / "src" / "phasescope"
    packages = {f"`{path.parent.name}/`" for path in source.glob("*/__init__.py")}
    modules = {f"`{path.name}`" for path in source.glob("[a-z]*.py")}
    text = (README.parent / "docs" / "design.md").read_text()
    assert sorted(name for name in packages | modules if name not in text) == []
