"""Long work says what it is at, also where no terminal is watching, and what it will take before it starts."""

from __future__ import annotations

import io
import json
import queue
import shutil
import sys
from pathlib import Path

import pytest
import toys

import phasescope as ps
from phasescope.discovery import installed
from phasescope.store import Store
from phasescope.verbs.check_cost import check_cost
from phasescope.verbs.context import Context, default_context
from phasescope.verbs.expected import MEASURED, expected_sentence, typical_of
from phasescope.verbs.progress import no_meter, pace_of
from phasescope.verbs.progress_lines import Lines, short

KEPT = Path(__file__).with_name("data") / "store_0_1"


def test_a_line_says_what_is_going_on_and_how_far_it_is():
    heard: queue.Queue[str] = queue.Queue()
    lines = Lines(every=0.001, say=heard.put)
    with lines("mine: checking", 12) as tick, lines("mine.descent", 40_000):
        tick(3)
        while heard.get(timeout=60) != "0:00:00  mine: checking 3 of 12; mine.descent 0 of 40k":
            pass


def test_nothing_is_said_of_what_is_over_at_once():
    heard: queue.Queue[str] = queue.Queue()
    lines = Lines(say=heard.put)
    for _ in range(3):
        with lines("mine.descent", 40) as tick:
            tick(40)
    assert heard.empty()


def test_lines_are_for_logs_and_can_be_refused(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(default_context(False).meter, Lines)
    assert default_context(False, progress=False).meter is no_meter


def test_each_of_several_studies_is_announced(monkeypatch, capsys):
    monkeypatch.setattr("phasescope.verbs.check.judge_all", lambda wanted, evidence: [])
    another = ps.Study("another", toys.Spec(), (toys.quadratic,))
    with pytest.raises(ps.PlanError):
        ps.check(toys.study, another, store=False)
    rows = sum(len(claim.regimes) for claim in toys.study.claims)
    assert (
        capsys.readouterr().err
        == f"study 1 of 2: toys, {rows} rows\nstudy 2 of 2: another, 0 rows\n"
    )


def test_a_single_study_is_not_announced(capsys):
    Context(None, Lines()).begin("mine", 1, 1, 10)
    Context(None, no_meter).begin("mine", 1, 2, 10)
    assert capsys.readouterr().err == ""


def shown_of(monkeypatch, file, study, arm, **changes):
    """What a terminal shows of a run that lasts longer than nothing."""
    monkeypatch.setattr("phasescope.verbs.progress.PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    with open(file, "w") as screen:
        monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stderr", screen)
        ps.run(study, arm, store=False, **changes)
    return file.read_text()


def test_how_long_is_left_is_said_of_steps_and_not_of_a_flow(monkeypatch, tmp_path):
    steps = shown_of(monkeypatch, tmp_path / "steps", toys.study, "quadratic")
    assert "toys.quadratic" in steps and "/s" in steps
    flow = shown_of(monkeypatch, tmp_path / "flow", "linear_modes", "flow", epsilon=1e-4)
    assert "linear_modes.flow" in flow
    assert "left" not in flow and "/s" not in flow


@pytest.mark.parametrize(
    ("done", "total", "seconds", "said"),
    [
        (0.0, 10.0, 5.0, "0/s"),
        (5.0, 10.0, 5.0, "1/s, 0:00:05 left"),
        (10.0, 10.0, 5.0, "2/s, 0:00:00 left"),
    ],
)
def test_the_pace_says_how_much_is_left(done, total, seconds, said):
    assert pace_of(done, total, seconds) == said


# --- what it will take ----------------------------------------------------------------------------------------------


def test_what_a_run_takes_is_judged_by_those_in_the_store(store):
    shutil.copytree(KEPT, store)
    documents = [json.loads(path.read_text()) for path in store.glob("*/*/*/run.json")]
    mean = sum(document["manifest"]["seconds"] for document in documents) / len(documents)
    assert typical_of("linear_modes", Store(store)).seconds == pytest.approx(mean)


def test_what_a_run_of_a_built_in_study_takes_was_measured(store):
    built_in = [name for name, p in installed().items() if p.module.startswith("phasescope.")]
    assert sorted(MEASURED) == sorted(built_in)
    assert typical_of("regular_language", Store(store)) == MEASURED["regular_language"]
    assert typical_of("mine", Store(store)) is None


def test_figures_count_when_they_are_asked_for():
    [claims] = check_cost("linear_modes", store=False)
    [all] = check_cost("linear_modes", figures=True, store=False)
    assert all["needed"] >= claims["needed"]
    assert all["seconds"] is None


def cost(study: str, seconds: float | None, missing: int = 2) -> dict:
    disk = None if seconds is None else 10.0
    return {"study": study, "needed": 4, "missing": missing, "seconds": seconds, "megabytes": disk}


def test_time_disk_and_memory_are_said_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("phasescope.verbs.expected.cores", lambda: 2)
    said = expected_sentence([cost("lazy_to_rich", 600.0), cost("mine", 120.0)], tmp_path)
    assert said.startswith(
        f"2 studies: 4 of 8 runs are missing: about 6 min on 2 cores, 20 MB in {tmp_path}, up to 8 GB of memory ("
    )


def test_what_is_not_known_is_said_not_to_be(tmp_path):
    assert "mine: 2 of 4 runs are missing: how long is not known yet" in expected_sentence(
        [cost("mine", None)], tmp_path
    )
    some = expected_sentence([cost("mine", None), cost("another", 1.0)], tmp_path)
    assert "and what is not known yet of mine" in some


def test_a_store_that_has_everything_is_said_to(tmp_path):
    said = expected_sentence([cost("mine", 0.0, missing=0)], tmp_path)
    assert said == f"mine: all 4 runs are in {tmp_path}; only judging and drawing are left."


@pytest.mark.parametrize(
    ("number", "letters"),
    [(0.5, "0.5"), (1234.0, "1.23k"), (2.5e6, "2.5M"), (4e11, "400G"), (2.35e17, "2.35e+17")],
)
def test_a_number_has_one_unit_or_one_exponent_and_not_both(number, letters):
    assert short(number) == letters
