"""Recorded evidence: what is written can be read again, and what could not is not written."""

import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.errors import PlanError
from phasescope.records import evidence_file


@pytest.fixture
def evidence(tmp_path):
    return ps.recorded(ps.runs(toys.quadratic), tmp_path / "recorded" / "piece.zip")


@pytest.fixture(scope="module")
def dataset():
    study = ps.Study("toys", toys.Spec(steps=6), (toys.quadratic,))
    return ps.run(study, toys.quadratic, store=False, progress=False)


def size_of(dataset):
    """The bytes of its numbers, counted by xarray."""
    return sum(variable.nbytes for variable in dataset.variables.values())


def test_what_is_written_is_read_again(evidence, dataset):
    evidence_file.write(evidence, dataset, toys.Spec)
    np.testing.assert_array_equal(evidence_file.read(evidence.file).loss, dataset.loss)


def test_more_than_is_read_again_is_not_written(evidence, dataset, monkeypatch):
    monkeypatch.setattr(evidence_file, "LIMIT", size_of(dataset) // 2)
    with pytest.raises(PlanError, match=r"piece.zip would hold .* Record fewer times"):
        evidence_file.write(evidence, dataset, toys.Spec)
    assert not evidence.file.exists()


def test_an_axis_of_words_is_read_again(evidence, dataset):
    two = dataset.expand_dims(reading=["mean", "sum"])
    evidence_file.write(evidence, two, toys.Spec)
    found = evidence_file.read(evidence.file)
    assert found.reading.values.tolist() == ["mean", "sum"]
    np.testing.assert_array_equal(found.loss.sel(reading="sum"), dataset.loss)
