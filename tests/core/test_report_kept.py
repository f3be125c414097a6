"""A report that is made again judges and draws only what changed."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

import phasescope as ps
from phasescope import report
from phasescope.report.code_digest import study_digest
from phasescope.report.codec import rows_from_json, rows_to_json
from phasescope.store import Store
from phasescope.verbs.context import Context

STUDY = '''
import os
from pathlib import Path

import numpy as np
import xarray as xr

import phasescope as ps

LOG = Path(__file__).with_name("log")


def note(word):
    """What was done, for the test to read."""
    LOG.write_text((LOG.read_text() if LOG.exists() else "") + word)


class Spec(ps.Spec):
    eta: float = 0.1


def curves():
    t = np.arange(1.0, 20.0)
    return xr.Dataset({"loss": ("time", 1 / t)}, {"time": t})


@ps.claim("Lemma 1", ps.on("closed form", ps.tables(curves)), kind="sign", tex="L > 0")
def stays_positive(ds):
    """The loss is positive."""
    note("judged ")
    return ps.positive(ds.loss - 0.0, "loss") & ps.guard(ps.decreasing(ds.loss, "loss"))


@ps.figure("Figure 1", ps.tables(curves))
def learning_curve(ds, axes):
    """The loss against time."""
    note("drawn ")
    ds.loss.plot(ax=axes)


def idle(spec):
    raise AssertionError("no arm is needed for tables")


study = ps.Study("small", Spec(), arms=(idle,), claims=(stays_positive,), figures=(learning_curve,))
'''


class Place:
    """A study in a file, a store, and how often its report judged and drew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "small.py"
        self.file.write_text(textwrap.dedent(STUDY))

    def edit(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def report(self, out: str = "out", store: bool = True) -> tuple[report.Report, str]:
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        context = Context(Store(self.folder / "store")) if store else Context()
        made = report.write_report([ps.find(str(self.file))], context, self.folder / out)
        return made, log.read_text().strip() if log.exists() else ""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path / "cache"))
    return Place(tmp_path)


def test_what_did_not_change_is_neither_judged_nor_drawn_again(place):
    first, did = place.report("one")
    again, did_again = place.report("two")
    assert (did, did_again) == ("judged drawn", "")
    assert again.ledger == first.ledger
    assert again.json.read_bytes() == first.json.read_bytes()
    assert [f.read_bytes() for f in again.drawn] == [f.read_bytes() for f in first.drawn]
    pages = [made.html.read_text(encoding="utf-8").split('id="made"')[0] for made in (first, again)]
    assert pages[0] == pages[1]
    assert "<svg" in pages[1]


def test_a_check_that_changed_is_judged_again_and_the_figure_is_not_drawn_again(place):
    place.report()
    place.edit("ds.loss - 0.0", "ds.loss - 0.5")
    made, did = place.report()
    assert did == "judged"
    assert made.ledger.rows[0].outcome == "fails"
    assert made.drawn[0].is_file()


def test_a_figure_whose_evidence_changed_is_drawn_again(place):
    place.report()
    place.edit("np.arange(1.0, 20.0)", "np.arange(1.0, 30.0)")
    assert place.report()[1] == "judged drawn"


def test_a_figure_whose_function_changed_is_drawn_again(place):
    place.report()
    place.edit("ds.loss.plot(ax=axes)", "ds.loss.plot(ax=axes, lw=3)")
    assert place.report()[1] == "judged drawn"


def test_files_that_were_edited_while_the_process_ran_are_not_trusted(monkeypatch):
    study = ps.find("regular_language")
    assert study_digest(study)
    monkeypatch.setattr("phasescope.report.code_digest.LOADED", 0.0)
    assert study_digest(study) is None


def test_a_study_is_not_judged_again_because_another_one_was_loaded(place):
    place.report()
    other = place.folder / "other.py"
    other.write_text(place.file.read_text().replace('"small"', '"other"'))
    ps.find(str(other))
    assert place.report()[1] == ""


def test_a_study_is_judged_again_if_a_helper_changed_from_which_it_has_a_number(place):
    helper = place.folder / "helper_of_small.py"
    helper.write_text("from further_of_small import SHIFT\n")
    (place.folder / "further_of_small.py").write_text("SHIFT = 0.0\n")
    place.edit("import os\n", "import os\nfrom helper_of_small import SHIFT\n")
    place.edit("ds.loss - 0.0", "ds.loss - SHIFT")
    place.report()
    assert place.report()[1] == ""
    (place.folder / "further_of_small.py").write_text("SHIFT = 0.1\n")
    assert place.report()[1] == "judged"
    for name in ("helper_of_small", "further_of_small"):
        del sys.modules[name]


def test_without_a_store_nothing_is_kept(place):
    place.report(store=False)
    assert place.report(store=False)[1] == "judged drawn"


def test_nothing_is_kept_where_caches_are_switched_off(place, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_CACHE", "0")
    place.report()
    assert place.report()[1] == "judged drawn"


def test_another_store_is_judged_by_itself(place):
    place.report()
    log = place.folder / "log"
    log.unlink()
    context = Context(Store(place.folder / "other"))
    report.write_report([ps.find(str(place.file))], context, place.folder / "out")
    assert log.read_text().strip() == "judged drawn"


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"key": 1}', '{"rows": "[{\\"#\\": \\"Path\\"}]"}']
)
def test_what_cannot_be_read_is_made_anew(place, damage):
    place.report()
    (kept,) = (place.folder / "cache" / "report").rglob("rows.json")
    kept.write_text(damage)
    made, did = place.report()
    assert did.startswith("judged")
    assert made.ledger.surprises == []


def test_a_check_that_could_not_be_carried_out_is_tried_again(place):
    place.edit('note("judged ")', 'note("judged ")\n    raise RuntimeError("no")')
    place.report()
    assert place.report()[1] == "judged"


def test_old_figures_do_not_pile_up(place):
    place.report()
    place.edit("lw=3" if "lw=3" in place.file.read_text() else "ax=axes", "ax=axes, lw=3")
    place.report()
    assert len(list((place.folder / "cache" / "report").rglob("*.png"))) == 1


def test_rows_come_back_as_they_were_with_all_that_they_hold(place):
    rows = place.report()[0].ledger.rows
    again = rows_from_json(rows_to_json(rows))
    assert again == rows
    assert again[0].to_json() == rows[0].to_json()
    parts = zip(again[0].verdict.parts, rows[0].verdict.parts, strict=True)
    for one, other in parts:
        assert one == other
        assert one.trace.measured.tolist() == other.trace.measured.tolist()


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"#": "Popen", "args": "true"}]', '[{"x": 1}]'])
def test_a_document_of_something_else_is_refused(text):
    with pytest.raises(ValueError, match="no rows of a ledger"):
        rows_from_json(text)
    json.loads(text)
