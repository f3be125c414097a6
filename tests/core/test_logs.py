"""Logs that phasescope did not make: read from every kind of file, refused if they are none, written as a loop trains."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.report import write_report
from phasescope.verbs.context import default_context
from phasescope.verbs.regimes import standing_of_datasets

STEPS = np.array([0.0, 10.0, 20.0])
LOSS = np.array([1.0, 0.1 + 0.2, 0.1])
PROGRESS = np.array([[0.0, 0.1], [0.5, 0.2], [1.0, 0.3]])


def write(folder, name, text):
    file = folder / name
    file.write_text(text)
    return file


def as_csv(folder):
    return write(folder, "log.csv", "step,loss\n" + "".join(f"{t},{x!r}\n" for t, x in rows()))


def rows():
    return list(zip(STEPS.tolist(), LOSS.tolist(), strict=True))


def as_tsv(folder):
    return write(folder, "log.tsv", "step\tloss\n" + "".join(f"{t}\t{x!r}\n" for t, x in rows()))


def as_npz(folder):
    np.savez(folder / "log.npz", step=STEPS, loss=LOSS)
    return folder / "log.npz"


def as_netcdf_3(folder):
    ds = xr.Dataset({"loss": ("time", LOSS)}, coords={"time": STEPS})
    ds.to_netcdf(folder / "log.nc", engine="scipy")
    return folder / "log.nc"


def as_netcdf_4(folder):
    pytest.importorskip("h5netcdf")
    ds = xr.Dataset({"loss": ("step", LOSS)}, coords={"step": STEPS})
    ds.to_netcdf(folder / "log.nc", engine="h5netcdf")
    return folder / "log.nc"


def as_parquet(folder):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"_step": STEPS.astype(int), "loss": LOSS, "note": ["a", "b", "c"]})
    pq.write_table(table, folder / "history.parquet")
    return folder / "history.parquet"


def as_dataset(folder):
    return xr.Dataset({"loss": ("time", LOSS)}, coords={"time": STEPS})


def as_arrays(folder):
    return {"step": STEPS, "loss": LOSS}


@pytest.mark.parametrize(
    "kind",
    [
        as_csv,
        as_tsv,
        as_npz,
        as_netcdf_3,
        as_netcdf_4,
        as_parquet,
        as_dataset,
        as_arrays,
    ],
)
def test_every_kind_of_log_gives_the_same_numbers(kind, tmp_path):
    ds = ps.logged(kind(tmp_path))
    np.testing.assert_array_equal(ds.time, STEPS)
    np.testing.assert_array_equal(ds.loss, LOSS)
    assert ps.stage_names(ds) == ["training"]


def test_the_scalars_of_tensorboard_are_read_at_all_steps_of_any_of_them(tmp_path):
    writing = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    from tensorboard.compat.proto import event_pb2, summary_pb2

    writer = writing.EventFileWriter(str(tmp_path))
    for step, tag, value in [(0, "loss", 1.0), (5, "accuracy", 0.5), (10, "loss", 0.25)]:
        summary = summary_pb2.Summary(
            value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)]
        )
        writer.add_event(event_pb2.Event(step=step, wall_time=0.0, summary=summary))
    writer.close()
    ds = ps.logged(tmp_path)
    np.testing.assert_array_equal(ds.time, [0, 5, 10])
    np.testing.assert_array_equal(ds.loss, [1.0, np.nan, 0.25])
    np.testing.assert_array_equal(ds.accuracy, [np.nan, 0.5, np.nan])
    assert "TensorBoard" in ds.attrs["logged"]


def write_events(folder, *values):
    """Event files of TensorBoard, as (step, summary of a value)."""
    writing = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    from tensorboard.compat.proto import event_pb2, summary_pb2

    folder.mkdir(parents=True, exist_ok=True)
    writer = writing.EventFileWriter(str(folder))
    for step, value in values:
        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(**value)])
        writer.add_event(event_pb2.Event(step=step, wall_time=0.0, summary=summary))
    writer.close()


LOSS_AND_HISTOGRAM = (
    (0, {"tag": "loss", "simple_value": 1.0}),
    (
        1,
        {
            "tag": "weights",
            "histo": {"min": 0.0, "max": 1.0, "num": 1.0, "bucket_limit": [1.0], "bucket": [1.0]},
        },
    ),
)


def test_what_of_tensorboard_is_left_out_is_named_in_a_warning(tmp_path):
    write_events(tmp_path, *LOSS_AND_HISTOGRAM)
    for name in ("validation", "loss_train"):
        write_events(tmp_path / name, LOSS_AND_HISTOGRAM[0])
    said = (
        r"Left out: what is no scalar \(weights\); the event files in loss_train, validation, each"
    )
    with pytest.warns(UserWarning, match=said):
        ds = ps.logged(tmp_path)
    assert list(ds.data_vars) == ["loss"]
    ps.logged(tmp_path / "validation")  # without a warning


def test_a_second_run_in_a_folder_of_tensorboard_is_not_mixed_with_the_first(tmp_path):
    again = [(step, {"tag": "loss", "simple_value": value}) for step, value in ((0, 1.0), (5, 0.5))]
    write_events(tmp_path, *again, *again)
    with pytest.raises(
        ps.LogError, match=r"loss does not rise in its steps: 0 comes after 5\. A run"
    ):
        ps.logged(tmp_path)


def test_scalars_of_tensorboard_without_steps_are_refused(tmp_path):
    write_events(tmp_path, *[(0, {"tag": "loss", "simple_value": value}) for value in (1.0, 0.5)])
    with pytest.raises(ps.LogError, match=r"loss was logged twice at step 0.*a step: add_scalar"):
        ps.logged(tmp_path)


def test_event_files_in_folders_below_alone_are_named(tmp_path):
    for name in ("train", "validation"):
        write_events(tmp_path / name, LOSS_AND_HISTOGRAM[0])
    with pytest.raises(ps.LogError, match=r"in folders only: train, validation\. Each is a log"):
        ps.logged(tmp_path)


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_that_pandas_writes_is_no_observable(name, tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"step": [0, 10], "loss": [1.0, 0.5]})
    table.to_csv(tmp_path / "log.csv", index_label=name)
    assert (tmp_path / "log.csv").read_text().startswith(f"{name},step,loss\n")
    ds = ps.logged(tmp_path / "log.csv")
    assert list(ds.data_vars) == ["loss"]
    np.testing.assert_array_equal(ds.loss, [1.0, 0.5])


def test_the_runs_of_a_chart_of_wandb_are_seeds(tmp_path):
    text = (
        '"Step","first - loss","first - loss__MIN","first - loss__MAX","second - loss"\n'
        "0,1.0,1.0,1.0,2.0\n1,0.5,0.5,0.5,1.5\n"
    )
    ds = ps.logged(write(tmp_path, "chart.csv", text))
    assert set(ds.data_vars) == {"loss"}
    np.testing.assert_array_equal(ds.loss.transpose("seed", "time"), [[1.0, 0.5], [2.0, 1.5]])
    assert [one["source"].rpartition(" ")[2] for one in json.loads(ds.attrs["logged"])] == [
        "first",
        "second",
    ]


def test_what_one_run_of_a_chart_did_not_log_is_not_a_record_of_it(tmp_path):
    text = '"Step","a - loss","b - loss"\n0,1.0,\n1,,3.0\n2,0.5,2.0\n'
    with pytest.raises(ps.LogError, match="not at the same times"):
        ps.logged(write(tmp_path, "chart.csv", text))
    ds = ps.logged(tmp_path / "chart.csv", join="inner")
    np.testing.assert_array_equal(ds.time, [2])


def test_a_record_at_which_a_run_of_a_chart_diverged_is_kept(tmp_path):
    text = '"Step","a - loss"\n0,1.0\n1,Infinity\n2,\n'
    ds = ps.logged(write(tmp_path, "chart.csv", text))
    np.testing.assert_array_equal(ds.loss, [1.0, np.inf])


@pytest.mark.parametrize("sign", ["\u2028", "\x0b", "\x85", "\x1c"])
def test_words_may_hold_what_ends_a_line_elsewhere(sign, tmp_path):
    text = f"step,loss,note\n0,1.0,a{sign}b\n1,0.5,c\n"
    np.testing.assert_array_equal(ps.logged(write(tmp_path, "log.csv", text)).loss, [1.0, 0.5])


def test_columns_with_an_index_are_one_array():
    log = {"step": STEPS, "progress[0]": PROGRESS[:, 0], "progress[1]": PROGRESS[:, 1]}
    ds = ps.logged(log, dims={"progress": "mode"})
    np.testing.assert_array_equal(ds.progress.transpose("time", "mode"), PROGRESS)
    np.testing.assert_array_equal(ds.mode, [0, 1])


def test_times_in_units_of_the_learning_rate_are_those_of_a_run():
    ds = ps.logged({"step": [1, 2, 3], "loss": LOSS}, unit=0.1)
    np.testing.assert_array_equal(ds.time, [0.1, 0.2, 0.3])  # and not 0.30000000000000004


def test_a_log_says_what_it_was_made_of(tmp_path):
    file = as_csv(tmp_path)
    [origin] = json.loads(ps.logged(file).attrs["logged"])
    said = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout
    assert origin == {"source": str(file), "kind": "CSV", "sha256": said.split()[0]}


# Bad input: one clear error.
BAD_TEXT = {
    "empty": ("", "is empty"),
    "header": ("step,loss\n", "has no records"),
    "ragged": ("step,loss\n0,1\n1,2,3\n", "line 3 has 3 cells, and the line of names has 2"),
    "short": ("step,loss,other\n0,1,2\n1,2\n", "line 3 has 2 cells"),
    "nan": ("step,loss\n0,1\n,2\n", "record 2 has no finite time"),
    "falling": (
        "step,loss\n0,1\n5,2\n3,2\n",
        "times do not rise: record 3 is at 3, after one at 5. A run that was begun twice is two logs",
    ),
    "twice": (
        "step,loss\n0,1\n0,2\n",
        "at 0, after one at 0. What was measured at one step is one",
    ),
    "no_time": ("loss,accuracy\n0,1\n0,2\n", 'Name it: time="..."'),
    "same_name": ("step,loss,loss\n0,1,2\n", 'two columns "loss"'),
    "only_times": ("step,name\n0,a\n", "nothing but times"),
    "words": ("step,loss\nzero,1\n", "no column of numbers is called step"),
    "names_again": (
        "step,loss\n0,1\n5,2\nstep, loss\n0,1\n",
        "line 4 is the line of names again. A run that was begun twice is two logs",
    ),
    "quote": ('step,loss\n0,"1\n', "cannot be read as CSV"),
}


@pytest.mark.parametrize("name", BAD_TEXT)
def test_text_that_is_no_log_is_one_clear_error(name, tmp_path):
    text, said = BAD_TEXT[name]
    with pytest.raises(ps.LogError, match=r"log\.csv") as error:
        ps.logged(write(tmp_path, "log.csv", text))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["log.csv", "log.npz", "log.nc", "log.parquet", "events.out.tfevents.1", "log.pkl"]
)
def test_bytes_that_are_no_log_are_one_clear_error(name, tmp_path):
    (tmp_path / name).write_bytes(b"\x80\x04\x95\xff\xfe nothing of the kind" * 9)
    with pytest.raises(ps.LogError) as error:
        ps.logged(tmp_path / name)
    assert name in str(error.value)
    assert "\n" not in str(error.value)


class Poison:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_nothing_in_an_archive_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("log.npz", step=STEPS, loss=np.array([Poison()] * 3, object))
    with pytest.raises(ps.LogError, match="cannot be read"):
        ps.logged("log.npz")
    assert not (tmp_path / "executed").exists()


def test_an_archive_that_unpacks_to_more_than_a_log_is_refused(tmp_path, monkeypatch):
    from phasescope.logs import binary

    monkeypatch.setattr(binary, "LARGEST", 1000)
    np.savez_compressed(tmp_path / "log.npz", step=np.arange(999.0), loss=np.zeros(999))
    assert zipfile.is_zipfile(tmp_path / "log.npz")
    with pytest.raises(ps.LogError, match="unpacks to"):
        ps.logged(tmp_path / "log.npz")


def as_large_parquet(folder):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"step": np.arange(99_999.0), "loss": np.zeros(99_999)})
    pq.write_table(table, folder / "log.parquet")
    return folder / "log.parquet"


def as_large_netcdf(folder):
    """A variable of which nothing was written takes no room."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "log.nc", "w") as file:
        file.create_dataset("step", data=np.arange(3.0))
        file.create_dataset("loss", shape=(3, 10**11), dtype="f8", chunks=(1, 1024))
    return folder / "log.nc"


