"""`phasescope new` writes a study that keeps the contract as it stands."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib

import jax
import pytest

import phasescope as ps
from phasescope.cli.new import PLACEHOLDER, write_study
from phasescope.errors import SpecError, StoreError
from phasescope.ledger.findings import findings
from phasescope.testing import check_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_study("sharp_minima", tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="module")
def package(folder):
    """The new package, imported as after `pip install -e`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("sharp_minima")
    for name in [name for name in sys.modules if name.startswith("sharp_minima")]:
        del sys.modules[name]


def test_a_new_study_keeps_the_contract_as_it_stands(package):
    check_study(package.study)


def test_the_counter_examples_of_a_new_study_pass_as_they_stand(package, folder):
    spec = importlib.util.spec_from_file_location(
        "tests_of_it", folder / "tests" / "test_sharp_minima.py"
    )
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    counter_examples = [
        f for name, f in vars(tests).items() if name.startswith("test_") and "contract" not in name
    ]
    assert [test() for test in counter_examples] == [None] * 4


def test_a_new_study_shows_a_word_of_each_sort_and_nothing_untyped(package):
    words = {(row.claim, row.regime): row.word for row in ps.check(package.study, store=False)}
    assert words == {
        ("thm1-logistic", "theory"): "holds",
        ("thm2-escape-time", "theory"): "holds",
        ("thm2-escape-time", "beyond"): "outside",
        ("thm3-noise", "theory"): "holds",
        ("fig1-plateau", "published"): "reproduced",
    }


def test_a_new_study_shows_how_seeds_and_samples_are_used(package):
    plan = package.study.arm("sgd")(package.study.spec)
    assert plan.stages[0].dynamics.sample(jax.random.key(0), None).shape == ()
    asked = [r for c in package.study.claims for row in c.regimes for r in row.evidence]
    assert 64 in [getattr(request, "seeds", 1) for request in asked]


def test_every_bound_of_a_new_study_has_a_source(package):
    assert findings(ps.check(package.study, store=False)).unexplained == ()


def test_a_new_study_is_called_by_its_name_everywhere(folder):
    texts = [
        path.read_text() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"
    ]
    assert [text for text in texts if PLACEHOLDER in text] == []


def test_a_new_study_offers_itself_by_entry_point(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["phasescope.studies"] == {"sharp_minima": "sharp_minima:study"}


def test_nothing_that_exists_is_touched(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="taken exists already"):
        write_study("taken", tmp_path)


@pytest.mark.parametrize("name", ["my-paper", "2024", "class", "_private", "", "../up", "été"])
def test_a_study_needs_a_python_name(name, tmp_path):
    with pytest.raises(SpecError, match="a study needs a Python name"):
        write_study(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("os", 'a Python module "os" already'),
        ("numpy", 'a Python module "numpy" already'),
        ("regular_language", 'a study "regular_language" already'),
    ],
)
def test_a_study_is_not_called_like_what_is_there_already(name, words, tmp_path):
    with pytest.raises(SpecError, match=words):
        write_study(name, tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_study("anything", tmp_path / "file")
