"""Arms on text: what is recorded of them is the papers' presets, and every piece runs at the smallest size."""

import importlib
import json

import numpy as np
import pytest

import phasescope as ps
from phasescope.cli import recording
from phasescope.networks import TextSpec
from phasescope.records.evidence_file import read
from phasescope.verbs.registration import digests_of_checks

STUDIES = ("lazy_to_rich", "scan_and_snap", "regular_language")
ARMS = {
    "lazy_to_rich": "text_two_layer",
    "scan_and_snap": "text_attention",
    "regular_language": "text_gpt",
}


def awaiting(name):
    return importlib.import_module(f"phasescope.studies.{name}.claims").awaiting


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "nobody"),
        (["linear_modes"], "has no recorded evidence to make"),
        (["scan_and_snap", "--only", "figure_99"], 'has no piece "figure_99"'),
        (["scan_and_snap", "--within", "nan"], "--within is a number of seconds above 0"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(words, said, tmp_path, capsys):
    assert recording.main([*words, "--out", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert said in told.err and told.err.count("\n") == 1 and not told.out


def test_a_study_without_pieces_is_refused():
    with pytest.raises(ps.StudyNotFound, match="has no recorded evidence to make"):
        recording.pieces_of(ps.find("linear_modes"))