@pytest.mark.filterwarnings("ignore:The 'phony_dims' kwarg")
@pytest.mark.parametrize("written", [as_large_parquet, as_large_netcdf])
def test_a_small_file_of_a_large_log_is_refused_before_it_is_read(written, tmp_path, monkeypatch):
    from phasescope.logs import binary

    monkeypatch.setattr(binary, "LARGEST", 2**20)
    with pytest.raises(ps.LogError, match="unpacks to"):
        ps.logged(written(tmp_path))


def npy(shape, numbers=b""):
    """A file of one array, of a shape that its numbers need not have."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + numbers


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("loss.npy", npy("(10000000000000,)")),
        ("loss.npy", npy("(3, 0, 10000000000000000000000)")),
        ("loss.npy", npy("(" + 999 * "[")),
        ("loss", b"no array"),
    ],
    ids=["too large", "sizes too large", "no header", "no array"],
)
def test_an_archive_with_an_array_that_is_none_is_one_clear_error(name, data, tmp_path):
    with zipfile.ZipFile(tmp_path / "log.npz", "w") as archive:
        archive.writestr("step.npy", npy("(3,)", STEPS.astype("<f8").tobytes()))
        archive.writestr(name, data)
    with pytest.raises(ps.LogError, match=r"log\.npz") as error:
        ps.logged(tmp_path / "log.npz")
    assert "\n" not in str(error.value)


def test_an_archive_behind_a_password_is_one_clear_error(tmp_path):
    file = as_npz(tmp_path)
    data = bytearray(file.read_bytes())
    for begin, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.find(begin) + place] |= 1
    file.write_bytes(data)
    with pytest.raises(ps.LogError, match="encrypted"):
        ps.logged(file)


def test_a_column_of_an_array_without_end_is_one_clear_error(tmp_path):
    (tmp_path / "log.csv").write_text("step,x[0],x[99999999999999]\n1,2,3\n")
    with pytest.raises(ps.LogError, match=r'there is no column "x\[1\]" among'):
        ps.logged(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"rename": {"lss": "loss"}},
            'no column "lss". Known: loss, other, step. Did you mean "loss"',
        ),
        ({"rename": {"other": "loss"}}, 'two columns would be called "loss"'),
        ({"time": "epoch"}, 'no column "epoch" of times'),
        ({"dims": {"loss": "mode"}}, '"loss" has 0 axes beside time, and dims names 1: mode'),
        ({"along": {"seed": [0, 1]}}, "2 values of seed for 1 logs"),
        ({"along": {"other": [0]}}, 'has "other" itself'),
        ({"along": {"time": [0]}}, 'has "time" itself'),
    ],
)
def test_a_name_that_the_log_does_not_have_is_one_clear_error(options, said):
    with pytest.raises(ps.LogError) as error:
        ps.logged({"step": STEPS, "loss": LOSS, "other": LOSS}, **options)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ({"a": "time"}, 'an axis of "a" would be called "time", which is taken'),
        ({"a": "b"}, 'an axis of "a" would be called "b", which is taken'),
        ({"c": ["mode", "mode"]}, 'an axis of "c" would be called "mode", which is taken'),
        ({"a": "mode", "b": "mode"}, 'the axis "mode" has 2 places in "a" and 3 in "b"'),
    ],
)
def test_axes_that_cannot_be_called_so_are_one_clear_error(dims, said):
    arrays = {"a": np.ones((3, 2)), "b": np.ones((3, 3)), "c": np.ones((3, 2, 2))}
    with pytest.raises(ps.LogError) as error:
        ps.logged({"step": STEPS, **arrays}, dims=dims)
    assert said in str(error.value)


def test_numbers_of_numpy_are_numbers_of_a_spec():
    numbers = {"width": np.int64(3), "rate": np.array(0.5), "task": "first"}
    ds = ps.logged({"step": STEPS, "loss": LOSS}, numbers=numbers)
    assert json.loads(ds.attrs["spec"]) == {"width": 3, "rate": 0.5, "task": "first"}


def test_a_column_of_numbers_with_words_in_it_is_left_out_with_a_warning(tmp_path):
    text = "step,loss,accuracy,name\n0,1,None,a\n10,,0.5,b\n"
    with pytest.warns(UserWarning, match=r'are left out: "accuracy" \("None"\)\. A number'):
        ds = ps.logged(write(tmp_path, "log.csv", text))
    assert list(ds.data_vars) == ["loss"]


def test_numbers_with_a_decimal_comma_are_left_out_with_a_warning(tmp_path):
    text = "step;loss;accuracy\n0;1,5;0\n10;0,5;1\n"
    with pytest.warns(UserWarning, match=r'"loss" \("1,5"\)\. A number has a decimal point'):
        assert list(ps.logged(write(tmp_path, "log.csv", text)).data_vars) == ["accuracy"]


def test_a_clock_beside_the_steps_is_said_to_be_taken_for_the_times():
    columns = {"step": STEPS, "time": 1.7e9 + STEPS, "loss": LOSS}
    with pytest.warns(UserWarning, match='clock: time="step", rename={"time": "clock"}'):
        ds = ps.logged(columns)
    assert ds.time[0] == 1.7e9
    np.testing.assert_array_equal(ps.logged(columns, time="time").time, ds.time)
    clock = ps.logged(columns, time="step", rename={"time": "clock"})
    np.testing.assert_array_equal(clock.time, STEPS)


def test_none_among_numbers_is_unknown():
    ds = ps.logged({"step": STEPS, "loss": LOSS, "accuracy": [None, 0.5, None]})
    np.testing.assert_array_equal(ds.accuracy, [np.nan, 0.5, np.nan])


def test_the_index_of_a_table_of_pandas_may_be_the_steps():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"step": STEPS, "loss": LOSS}).set_index("step")
    np.testing.assert_array_equal(ps.logged(table).time, STEPS)


def test_a_list_of_records_is_answered_with_what_makes_a_table_of_it():
    with pytest.raises(ps.LogError, match=r"pandas\.DataFrame\(records\) makes a table\."):
        ps.logged([{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}])


def test_a_list_that_is_no_array_is_one_clear_error():
    with pytest.raises(ps.LogError, match='"loss" is no array'):
        ps.logged({"step": [0, 1], "loss": [[1.0], [1.0, 2.0]]})


def test_a_list_of_losses_as_a_loop_in_torch_collects_them_is_read():
    torch = pytest.importorskip("torch")
    losses = [torch.tensor(x, requires_grad=True) for x in (1.0, 0.5)]
    np.testing.assert_array_equal(ps.logged({"step": [0, 1], "loss": losses}).loss, [1.0, 0.5])
    halves = [loss.bfloat16() for loss in losses]  # which NumPy has not
    for found in (halves, torch.stack(halves)):
        np.testing.assert_array_equal(ps.logged({"step": [0, 1], "loss": found}).loss, [1.0, 0.5])


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ps.LogError, match='"loss" has 2 records, and "step" has 3'):
        ps.logged({"step": STEPS, "loss": LOSS[:2]})


def test_an_entry_that_is_missing_is_named():
    with pytest.raises(ps.LogError, match=r'no column "p\[1\]"'):
        ps.logged({"step": STEPS, "p[0]": LOSS, "p[2]": LOSS})


def test_an_entry_that_is_there_twice_is_named():
    with pytest.raises(ps.LogError, match=r'"p\[00\]" is there twice'):
        ps.logged({"step": STEPS, "p[0]": LOSS, "p[00]": LOSS})


def test_seeds_of_different_times_are_refused_unless_the_common_ones_are_asked_for():
    logs = [{"step": STEPS, "loss": LOSS}, {"step": STEPS[:2], "loss": LOSS[:2]}]
    with pytest.raises(ps.LogError, match="not at the same times"):
        ps.logged(logs)
    np.testing.assert_array_equal(ps.logged(logs, join="inner").time, STEPS[:2])


def test_a_line_that_was_cut_off_is_left_out_with_a_warning(tmp_path):
    file = write(tmp_path, "log.csv", "step,loss\n0,1.0\n10,0.5\n20,0.12")
    with pytest.warns(UserWarning, match="may be cut off"):
        ds = ps.logged(file)
    np.testing.assert_array_equal(ds.time, [0, 10])


# Writing.
def test_what_a_loop_logs_is_read_again_exactly(tmp_path):
    with ps.Log(tmp_path / "log.csv") as log:
        for step, loss, progress in zip(STEPS, LOSS, PROGRESS, strict=True):
            log(int(step), loss=loss, progress=progress)
    ds = ps.logged(tmp_path / "log.csv", dims={"progress": "mode"})
    np.testing.assert_array_equal(ds.loss, LOSS)
    np.testing.assert_array_equal(ds.progress, PROGRESS)


def test_a_tensor_of_any_precision_is_logged_as_the_number_that_it_is(tmp_path):
    torch = pytest.importorskip("torch")
    with ps.Log(tmp_path / "log.csv") as log:
        log(0, loss=torch.tensor(0.3, dtype=torch.bfloat16, requires_grad=True), n=torch.tensor(7))
    ds = ps.logged(tmp_path / "log.csv")
    assert ds.loss.item() == 0.30078125
    assert ds.n.item() == 7


def test_a_checkpoint_is_not_taken_for_a_log(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"{}")
    with pytest.raises(ps.LogError, match=r"Checkpoints are for ps\.probe"):
        ps.logged(tmp_path / "a.safetensors")


def test_a_log_that_is_there_is_not_written_over(tmp_path):
    as_csv(tmp_path)
    with pytest.raises(ps.LogError, match="is there already"):
        ps.Log(tmp_path / "log.csv")


def test_a_log_goes_on_after_what_a_crash_cut_off(tmp_path):
    file = write(tmp_path, "log.csv", "step,loss\n0,1.0\n10,0.5\n20,0.1")
    with ps.Log(file, resume=True) as log:
        with pytest.raises(ps.LogError, match="times rise"):
            log(10, loss=0.5)
        log(20, loss=0.25)
    assert file.read_text() == "step,loss\n0,1.0\n10,0.5\n20,0.25\n"


@pytest.mark.parametrize(
    ("after", "kept"), [(10, 2), (14.5, 2), (0, 1), (-1, 0), (500, 3), (np.inf, 3)]
)
def test_a_log_goes_on_after_the_checkpoint_of_its_training(after, kept, tmp_path):
    lines = ["step,loss\n", "0,1.0\n", "10,0.5\n", "20,0.1\n"]
    file = write(tmp_path, "log.csv", "".join(lines) + "30,0.0")
    with ps.Log(file, resume=True, after=after) as log:
        log(25, loss=0.25)
    assert file.read_text() == "".join([*lines[: 1 + kept], "25,0.25\n"])


def test_without_a_log_there_is_nothing_to_go_on_after(tmp_path):
    with ps.Log(tmp_path / "log.csv", resume=True, after=500) as log:
        log(510, loss=0.25)
    assert (tmp_path / "log.csv").read_text() == "step,loss\n510,0.25\n"


@pytest.mark.parametrize("after", [np.nan, "500", None])
def test_a_checkpoint_without_a_step_removes_nothing(after, tmp_path):
    file = write(tmp_path, "log.csv", "step,loss\n0,1.0\n")
    with pytest.raises(ps.LogError, match="after is the step of a checkpoint"):
        ps.Log(file, resume=True, after=after)
    assert file.read_text() == "step,loss\n0,1.0\n"


def test_a_file_of_another_kind_is_not_gone_on_with(tmp_path):
    file = write(tmp_path, "log.csv", "name,loss\na,1.0\ntorn")
    with pytest.raises(ps.LogError, match="was not written by"):
        ps.Log(file, resume=True)
    assert file.read_text() == "name,loss\na,1.0\ntorn"


@pytest.mark.parametrize("values", [{"loss": 1.0, "more": 2.0}, {"loss": [1.0, 2.0]}, {}])
def test_a_record_with_other_names_is_refused_and_costs_no_other(values, tmp_path):
    with ps.Log(tmp_path / "log.csv") as log:
        log(0, loss=1.0)
        with pytest.raises(ps.LogError, match="same names"):
            log(1, **values)
        log(1, loss=0.5)
    assert ps.logged(tmp_path / "log.csv").sizes["time"] == 2


@pytest.mark.parametrize("name", ["step", "time", "", " loss", "two\nlines"])
def test_a_name_that_could_not_be_read_again_is_refused_at_the_first_record(name, tmp_path):
    with ps.Log(tmp_path / "log.csv") as log:
        with pytest.raises(ps.LogError, match=r"the times of the records|the name of a column"):
            log(0, loss=1.0, **{name: 2.0})
        log(0, loss=1.0)
    assert list(ps.logged(tmp_path / "log.csv").data_vars) == ["loss"]


@pytest.mark.parametrize(
    ("step", "values", "said"),
    [
        ("0", {"loss": 1.0}, "a record begins with its step, a number, got '0'"),
        (None, {"loss": 1.0}, "a record begins with its step"),
        (True, {"loss": 1.0}, "a record begins with its step"),
        (np.arange(2), {"loss": 1.0}, "a record begins with its step"),
        (0, {}, "a record has numbers beside its step"),
        (0, {"loss": 1.0, "gaps": []}, "gaps is an array without numbers"),
        (0, {"loss": 1.0, "eigenvalue": 1 + 2j}, "log its real and its imaginary part"),
        (0, {"loss": 1.0, "eigenvalues": np.ones(2) * 1j}, "log its real and its imaginary part"),
    ],
)
def test_a_record_that_would_lose_something_is_refused(step, values, said, tmp_path):
    with ps.Log(tmp_path / "log.csv") as log:
        with pytest.raises(ps.LogError) as error:
            log(step, **values)
        log(0, loss=1.0)
    assert said in str(error.value)
    assert (tmp_path / "log.csv").read_text() == "step,loss\n0,1.0\n"


def test_a_step_of_numpy_or_torch_is_a_number(tmp_path):
    torch = pytest.importorskip("torch")
    with ps.Log(tmp_path / "log.csv") as log:
        for step in (np.int64(0), torch.tensor(1), np.array(2), np.float32(2.5)):
            log(step, loss=1.0)
    assert (tmp_path / "log.csv").read_text() == "step,loss\n0,1.0\n1,1.0\n2,1.0\n2.5,1.0\n"


def test_a_log_that_cannot_be_written_is_one_clear_error(tmp_path):
    with pytest.raises(ps.LogError, match="there is no folder"):
        ps.Log(tmp_path / "nowhere" / "log.csv")
    with ps.Log(tmp_path / "log.csv") as log:
        pass
    with pytest.raises(ps.LogError, match="the log is closed"):
        log(0, loss=1.0)


def test_two_numbers_of_one_name_are_refused_at_the_first_record(tmp_path):
    with ps.Log(tmp_path / "log.csv") as log, pytest.raises(ps.LogError, match=r"called \"p\[0\]"):
        log(0, **{"p": [1.0], "p[0]": 1.0})


def test_what_was_logged_before_a_kill_is_there(tmp_path):
    script = """
        import os, signal, phasescope as ps
        log = ps.Log("log.csv")
        for step in range(5):
            log(step, loss=1.0 / (1 + step))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    np.testing.assert_array_equal(ps.logged(tmp_path / "log.csv").loss, 1 / np.arange(1.0, 6.0))


