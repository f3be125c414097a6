"""The README tells the truth: its table of verdicts is that of the claims' established outcomes."""

from collections import Counter
from pathlib import Path

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
    assert [link for link in links if "://" not in link and not (README.parent / link).exists()] == []
