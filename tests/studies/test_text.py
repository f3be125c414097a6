"""Arms on text: checks that wait for their runs can hold and can fail, and their pieces run at the smallest size."""

import importlib
import json

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.analysis.verdict import Outcome
from phasescope.cli import recording
from phasescope.networks import TextSpec
from phasescope.records.evidence_file import read
from phasescope.testing import drawings
from phasescope.testing.claim_contract import outcome_on_bad
from phasescope.testing.spoiling import backwards, flipped, lost, scaled, shuffled, swapped
from phasescope.testing.structureless import ends_of, structureless
from phasescope.verbs.registration import check_digest, digests_of_checks

from . import made_up_text as made_up

STUDIES = ("lazy_to_rich", "scan_and_snap", "regular_language")
ARMS = {
    "lazy_to_rich": "text_two_layer",
    "scan_and_snap": "text_attention",
    "regular_language": "text_gpt",
}
plain = made_up.figure_2()


def faster(evidence):
    """Keys and queries that grow in the first updates."""
    ds = evidence[0]
    grown = ds.key_query_norm.isel(time=0) * (1 + ds.time / (ds.time + 500))
    return [ds.assign(key_query_norm=grown.transpose(*ds.key_query_norm.dims)), *evidence[1:]]


def steady(evidence):
    """A loss that falls at one rate."""
    ds = evidence[0]
    loss = (10 - 5e-5 * ds.time) * xr.ones_like(ds.training_loss)
    return [ds.assign(training_loss=loss.transpose(*ds.training_loss.dims)), *evidence[1:]]


# For every check: evidence on which it holds, and what spoils it.
CASES = {
    "fig2-plateau": ([plain], [steady, lost("training_loss"), flipped("training_loss"), shuffled]),
    "fig2-positions-first": ([plain], [faster, swapped("slope_norm", "key_query_norm"), shuffled]),
    "fig2-exponential": ([plain], [faster, lost("key_query_norm"), shuffled]),
    "fig2-escape": ([plain], [faster, steady, lost("key_query_norm")]),
    "ours-fig2-induction": (
        [plain],
        [scaled("induction", 0.1), flipped("repeat_gain"), backwards("induction", "time")],
    ),
    "ours-fig2-norm": ([plain, made_up.figure_2(True)], [faster, lambda e: [e[0], e[0]]]),
}


def awaiting(name):
    return importlib.import_module(f"phasescope.studies.{name}.claims").awaiting


CLAIMS = {claim.id: claim for name in STUDIES for claim in awaiting(name)}


def test_every_check_that_waits_has_its_made_up_evidence():
    assert set(CASES) == set(CLAIMS)


@pytest.mark.parametrize("name", STUDIES)
def test_checks_that_wait_are_not_of_the_study_yet(name):
    assert not {claim.id for claim in awaiting(name)} & {c.id for c in ps.find(name).claims}


@pytest.mark.parametrize("id", CASES)
def test_a_check_holds_where_the_statement_is_true(id):
    found = CLAIMS[id](*CASES[id][0])
    assert found.outcome == Outcome.HOLDS, found


@pytest.mark.parametrize("id", CASES)
def test_a_check_fails_where_the_statement_is_false(id):
    claim = CLAIMS[id]
    evidence, changes = CASES[id]
    for change in changes:
        assert outcome_on_bad(claim, change(list(evidence))) != Outcome.HOLDS, change


@pytest.mark.parametrize("id", CASES)
def test_a_check_does_not_hold_on_noise_constants_or_two_records(id):
    claim = CLAIMS[id]
    evidence = CASES[id][0]
    for name, spoiled in structureless(evidence):
        assert outcome_on_bad(claim, spoiled) != Outcome.HOLDS, name
    ends = [ends_of(ds).assign_attrs(records=2) for ds in evidence]
    assert outcome_on_bad(claim, ends) != Outcome.HOLDS
    cut = [ds.isel(time=slice(0, -3)) for ds in evidence]
    assert outcome_on_bad(claim, cut) == Outcome.UNDECIDED


@pytest.mark.parametrize("id", CASES)
def test_a_check_has_a_digest_a_formula_and_a_page(id):
    claim = CLAIMS[id]
    assert check_digest(claim)
    assert claim.typed.tex and claim.typed.page and claim.statement


def figures(name):
    module = importlib.import_module(f"phasescope.studies.{name}.figures.text")
    return getattr(module, "awaiting", ())


DRAWN = {
    ("lazy_to_rich", "figure_2"): [plain, made_up.figure_2(True)],
}


def test_every_figure_that_waits_has_its_made_up_evidence():
    assert set(DRAWN) == {(name, figure.id) for name in STUDIES for figure in figures(name)}


@pytest.mark.parametrize(("name", "id"), DRAWN)
def test_a_figure_that_waits_is_drawn_without_fault(name, id):
    figure = next(figure for figure in figures(name) if figure.id == id)
    canvas = figure.render(*DRAWN[name, id])
    assert list(drawings.faults(canvas)) == []
    assert "{" not in canvas.get_label()


@pytest.mark.parametrize("name", STUDIES)
def test_the_pieces_are_the_papers_presets(name):
    study = ps.find(name)
    for piece_name, piece in recording.pieces_of(study)[0].items():
        request = piece.request
        assert request.preset == piece_name and request.seeds >= 2
        spec = study.specify(request.preset, request.arm)
        assert spec.corpus.partition("@")[0] in ("wikitext-2", "tinyshakespeare")
        assert study.protocols[request.preset].arms == (ARMS[name],)


@pytest.mark.parametrize("name", STUDIES)
def test_a_recording_keeps_the_digest_of_every_check_that_waits_for_it(name):
    study = ps.find(name)
    asking = recording.with_awaiting(study)
    pieces = recording.pieces_of(study)[0].values()
    known = set().union(*(digests_of_checks(asking, piece.request) for piece in pieces))
    assert {claim.id for claim in awaiting(name)} <= known


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("lazy_to_rich", "figure_2_norm"),
        ("scan_and_snap", "figure_7"),
        ("regular_language", "figure_7"),
    ],
)
def test_a_piece_runs_at_the_smallest_size_and_is_left_out_the_second_time(
    name, piece, tmp_path, capsys
):
    words = [name, "--out", str(tmp_path), "--tiny", "--only", piece]
    assert recording.main(words) == 0
    found = read(tmp_path / f"{piece}.zip")
    study = ps.find(name)
    assert json.loads(found.attrs["manifest"])["precision"] == "float64"
    assert np.isfinite(found.validation_loss).all()
    assert "attention_map" not in found and found.shown_map.sizes["shown_time"] == 4
    spec = TextSpec.of(found)
    asked = study.specify(piece, ARMS[name])
    for word in ("positions", "normalisation", "activation", "tied", "method", "windows"):
        assert getattr(spec, word) == getattr(asked, word)
    assert recording.main(words) == 0
    assert capsys.readouterr().out.endswith(f"{piece}: skipped\n")


def test_a_recording_that_runs_out_of_time_says_so_and_goes_on(tmp_path, capsys, monkeypatch):
    words = ["lazy_to_rich", "--out", str(tmp_path), "--tiny", "--only", "figure_2"]

    def out_of_time(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recording, "make", out_of_time)
        assert recording.main([*words, "--within", "600"]) == recording.STOPPED
    assert "the same call goes on" in capsys.readouterr().out
    assert not (tmp_path / "figure_2.zip").exists()


def test_a_study_without_pieces_is_refused():
    with pytest.raises(ps.StudyNotFound, match="has no recorded evidence to make"):
        recording.pieces_of(ps.find("linear_modes"))
