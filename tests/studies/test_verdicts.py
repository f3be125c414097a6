"""Every claim of every built-in study, on the evidence it asks for: the outcome is the one established.

Evidence is gathered once for the whole file, and kept between sessions if PHASESCOPE_STORE names a store.
"""

import os
from pathlib import Path

import pytest

from phasescope.checking import chosen_claims, judge
from phasescope.discovery import installed, is_built_in
from phasescope.gathering import Evidence
from phasescope.running import lab
from phasescope.study import find

STUDIES = [find(name) for name, point in sorted(installed().items()) if is_built_in(point)]
ROWS = [(study, claim, regime) for study in STUDIES for claim, regime in chosen_claims(study, None, None)]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory):
    """What the claims of a study look at."""
    folder = Path(os.environ.get("PHASESCOPE_STORE") or tmp_path_factory.mktemp("store"))
    return {study.name: Evidence(study, lab(folder, progress=False)) for study in STUDIES}


@pytest.mark.parametrize(("study", "claim", "regime"), ROWS, ids=[f"{s.name}-{c.id}-{r.name}" for s, c, r in ROWS])
def test_verdict_is_the_expected_one(study, claim, regime, evidence):
    row = judge(claim, regime, evidence[study.name])
    assert not row.surprising, f"{row.outcome} where {row.expected} is established: {row.measured}; {row.where}"
