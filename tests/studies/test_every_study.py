"""Every built-in study has the same rooms, tests included."""

from pathlib import Path

import pytest

from phasescope import run
from phasescope.discovery import installed, is_built_in
from phasescope.errors import SpecError
from phasescope.plan.plan import fields_read
from phasescope.study import find
from phasescope.testing.fields import fields_given, fields_read_anywhere, requests
from phasescope.verbs.validate import check_read

HERE = Path(__file__).parent
STUDIES = sorted(name for name, point in installed().items() if is_built_in(point))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_a_page_and_tests_of_its_claims_verdicts_and_figures(name):
    rooms = HERE.parents[1] / "src" / "phasescope" / "studies" / name
    wanted = [rooms / "README.md", rooms / "catalogue.json"]
    wanted += [HERE / name / f"test_{what}.py" for what in ("claims", "verdicts", "figures")]
    assert [path for path in wanted if not path.exists()] == []


@pytest.mark.parametrize(("name", "arm"), [(name, arm.__name__) for name in STUDIES for arm in find(name).arms])
def test_an_arm_reads_the_fields_that_it_declares_and_no_other(name, arm):
    study = find(name)
    chosen = study.arm(arm)
    assert fields_read_anywhere(study, chosen) == set(fields_read(chosen, study.spec))


@pytest.mark.parametrize("name", STUDIES)
def test_claims_and_figures_give_only_fields_that_their_arms_read(name):
    study = find(name)
    for request in requests(study):
        check_read(study, request.arm, fields_given(request))


@pytest.mark.parametrize(
    ("study", "arm", "field"),
    [
        ("co_occurrence", "orthogonal", {"init": "gaussian"}),
        ("co_occurrence", "orthogonal", {"words": "shared"}),
        ("regular_language", "symmetric", {"init_scale": 0.1}),
        ("lazy_to_rich", "stage_one", {"p_tilde": 0.5}),
        ("scan_and_snap", "memoryless", {"optimiser": "adam"}),
        ("scan_and_snap", "closed_form", {"momentum": 0.5}),
    ],
)
def test_fields_that_these_arms_ignore_are_refused(study, arm, field):
    with pytest.raises(SpecError, match=f'{study}.{arm} does not read "{next(iter(field))}"'):
        run(study, arm, preset="tiny", store=False, **field)


def test_the_error_names_the_arms_that_read_the_field():
    with pytest.raises(SpecError, match="Arms that do: exhaustive"):
        run("regular_language", "symmetric", init_scale=0.1, store=False)
