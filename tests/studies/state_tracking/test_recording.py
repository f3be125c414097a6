"""Recorded evidence: the same pieces at the smallest size, and the files that are kept."""

import dataclasses
import json

import numpy as np
import pytest

from phasescope.records.evidence_file import read
from phasescope.studies.state_tracking import study
from phasescope.studies.state_tracking.claims import (
    awaiting,
    section_7_attention,
    section_7_reach,
)
from phasescope.studies.state_tracking.claims.recorded import FOLDER, PIECES
from phasescope.studies.state_tracking.decoder import recording
from phasescope.studies.state_tracking.spec import DecoderSpec
from phasescope.verbs.registration import is_registered

KEPT = sorted(FOLDER.glob("*.zip"))


# Self-training has a stage more to compile: 20 s for what the other piece tells too.
@pytest.mark.parametrize(
    "name", ["sets_S5", pytest.param("self_training_S5", marks=pytest.mark.full)]
)
def test_a_piece_runs_at_the_smallest_size(name, tmp_path):
    piece = dataclasses.replace(
        recording.tiny(PIECES[name]), file=tmp_path / "recorded" / f"{name}.zip"
    )
    made = recording.make(piece)
    recording.pack_all(tmp_path)
    found = read(piece.file)
    assert found.sizes["seed"] == 5
    assert found.accuracy.dtype == np.float32
    assert np.isfinite(found.loss).all()
    np.testing.assert_array_equal(found.accuracy, made.accuracy)
    assert (tmp_path / "recorded.tar").exists()
    assert json.loads(found.attrs["manifest"])["request"]["arm"] == made.attrs["arm"]
    told = recording.summary(name, made.isel(dataset=0, missing_dims="ignore"), 1.0)
    assert told.startswith(f"{name}: 1.0 s, ")


def test_every_piece_has_its_file():
    assert {file.stem for file in KEPT} == set(PIECES)


def test_checks_that_wait_for_evidence_are_not_of_the_study_yet():
    ids = {claim.id for claim in study.claims}
    assert not ids & {claim.id for claim in awaiting}


def test_the_rows_of_section_7_were_written_before_their_evidence():
    for claim in (*section_7_reach.claims, *section_7_attention.claims):
        post_hoc = claim.id == "ours-fig1a-norm"
        assert is_registered(claim, claim.regimes[0].evidence) != post_hoc, claim.id


def test_a_piece_that_was_made_before_is_read_from_its_store(tmp_path):
    piece = dataclasses.replace(
        recording.tiny(PIECES["norm_C6"]), file=tmp_path / "recorded" / "norm_C6.zip"
    )
    first = recording.make(piece, tmp_path / "store")
    again = recording.make(piece, tmp_path / "store")
    np.testing.assert_array_equal(first.accuracy, again.accuracy)
    assert "folder" not in read(piece.file).attrs


@pytest.mark.parametrize("name", ["epochs_C6", "epochs_few_S5"])
def test_300_epochs_of_a_set_are_its_size_over_the_batch(name):
    asked = PIECES[name].request
    spec = study.specify(asked.preset, asked.arm, **dict(asked.changes))
    assert spec.dataset * 300 <= spec.steps * spec.batch < spec.dataset * 300 + 20 * spec.batch
    assert (spec.length, spec.heads, spec.eta, spec.optimiser) == (5, 2, 1e-4, "adam")


def test_a_file_tells_the_numbers_of_the_decoder_and_no_others():
    ds = read(PIECES["control_S5"].file)
    spec = DecoderSpec.of(ds)
    assert json.loads(ds.attrs["spec"]).keys() <= {f.name for f in dataclasses.fields(spec)}
    assert (spec.group, spec.width, spec.eta, spec.samples) == ("S5", 256, 1e-4, 500)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_a_file_is_small_and_says_where_it_came_from(file):
    ds = read(file)
    asked = PIECES[file.stem].request
    manifest = json.loads(ds.attrs["manifest"])
    assert file.stat().st_size < 500_000
    assert {"device", "versions", "seconds"} <= manifest.keys()
    assert manifest.keys() & {"code", "sources"}  # files of the first releases have the latter
    assert manifest["request"]["arm"] == asked.arm.__name__
    assert dict(manifest["request"]["changes"]) == dict(asked.changes)
    assert ds.sizes["seed"] == manifest["request"]["seeds"] == 5
    assert ds.attrs["status"] == "finished"