# As evidence.
@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    """Gradient descent on three modes, in NumPy, logged as it trains."""
    file = tmp_path_factory.mktemp("modes") / "modes.csv"
    strength = np.array([3.0, 2.0, 1.0])
    a = b = np.sqrt(np.full(3, 1e-3))
    with ps.Log(file) as log:
        for step in range(701):
            error = strength - a * b
            if step % 10 == 0:
                log(step, loss=0.5 * np.sum(error**2), progress=a * b / strength)
            a, b = a + 0.01 * error * b, b + 0.01 * error * a
    return ps.logged(file, dims={"progress": "mode"}, unit=0.01)


ORDER = "stronger_modes_are_learnt_first"


def test_a_claim_is_judged_on_a_log_and_the_ledger_says_where_it_came_from(modes):
    ledger = ps.check("linear_modes", claim=ORDER, evidence=modes, store=False)
    [row] = ledger
    assert row.word == ps.Word.HOLDS
    assert "modes.csv (CSV, sha256 " in row.logs[0]
    for told in (repr(ledger), ledger.to_markdown(), json.dumps(ledger.to_json())):
        assert "modes.csv" in told


def test_a_claim_fails_on_a_log_that_contradicts_it(modes):
    [row] = ps.check(
        "linear_modes", claim=ORDER, evidence=modes.assign_coords(mode=[2, 1, 0]), store=False
    )
    assert row.word == ps.Word.FALSE


