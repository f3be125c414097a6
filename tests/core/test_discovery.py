"""Studies are found by entry point or file; a broken one is named, and none can take the place of a built-in one."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest
import toys

import phasescope as ps
from phasescope import study as studies
from phasescope.cli import catalogue
from phasescope.cli.catalogue import catalogues
from phasescope.cli.names import check_names
from phasescope.discovery import GROUP, installed
from phasescope.errors import StudyNotFound, nearest
from phasescope.study import find

GOOD = """
import phasescope as ps
class Spec(ps.Spec):
    eta: float = 0.1
study = ps.Study("{name}", Spec(), ())
"""


def point(name: str, value: str, package: str | None = None) -> EntryPoint:
    made = EntryPoint(name, value, GROUP)
    return made if package is None else made._for(SimpleNamespace(name=package))


@pytest.fixture
def offered(monkeypatch, tmp_path):
    """Make these entry points the installed ones; modules may be written into `tmp_path`."""
    studies._load.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path))

    def offer(*points: EntryPoint) -> None:
        monkeypatch.setattr(
            importlib.metadata,
            "entry_points",
            lambda group: [p for p in points if p.group == group],
        )

    yield offer
    studies._load.cache_clear()


def test_the_built_in_study_and_the_stranger_are_both_installed():
    assert {"regular_language", "linear_modes"} <= installed().keys()


def test_a_study_is_found_by_name():
    assert find("linear_modes").name == "linear_modes"


def test_a_study_is_loaded_once():
    assert find("linear_modes") is find("linear_modes")


def test_what_is_a_study_already_passes_through():
    assert find(toys.study) is toys.study


def test_an_unknown_study_is_answered_with_the_nearest():
    with pytest.raises(
        StudyNotFound, match=r'there is no study "linear_mods".*Did you mean "linear_modes"'
    ):
        find("linear_mods")


# --- entry points ---------------------------------------------------------------------------------------------------


def test_a_plugin_cannot_shadow_a_built_in_study(offered):
    foreign = point("regular_language", "evil:study", "evil")
    own = point("regular_language", "phasescope.studies.regular_language:study", "phasescope")
    offered(foreign, own)
    with pytest.warns(
        UserWarning,
        match='evil offers a study "regular_language", a name that phasescope already has',
    ):
        assert installed()["regular_language"].value == "phasescope.studies.regular_language:study"


def test_a_plugin_that_lives_in_our_namespace_cannot_shadow_one_either(offered):
    foreign = point("regular_language", "phasescope.studies.evil:study", "evil")
    own = point("regular_language", "phasescope.studies.regular_language:study", "phasescope")
    offered(foreign, own)
    with pytest.warns(UserWarning, match="it is left out"):
        assert installed()["regular_language"].value == "phasescope.studies.regular_language:study"


def test_the_same_entry_point_twice_is_no_quarrel(offered):
    offered(point("one", "one:study", "one"), point("one", "one:study", "one"))
    assert list(installed()) == ["one"]


@pytest.mark.parametrize(
    "text",
    ["raise RuntimeError('no luck')", "import no_such_module", "def (:", "raise SystemExit(3)"],
)
def test_a_broken_plugin_is_named(text, offered, tmp_path):
    (tmp_path / "broken_one.py").write_text(text)
    offered(point("broken_one", "broken_one:study", "breakage"))
    with pytest.raises(StudyNotFound, match='the study "broken_one" of breakage is broken: '):
        find("broken_one")


def test_a_broken_plugin_is_left_out_of_the_list_with_a_warning(offered, tmp_path):
    (tmp_path / "broken_two.py").write_text("raise RuntimeError('no luck')")
    (tmp_path / "sound_two.py").write_text(GOOD.format(name="sound_two"))
    offered(
        point("broken_two", "broken_two:study", "breakage"),
        point("sound_two", "sound_two:study", "sound"),
    )
    with pytest.warns(
        UserWarning,
        match=r'"broken_two" of breakage is broken: RuntimeError: no luck \(.*\)\. It is left out',
    ):
        assert list(catalogues(None)) == ["sound_two"]


def test_a_slow_plugin_is_named_while_it_is_loaded(offered, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(catalogue, "SLOW", 0.01)
    text = GOOD.format(name="slow_one") + "import time; time.sleep(0.3)"
    (tmp_path / "slow_one.py").write_text(text)
    offered(point("slow_one", "slow_one:study", "sleepy"))
    assert list(catalogues(None)) == ["slow_one"]
    assert 'still loading the study "slow_one"' in capsys.readouterr().err


def test_a_command_on_one_study_loads_no_other(offered, tmp_path):
    loaded = tmp_path / "loaded"
    (tmp_path / "sound_three.py").write_text(GOOD.format(name="sound_three"))
    (tmp_path / "other_three.py").write_text(f"open({str(loaded)!r}, 'w')")
    offered(
        point("sound_three", "sound_three:study", "sound"),
        point("other_three", "other_three:study", "other"),
    )
    check_names("sound_three")
    assert (find("sound_three").name, loaded.exists()) == ("sound_three", False)


def test_an_entry_point_that_gives_no_study_is_named(offered, tmp_path):
    (tmp_path / "odd_one.py").write_text("study = 42")
    offered(point("odd_one", "odd_one:study", "odd"))
    with pytest.raises(
        StudyNotFound, match='"odd_one" of odd must give a Study of that name, got 42'
    ):
        find("odd_one")


def test_an_entry_point_that_gives_a_study_of_another_name_is_refused(offered, tmp_path):
    (tmp_path / "alias_one.py").write_text(GOOD.format(name="something_else"))
    offered(point("alias_one", "alias_one:study", "alias"))
    with pytest.raises(StudyNotFound, match="must give a Study of that name"):
        find("alias_one")


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_study_may_be_a_file(tmp_path):
    (tmp_path / "filed.py").write_text(GOOD.format(name="filed"))
    assert find(str(tmp_path / "filed.py")).name == "filed"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0", "does not run: ZeroDivisionError"),
        ("x = 1", "must hold exactly one Study, found 0"),
        (
            GOOD.format(name="a") + "other = ps.Study('b', Spec(), ())",
            "must hold exactly one Study, found 2",
        ),
    ],
)
def test_a_file_that_holds_no_study_is_named(text, words, tmp_path):
    path = tmp_path / f"file_{len(text)}.py"
    path.write_text(text)
    with pytest.raises(StudyNotFound, match=words):
        find(str(path))


def test_a_file_that_does_not_run_is_named_with_the_line_at_fault(tmp_path):
    path = tmp_path / "misspelt.py"
    path.write_text("import phasescope as ps\n\nrate = ps.field(0.1, belo=1)\n")
    with pytest.raises(StudyNotFound) as caught:
        find(str(path))
    assert f"({path}:3, `rate = ps.field(0.1, belo=1)`)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(StudyNotFound, match=r"there is no file nowhere/study\.py"):
        find("nowhere/study.py")


# --- the parts of a study -------------------------------------------------------------------------------------------


def test_of_more_names_than_one_can_read_those_are_told_that_are_most_like_it():
    names = [f"lemma{i}" for i in range(100)]
    said = nearest("lema42", names)
    assert said.startswith("Known are 100; most like it: lemma42, ")
    assert said.endswith('Did you mean "lemma42"?')
    assert len(said) < 150
    assert nearest("?", names) == "Known are 100; none is like it."


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("nope", "none is like it."),
        ("noise", 'most like it: C-noise. Did you mean "C-noise"?'),
        ("C-nois", 'most like it: C-noise. Did you mean "C-noise"?'),
        ("phase", "most like it: ours-phase1-size."),
    ],
)
def test_only_what_is_near_is_suggested(wanted, said):
    names = ["C-noise", "prop4.3", "ours-phase1-size", *(f"lemma{i}" for i in range(100))]
    assert nearest(wanted, names) == f"Known are 103; {said}"


@pytest.mark.parametrize("kind", ["arm", "claim", "figure"])
def test_an_unknown_part_is_answered_with_what_there_is(kind):
    with pytest.raises(StudyNotFound, match=f'toys has no {kind} "loss_".*Known: '):
        getattr(toys.study, kind)("loss_")


def test_an_arm_itself_passes_through():
    assert toys.study.arm(toys.walk) is toys.walk


def test_a_claim_is_found_by_name():
    assert toys.study.claim("loss_falls") is toys.loss_falls


def test_a_figure_is_found_by_name():
    assert toys.study.figure("loss_curve") is toys.loss_curve


def test_a_study_specifies_from_its_defaults_or_a_preset():
    assert (toys.study.specify(eta=0.2), toys.study.specify("tiny").steps) == (
        toys.Spec(eta=0.2),
        6,
    )


def test_a_study_is_a_record_that_cannot_be_changed():
    with pytest.raises(AttributeError):
        toys.study.name = "other"


def test_public_and_private_names_of_find_are_one():
    assert ps.find is find
