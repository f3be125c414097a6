"""Every built-in study has the same rooms, tests included."""

from pathlib import Path

import pytest

from phasescope.discovery import installed, is_built_in

HERE = Path(__file__).parent
STUDIES = sorted(name for name, point in installed().items() if is_built_in(point))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_a_page_and_tests_of_its_claims_verdicts_and_figures(name):
    rooms = HERE.parents[1] / "src" / "phasescope" / "studies" / name
    wanted = [rooms / "README.md", rooms / "catalogue.json"]
    wanted += [HERE / name / f"test_{what}.py" for what in ("claims", "verdicts", "figures")]
    assert [path for path in wanted if not path.exists()] == []
