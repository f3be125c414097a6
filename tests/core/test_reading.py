"""What was run is opened again, listed and exported. The store of `data/store_0_1` stands in for runs made long ago."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import toys
import xarray as xr

import phasescope as ps
from phasescope.store import Store
from phasescope.verbs.exporting import export

KEPT = Path(__file__).with_name("data") / "store_0_1"
DESCENT = "linear_modes/descent/26b6f7305c254154"
LOGISTIC = "linear_modes/logistic/a6cd32b65684aa2e"
SWEPT = "linear_modes/logistic/d644f3ea7fad87da"
STOPPED = "linear_modes/descent/6cfc69c731ba5851"


@pytest.fixture
def old(store):
    """A store of version 0.1, as the default one."""
    shutil.copytree(KEPT, store)
    return store


# --- open -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [DESCENT, "26b6", "linear_modes/descent", DESCENT[:-3]])
def test_a_run_is_opened_by_its_id_or_by_any_beginning_that_is_its_own(old, name):
    ds = ps.open(name)
    assert (ds.attrs["id"], ds.attrs["status"]) == (DESCENT, "finished")
    assert ds.attrs["folder"] == str(old / DESCENT)


@pytest.mark.parametrize("end", ["", "records.zarr.zip"])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_run_is_opened_by_the_path_of_its_folder(old, monkeypatch, tmp_path, kind, end):
    monkeypatch.setenv("PHASESCOPE_STORE", str(tmp_path / "another"))
    assert ps.open(kind(old / LOGISTIC / end)).attrs["id"] == LOGISTIC


def test_what_is_opened_is_what_was_run(store):
    ds = ps.run(toys.study, "quadratic")
    assert ps.open(ds.attrs["id"]).identical(ds)


def test_a_block_of_a_sweep_has_lanes_with_their_numbers_and_no_copies_that_fill_it_up(store):
    sw = ps.sweep(toys.study, "quadratic", eta=[0.1, 0.2, 0.3])
    block = ps.open(sw.attrs["ids"])
    assert block.eta.dims == ("lane",)
    np.testing.assert_array_equal(block.eta, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(block.loss, sw.loss)


def test_a_run_that_diverged_is_opened_with_the_time_at_which_it_did(store):
    with pytest.raises(ps.RunDiverged) as caught:
        ps.run(toys.study, "squaring", start=2.0)
    ds = ps.open(caught.value.dataset.attrs["id"])
    assert (ds.attrs["status"], float(ds.diverged_at)) == ("diverged", 10.0)  # 2**1024 is none


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("linear", "is the beginning of 3 runs in"),
        ("zz", 'there is no run "zz" among the 3 runs in'),
        (STOPPED, f"{STOPPED} is unfinished"),
        ("recorded:nothing", 'no study has recorded evidence "nothing". Known: '),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(old, name, sentence):
    with pytest.raises(ps.StoreError) as caught:
        ps.open(name)
    assert sentence in str(caught.value)


def test_a_path_that_is_no_run_is_one_sentence(tmp_path):
    with pytest.raises(
        ps.StoreError, match=r"neither the folder of a run .* nor a file of records"
    ):
        ps.open(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("loss fell")
    with pytest.raises(ps.StoreError, match="is not a file of records"):
        ps.open(text)


def test_a_store_of_an_earlier_version_is_labelled_when_it_is_opened(old):
    assert ps.open(DESCENT).time.attrs["long_name"] == "time"


# --- stored ---------------------------------------------------------------------------------------------------------


def test_the_store_is_a_table_of_pandas_with_a_column_for_every_field(old):
    table = ps.stored()
    assert sorted(table.index) == sorted([DESCENT, LOGISTIC, SWEPT, STOPPED])
    asked = json.loads((old / DESCENT / "run.json").read_text())["identity"]
    assert table.loc[DESCENT, "eta"] == asked["spec"]["eta"]
    assert table.loc[DESCENT, "seed"] == asked["seed"]
    assert table.loc[STOPPED, "status"] == "unfinished"


def test_a_swept_field_is_named_and_has_no_single_value(old):
    row = ps.stored().loc[SWEPT]
    lanes = json.loads((old / SWEPT / "run.json").read_text())["identity"]["lanes"]
    [field] = lanes
    assert (row["swept"], row["lanes"]) == (field, len(set(lanes[field])))
    assert np.isnan(row[field])


def test_the_table_can_be_of_one_study_or_arm(old):
    assert set(ps.stored("linear_modes", "logistic").arm) == {"logistic"}
    assert ps.stored("regular_language").empty


def test_the_table_of_an_empty_store_is_empty(store):
    assert ps.stored().empty


# --- state ----------------------------------------------------------------------------------------------------------


def test_the_state_at_a_stages_end_is_what_training_arrived_at(store, tmp_path):
    from safetensors.numpy import load_file

    ds = ps.run(toys.study, "quadratic")
    file = tmp_path / "end.safetensors"
    arrays = ps.state(ds, out=file)
    [array] = arrays.values()
    np.testing.assert_array_equal(array, ds.weight[-1])
    assert {k: v.tolist() for k, v in load_file(file).items()} == {
        k: v.tolist() for k, v in arrays.items()
    }


def test_the_arrays_of_a_state_have_the_names_of_the_plan(old):
    arrays = ps.state(DESCENT)
    assert list(arrays) == ["params.a", "params.b"]
    np.testing.assert_array_equal(arrays["params.a"], arrays["params.b"])


def test_the_arrays_of_a_study_that_is_not_there_are_numbered(store):
    ds = ps.run(toys.study, "quadratic")
    assert list(ps.state(ds)) == ["000000"]


def test_a_stage_that_is_not_there_is_one_sentence(old):
    with pytest.raises(ps.StoreError, match=r'has no stage "late". Known: training'):
        ps.state(DESCENT, "late")


def test_a_run_that_ended_before_its_stage_has_no_state(store):
    with pytest.raises(ps.RunDiverged) as caught:
        ps.run(toys.study, "squaring", start=2.0, steps=10**6, at=[1, 20, 10**6])
    with pytest.raises(ps.StoreError, match="ended before the first of its stages"):
        ps.state(caught.value.dataset)


def test_what_is_not_stored_has_no_state():
    with pytest.raises(ps.StoreError, match="of no stored run"):
        ps.state(xr.Dataset())


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    """Words, truth values and whole numbers along with floats, as sweeps have them."""
    return xr.Dataset(
        {
            "loss": (("task", "time"), np.array([[1.0, np.nan], [0.5, 0.25]])),
            "won": ("task", [True, False]),
        },
        {"task": ["pairs", "parity"], "time": [0.0, 1.0], "stage": ("time", np.array([0, 1]))},
        {"study": "mine", "ids": "a b"},
    )


@pytest.mark.parametrize("name", ["sweep.nc", "sweep.zarr.zip"])
def test_a_dataset_that_was_written_is_opened_again(mixed, tmp_path, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export(mixed, tmp_path / name)
    opened = ps.open(tmp_path / name)
    xr.testing.assert_equal(opened, mixed)
    assert (opened.attrs["study"], opened.won.dtype) == ("mine", bool)


def test_xarray_opens_a_netcdf_file_by_itself(mixed, tmp_path):
    export(mixed, tmp_path / "sweep.nc")
    with xr.open_dataset(tmp_path / "sweep.nc") as opened:
        xr.testing.assert_equal(opened, mixed)


def test_the_line_of_the_docs_opens_stored_records(old):
    import zarr

    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text()
    assert 'xr.open_zarr(zarr.storage.ZipStore("records.zarr.zip"), consolidated=False)' in page
    file = str(old / DESCENT / "records.zarr.zip")
    opened = xr.open_zarr(zarr.storage.ZipStore(file), consolidated=False, chunks=None)
    np.testing.assert_array_equal(opened.loss, ps.open(DESCENT).loss)


@pytest.mark.parametrize("strange", [np.array([1j]), np.array([2**40])])
def test_numbers_that_netcdf_does_not_have_are_refused_by_name(tmp_path, strange):
    ds = xr.Dataset({"state": ("x", strange)})
    with pytest.raises(ps.StoreError, match=r"state holds numbers .* Write \.zarr\.zip"):
        export(ds, tmp_path / "x.nc")
    export(ds, tmp_path / "x.zarr.zip")
    assert ps.open(tmp_path / "x.zarr.zip").identical(ds)


def test_the_entries_of_a_store_do_not_change_when_they_are_read(old):
    before = {p: p.read_bytes() for p in old.rglob("*") if p.is_file()}
    ps.open(DESCENT)
    ps.state(DESCENT)
    assert {p: p.read_bytes() for p in old.rglob("*") if p.is_file()} == before
    assert [e.id for e in Store(old).entries()]
