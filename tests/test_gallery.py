"""The gallery shows every figure of every study, with the line that makes it, and stays small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from phasescope import find
from phasescope.discovery import installed, is_built_in

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
STUDIES = sorted(name for name, point in installed().items() if is_built_in(point))


@pytest.mark.parametrize("study", STUDIES)
def test_the_gallery_has_every_figure_with_its_picture_and_its_line(study):
    page = (GALLERY / f"{study}.md").read_text()
    ids = [figure.id for figure in find(study).figures]
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == ids
    assert re.findall(rf"^phasescope draw {study} --figure (.+)$", page, re.MULTILINE) == ids
    assert sorted(path.stem for path in (GALLERY / study).glob("*.webp")) == sorted(ids)


@pytest.mark.parametrize("study", STUDIES)
def test_captions_are_in_the_words_of_the_figures(study):
    """Whatever the numbers, which a drawing fills in."""
    lines = re.sub(r"\\([*_<\[\]|])", r"\1", (GALLERY / f"{study}.md").read_text()).splitlines()

    def is_there(caption: str) -> bool:
        words = re.escape(caption).replace(re.escape("..."), ".+?")
        return any(re.fullmatch(words, line) for line in lines)

    assert [figure.id for figure in find(study).figures if not is_there(figure.caption)] == []


def test_captions_have_their_numbers():
    unfilled = r"\{\w+:[^}]*\}"
    found = [p.name for p in GALLERY.glob("*.md") if re.search(unfilled, p.read_text())]
    assert found == []


def test_the_pictures_take_less_than_three_megabytes():
    assert sum(path.stat().st_size for path in GALLERY.rglob("*.webp")) < 3e6
