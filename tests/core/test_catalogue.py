"""What a study offers is read without importing it, and never shown when it is stale."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest
import toys

from phasescope.cli import catalogue
from phasescope.cli.names import check_names
from phasescope.discovery import installed
from phasescope.errors import SpecError, StudyNotFound
from phasescope.study import find

TEXT = """
import phasescope as ps
class Spec(ps.Spec):
    eta: float = {eta}
study = ps.Study("{name}", Spec(), (), paper="{paper}")
"""


@pytest.fixture
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


# --- content --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toys_catalogue():
    return catalogue.describe(toys.study)


def test_a_catalogue_has_the_parts_of_the_contract(toys_catalogue):
    assert {"paper", "fields", "arms", "presets", "claims", "figures"} <= toys_catalogue.keys()


def test_a_catalogue_is_plain_json(toys_catalogue):
    assert json.loads(json.dumps(toys_catalogue, allow_nan=False)) == toys_catalogue


def test_a_field_has_type_default_and_range(toys_catalogue):
    field = {"type": "float", "default": 0.1, "symbol": r"\eta", "above": 0}
    assert toys_catalogue["fields"]["eta"] == field


def test_an_arm_is_described_by_its_first_line(toys_catalogue):
    assert toys_catalogue["arms"]["walk"] == "A random walk; the drift changes with the step."


def test_a_preset_is_described_by_what_it_changes(toys_catalogue):
    assert toys_catalogue["presets"] == {"tiny": {"steps": 6}, "long": {"steps": 100}}


def test_a_claim_is_described_by_statement_regimes_and_expectations(toys_catalogue):
    assert toys_catalogue["claims"] == [
        {
            "id": "loss_falls", "name": "loss_falls", "aliases": [], "cites": "Lemma 1",
            "statement": "The loss falls at every step.",
            "regimes": ["published"], "expected": {"published": "holds"},
            "maps_over": ["width", "start", "eta", "noise", "goal", "steps"],
        }
    ]  # fmt: skip


def test_a_figure_is_described_by_its_caption(toys_catalogue):
    assert (
        toys_catalogue["figures"]["loss_curve"]["caption"]
        == "The loss falls like a power of 1 - eta."
    )


# --- keeping --------------------------------------------------------------------------------------------------------


def test_a_kept_catalogue_is_read_without_loading_the_study(private_cache, monkeypatch):
    made = catalogue.read(installed()["linear_modes"])
    monkeypatch.setattr("phasescope.study.find", lambda name: pytest.fail("it was loaded"))
    assert catalogue.read(installed()["linear_modes"]) == made


def test_the_first_command_that_names_a_study_keeps_its_catalogue(private_cache):
    check_names("linear_modes", "logistic")
    assert catalogue.kept(installed()["linear_modes"])["arms"].keys() >= {"logistic"}


def test_a_broken_study_is_left_to_the_command_that_uses_it(private_cache, monkeypatch):
    def broken(name):
        raise StudyNotFound("it is broken")

    monkeypatch.setattr("phasescope.study.find", broken)
    check_names("linear_modes", "no_such_arm")
    assert catalogue.kept(installed()["linear_modes"]) is None


def test_a_damaged_cache_is_made_anew(private_cache):
    made = catalogue.read(installed()["linear_modes"])
    [kept] = private_cache.rglob("linear_modes.json")
    kept.write_text("{")
    assert catalogue.read(installed()["linear_modes"]) == made


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "arms" in catalogue.read(installed()["linear_modes"])


def written(tmp_path, **words) -> EntryPoint:
    (tmp_path / f"{words['name']}.py").write_text(TEXT.format(**words))
    return EntryPoint(words["name"], f"{words['name']}:study", "phasescope.studies")


def test_a_stale_catalogue_is_not_shown(private_cache, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    point = written(tmp_path, name="edited", eta=0.1, paper="First")
    place = private_cache / "phasescope" / "catalogue" / "edited.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"sources": "those of last year", "catalogue": {"paper": "Stale"}}))
    monkeypatch.setattr("phasescope.study.find", lambda name: find(str(tmp_path / "edited.py")))
    assert catalogue.read(point)["paper"] == "First"


def test_the_digest_follows_every_edit(tmp_path):
    written(tmp_path, name="digested", eta=0.1, paper="First")
    before = catalogue.sources_digest(tmp_path / "digested.py")
    written(tmp_path, name="digested", eta=0.2, paper="First")
    assert catalogue.sources_digest(tmp_path / "digested.py") != before


def test_the_digest_of_a_package_follows_edits_in_its_sub_packages(tmp_path):
    part = tmp_path / "claims"
    part.mkdir()
    (part / "one.py").write_text("1")
    before = catalogue.sources_digest(tmp_path)
    (part / "one.py").write_text("2")
    assert catalogue.sources_digest(tmp_path) != before


def test_the_sources_of_a_package_are_its_folder():
    folder = catalogue.source_folder(installed()["regular_language"])
    assert (folder.name, (folder / "__init__.py").exists()) == ("regular_language", True)


def test_a_module_that_is_not_there_has_no_sources():
    assert (
        catalogue.source_folder(
            EntryPoint("none", "no_such_module_at_all:study", "phasescope.studies")
        )
        is None
    )


def test_a_word_for_a_number_is_refused_without_loading_the_study(private_cache, monkeypatch):
    check_names("linear_modes", "descent")  # keeps the catalogue
    monkeypatch.setattr(catalogue, "make", lambda point: pytest.fail("the study was loaded"))
    check_names("linear_modes", "descent", None, ["eta=0.1,0.2", "steps=1:10:3"])
    with pytest.raises(SpecError, match=r"eta must be a number, got eta=fast\."):
        check_names("linear_modes", "descent", None, ["eta=0.1,fast"])