def test_what_a_log_lacks_is_said_with_what_it_has(modes):
    other = modes.rename(progress="learnt")
    [row] = ps.check("linear_modes", claim=ORDER, evidence=other, store=False)
    assert row.error
    assert "in the log: loss, learnt" in row.measured


def test_a_log_that_does_not_tell_its_model_is_beyond_the_assumptions(modes):
    claim = ps.find("linear_modes").claim(ORDER)
    assuming = dataclasses.replace(claim, assumes=ps.assume(model=("flow",)))
    study = ps.find("linear_modes")
    assert str(standing_of_datasets(study, assuming, [modes]).regime) == "beyond"
    told = modes.assign_attrs(arm="flow")
    assert str(standing_of_datasets(study, assuming, [told]).regime) == "theory"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"arm": "flw"}, 'modes.csv is said to be a run of linear_modes: .*"flw".*flow'),
        ({"arm": "flow", "numbers": {"epsilom": 1e-3}}, 'no field "epsilom".*epsilon'),
        ({"arm": "flow", "numbers": {"epsilon": "small"}}, "epsilon must be a number"),
    ],
)
def test_a_log_that_is_said_to_be_what_the_study_has_not_is_refused(told, said, modes, tmp_path):
    file = tmp_path / "modes.csv"
    file.write_text("step,loss\n0,1\n1,0.5\n")
    with pytest.raises(ps.SpecError, match=said):
        ps.check("linear_modes", claim=ORDER, evidence=ps.logged(file, **told), store=False)


