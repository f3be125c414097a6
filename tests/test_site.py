"""The site: built without a warning, every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("mkdocs", reason="the site needs phasescope[docs]")
pytest.importorskip("mkdocstrings", reason="the site needs phasescope[docs]")

ROOT = Path(__file__).parents[1]
# What a browser fetches by itself, as opposed to a link that a reader may follow.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """The addresses in a page, the places in it that can be linked to, and how many formulas it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.formulas = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            if value and (tag, name) in LOADED:
                self.loaded.append(value)
            elif value and name == "href":
                self.links.append(value)
        self.formulas += tag == "math"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of one small study, with a sheet of errata beside it."""
    folder = tmp_path_factory.mktemp("report")
    script = "from phasescope.cli.app import main; main()"
    subprocess.run(
        [sys.executable, "-c", script, "report", "linear_modes", "--out", "report"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (folder / "report" / "errata-a_paper.md").write_text("# Errata of a paper")
    return folder / "report"


@pytest.fixture(scope="module")
def site(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew, with a report."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PHASESCOPE_REPORT": str(report)},
        capture_output=True,
        text=True,
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}


def test_the_site_has_the_pages_of_docs_and_those_that_are_kept_elsewhere(site):
    own = [path.relative_to(ROOT / "docs") for path in sorted((ROOT / "docs").rglob("*.md"))]
    assert [path for path in own if not (site / path.with_suffix(".html")).exists()] == []
    studies = (ROOT / "src" / "phasescope" / "studies").glob("[a-z]*/README.md")
    missing = [p for p in studies if not (site / "studies" / f"{p.parent.name}.html").exists()]
    assert missing == []


def test_nothing_is_loaded_from_elsewhere(pages):
    far = [
        (path.name, x)
        for path, page in pages.items()
        for x in page.loaded
        if re.match(r"(\w+:)?//", x)
    ]
    assert far == []


def test_every_link_leads_to_a_page_and_a_place_that_are_there(pages, site):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are those of a server's root
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            known = pages.get(target)
            lost = known is not None and place and place not in known.places
            if not target.exists() or (lost and not place.startswith("__")):
                broken.append(f"{path.relative_to(site)} -> {link}")
    assert broken == []


def test_the_report_its_figures_and_its_sheets_of_errata_are_part_of_the_site(report, pages, site):
    written = [path.relative_to(report) for path in report.rglob("*") if path.is_file()]
    assert {"index.html", "errata-a_paper.md", "ledger.tex"} <= {str(path) for path in written}
    assert any(path.suffix == ".png" for path in written)
    assert [path for path in written if not (site / "report" / path).exists()] == []
    linked = pages[site / "report.html"].links
    assert {"report/index.html", "report/errata-a_paper.md"} <= set(linked)


def test_pictures_lead_to_themselves(site):
    text = (site / "gallery" / "regular_language.html").read_text()
    assert '<a class="picture" href="regular_language/figure_2.webp"><img' in text


def test_formulas_are_drawn_without_a_script(pages, site):
    assert pages[site / "studies" / "regular_language.html"].formulas > 50
    assert [path.name for path, page in pages.items() if 'class="tex"' in path.read_text()] == []


def test_every_public_name_has_exactly_one_entry_in_the_reference(site):
    stub = (ROOT / "src" / "phasescope" / "__init__.pyi").read_text()
    public = re.findall(r" as (\w+)$", stub, re.MULTILINE)
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    entries = [
        name
        for page in pages
        for name in re.findall(r"^::: phasescope\.(\w+)$", page.read_text(), re.M)
    ]
    assert sorted(entries) == sorted(public)
    built = "".join((site / "api" / f"{page.stem}.html").read_text() for page in pages)
    assert [name for name in public if built.count(f'id="phasescope.{name}"') != 1] == []
