"""Every built-in study says whose paper it is, where that is found, and how to cite it."""

from __future__ import annotations

import re

import pytest
import toys

import phasescope as ps
from phasescope.cli.catalogue import describe
from phasescope.cli.listing import show_catalogues
from phasescope.discovery import installed, is_built_in
from phasescope.report.closing import papers
from phasescope.report.gather import Section
from phasescope.report.prose import About, about
from phasescope.verbs.errata import page_of

BUILT_IN = [name for name, point in installed().items() if is_built_in(point)]


def surnames(authors):
    return [name.split()[-1] for name in authors]


@pytest.mark.parametrize("name", BUILT_IN)
def test_table_and_bibtex_name_the_authors_in_their_order(name):
    study = ps.find(name)
    entry = re.search(r"author = \{(.*)\}", study.bibtex)
    assert entry is not None
    assert [one.split(",")[0] for one in entry[1].split(" and ")] == surnames(study.authors)
    positions = [study.paper.index(surname) for surname in surnames(study.authors)]
    assert positions == sorted(positions)


@pytest.mark.parametrize("name", BUILT_IN)
def test_link_bibtex_and_page_name_one_preprint(name):
    study = ps.find(name)
    number = study.link.removeprefix("https://arxiv.org/abs/")
    assert re.fullmatch(r"\d{4}\.\d{5}", number)
    assert f"eprint = {{{number}}}" in study.bibtex
    assert about(page_of(study)).arxiv == number


def test_the_listing_of_a_study_shows_how_to_cite_it(capsys):
    study = ps.Study(
        "mine",
        toys.Spec(),
        (toys.quadratic,),
        authors=("Ann One", "Bob Two"),
        link="https://example.org/paper",
        bibtex="@misc{one,\n  title = {Mine},\n}\n",
    )
    show_catalogues({"mine": describe(study)}, ())
    shown = capsys.readouterr().out
    for words in ("https://example.org/paper", "ps.find('mine').bibtex"):
        assert words in shown


def test_the_report_names_the_authors_and_leads_to_the_paper():
    study = ps.Study(
        "mine",
        toys.Spec(),
        (toys.quadratic,),
        paper="Mine",
        authors=("<Ann>",),
        link='https://example.org/"><b>',
    )
    told = str(papers([Section(study, (), (), (), About())]))
    assert "By &lt;Ann&gt;." in told
    assert 'href="https://example.org/&quot;&gt;&lt;b&gt;"' in told.replace("&#34;", "&quot;")
    assert "<b>" not in told


@pytest.mark.parametrize("link", ["javascript:alert(1)", "arxiv.org/abs/2505.00926"])
def test_a_link_that_does_not_lead_to_the_web_is_refused(link):
    with pytest.raises(ps.SpecError, match="begins with https://"):
        ps.Study("mine", toys.Spec(), (toys.quadratic,), link=link)