def test_a_figure_is_drawn_of_a_log(modes, tmp_path):
    [file] = ps.draw(
        "linear_modes", figure="learning_curves", evidence=modes, out=tmp_path, store=False
    )
    assert file.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ps.SpecError, match="name it with figure"):
        ps.draw("linear_modes", evidence=modes, out=tmp_path, store=False)


STUDY = '''
import phasescope as ps

class Spec(ps.Spec):
    steps: int = 1

def my_run():
    return ps.logged("{file}")

@ps.claim("a notebook", ps.on("training", ps.tables(my_run)), kind="monotone")
def the_loss_falls(run):
    """The loss falls."""
    return ps.decreasing(run.loss, "loss")

@ps.figure("loss", ps.tables(my_run))
def curve(run, axes):
    """The loss."""
    axes.plot(run.time, run.loss)

study = ps.Study("mine", Spec(), arms=(), claims=(the_loss_falls,), figures=(curve,))
'''


def test_a_report_on_a_log_names_it_and_follows_it_when_it_changes(tmp_path, store):
    log = as_csv(tmp_path)
    file = write(tmp_path, "mine.py", STUDY.format(file=log))
    study = ps.find(str(file))
    context = default_context(None, False)
    made = write_report([study], context, tmp_path / "page")
    assert [row.word for row in made.ledger] == [ps.Word.HOLDS]
    assert "log.csv (CSV, sha256 " in made.html.read_text()
    log.write_text("step,loss\n0,1.0\n1,2.0\n")
    again = write_report([study], context, tmp_path / "page")
    assert [row.word for row in again.ledger] == [ps.Word.FALSE]
