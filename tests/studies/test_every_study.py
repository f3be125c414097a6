"""Every built-in study has the same layout, tests included."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from phasescope import run
from phasescope.discovery import installed, is_built_in
from phasescope.engine.job import Job, observed
from phasescope.errors import SpecError
from phasescope.plan.observables import axes
from phasescope.plan.plan import fields_read
from phasescope.study import find
from phasescope.testing import check_study
from phasescope.testing.descriptions import declared_descriptions, disagreements
from phasescope.testing.fields import fields_given, fields_read_anywhere, requests
from phasescope.verbs.remarks import small_spec
from phasescope.verbs.validate import check_read

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src" / "phasescope" / "studies"
STUDIES = sorted(name for name, point in installed().items() if is_built_in(point))

# Each is a module or a package of this name.
LAYOUT = (
    "spec",
    "data",
    "model",
    "observables",
    "training",
    "theory",
    "phases",
    "claims",
    "claims/evidence",
    "figures",
    "citation",
)
# A topic of one study that fits into one module; what is larger is a package.
TOPICS = {
    "co_occurrence": {"one_by_one", "population_loss"},
    "lazy_to_rich": {"event_times", "independent_flows"},
    "regular_language": {"chain_of_thought", "margin"},
    "state_tracking": {"actions"},
}


@pytest.fixture(autouse=True, scope="module")
def exact():
    """The numbers that a user's session has: these tests look at studies as a user does."""


def is_there(module: Path) -> bool:
    return module.with_suffix(".py").exists() or (module / "__init__.py").exists()


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_the_modules_of_the_layout(name):
    assert [part for part in LAYOUT if not is_there(SOURCES / name / part)] == []


@pytest.mark.parametrize("name", STUDIES)
def test_what_a_study_has_beside_the_layout_is_a_package_or_a_topic(name):
    modules = {path.stem for path in (SOURCES / name).glob("*.py")}
    assert modules - {*LAYOUT, "__init__", "closed_forms"} - TOPICS.get(name, set()) == set()


@pytest.mark.parametrize("part", ["claims", "figures"])
@pytest.mark.parametrize("name", STUDIES)
def test_claims_and_figures_are_those_that_their_modules_offer(name, part):
    package = importlib.import_module(f"phasescope.studies.{name}.{part}")
    names = [
        f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)
    ]
    offered = [
        one for module in names for one in getattr(importlib.import_module(module), part, ())
    ]
    assert sorted(one.id for one in offered) == sorted(one.id for one in getattr(find(name), part))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_a_page_and_tests_of_its_claims_verdicts_and_figures(name):
    wanted = [SOURCES / name / "README.md"]
    wanted += [HERE / name / f"test_{what}.py" for what in ("claims", "verdicts", "figures")]
    assert [path for path in wanted if not path.exists()] == []


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_keeps_what_its_contract_says_of_all_but_its_arms(name):
    check_study(find(name), arms=False)


def test_nine_rows_in_ten_are_judged_without_make_full():
    rows = 0
    left_out = 0
    for name in STUDIES:
        verdicts = importlib.import_module(f".{name}.test_verdicts", __package__)
        rows += sum(len(claim.regimes) for claim in find(name).claims)
        left_out += len(verdicts.TestVerdicts.left_to_full)
    assert left_out <= 0.1 * rows


# Every arm is compiled twice, alone and as a block: 40 to 90 s a study. `make test` has the rest: fields in the tests below,
# lanes against single runs in those of the arms.
@pytest.mark.full
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_keeps_its_contract(name):
    check_study(find(name), evidence=False)


@pytest.mark.parametrize("name", STUDIES)
def test_one_name_is_one_quantity_in_all_arms(name):
    study = find(name)
    described = {arm.__name__: declared_descriptions(study, arm) for arm in study.arms}
    assert list(disagreements(described)) == []


@pytest.mark.parametrize("name", STUDIES)
def test_every_axis_says_what_it_counts(name):
    """Of what arms measure and inspect, by its declared shapes; nothing is run."""
    study = find(name)
    classes = {
        cls for arm in study.arms for cls in observed(Job(arm, small_spec(study, arm))) if cls
    }
    found = {axis for cls in classes for dims in axes(cls).values() for axis in dims}
    assert found - study.axes.keys() == set()


# What `derive` adds has axes of its own.
@pytest.mark.parametrize(
    ("name", "arm"),
    [("regular_language", "symmetric"), ("scan_and_snap", "theory"), ("state_tracking", "routing")],
)
def test_every_coordinate_of_a_run_has_a_label(name, arm):
    ds = run(name, arm, preset="tiny", store=False)
    assert [axis for axis in ds.coords if not ds[axis].attrs.get("long_name")] == []


@pytest.mark.parametrize(
    ("name", "arm"), [(name, arm.__name__) for name in STUDIES for arm in find(name).arms]
)
def test_an_arm_reads_the_fields_that_it_declares_and_no_other(name, arm):
    study = find(name)
    chosen = study.arm(arm)
    assert fields_read_anywhere(study, chosen) == set(
        fields_read(chosen, study.default_for(chosen))
    )


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
        ("state_tracking", "decoder", {"vocabulary": 1e4}),
        ("state_tracking", "routing", {"width": 16}),
    ],
)
def test_fields_that_these_arms_ignore_are_refused(study, arm, field):
    with pytest.raises(SpecError, match=f'{study}.{arm} does not read "{next(iter(field))}"'):
        run(study, arm, preset="tiny", store=False, **field)


def test_the_error_names_the_arms_that_read_the_field():
    with pytest.raises(SpecError, match="Arms that do: exhaustive"):
        run("regular_language", "symmetric", init_scale=0.1, store=False)


OUTDATED = """
import phasescope as ps
from phasescope.verbs.context import default_context
from phasescope.verbs.evidence import Evidence

for name in {names}:
    study = ps.find(name)
    evidence = Evidence(study, default_context(False, False))
    regimes = [regime for claim in study.claims for regime in claim.regimes]
    for request in {{one for regime in regimes for one in regime.evidence}}:
        if evidence.is_outdated(request):
            print(request.file.name)
"""


def test_recorded_evidence_fits_the_code_of_today():
    """In a process of its own: the decorators that check types here make other code of the same text."""
    script = OUTDATED.format(names=STUDIES)
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout == ""
