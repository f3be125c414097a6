"""What an author should know of a study is said by `check`, without a run, and is a breach of the contract."""

from __future__ import annotations

from pathlib import Path

import linear_modes
import pytest

import phasescope as ps
from phasescope.testing import check_study
from phasescope.verbs.remarks import remarks

EXAMPLE = Path(linear_modes.__file__).read_text()
STATEMENT = '    """Mode i is half learnt before mode j whenever s_i > s_j."""\n'
QUICK = "stronger_modes_are_learnt_first"


def written(folder: Path, *changes: tuple[str, str]) -> ps.Study:
    """The example as a file of one's own, with changes."""
    text = EXAMPLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "mine.py"
    file.write_text(text)
    return ps.find(str(file))


def breach(study: ps.Study) -> str:
    with pytest.raises(AssertionError) as caught:
        check_study(study, arms=False)
    return str(caught.value)


def test_nothing_is_remarked_of_a_study_that_keeps_the_contract(tmp_path):
    assert remarks(written(tmp_path)) == []


def test_an_arm_that_is_not_listed_is_said(tmp_path):
    study = written(tmp_path, ("arms=(descent, flow, logistic)", "arms=(flow, logistic)"))
    said = "the arm descent is not listed in Study(arms=...)"
    assert [text for text in remarks(study) if said in text]
    assert said in breach(study)


def test_a_plain_function_that_a_claim_runs_is_an_arm(tmp_path):
    bare = ('@ps.arm(reads=("modes", "epsilon"))\ndef flow', "def flow")
    study = written(tmp_path, bare, ("arms=(descent, flow, logistic)", "arms=(descent, logistic)"))
    assert "the arm flow is not listed" in remarks(study)[0]


def test_a_claim_without_a_statement_is_said(tmp_path):
    study = written(tmp_path, (STATEMENT, ""))
    said = f"claim {QUICK} has no docstring, which is its statement"
    assert remarks(study) == [f"linear_modes: {said}"]
    assert said in breach(study)


def test_record_times_that_do_not_fit_the_small_spec_are_said_by_check(tmp_path):
    study = written(
        tmp_path,
        ("ps.log_times(spec.steps, 200)", "np.linspace(0, spec.modes, 4)"),
        ("    paper=", '    presets={"tiny": Spec(modes=2)},\n    paper='),
    )
    words = r'descent cannot be planned at the preset "tiny": .* record times must be whole numbers'
    with pytest.warns(UserWarning, match=words):
        ledger = ps.check(study, claim=QUICK, store=False)
    assert [str(row.word) for row in ledger] == ["holds"]
