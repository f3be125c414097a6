"""What `run`, `sweep`, `runs` and `export` say and write: what there is, where, and how long it took."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from safetensors.numpy import load_file

import phasescope as ps
from phasescope.cli import app as cli
from phasescope.store import Store

KEPT = Path(__file__).with_name("data") / "store_0_1"
DESCENT = "linear_modes/descent/26b6f7305c254154"
STOPPED = "linear_modes/descent/6cfc69c731ba5851"


@pytest.fixture
def command(monkeypatch, capsys, store):
    """The command, in this process: its exit code, and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["phasescope", *map(str, words)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def old(store):
    shutil.copytree(KEPT, store)
    return store


def test_the_version_is_printed(command):
    assert command("--version") == (0, f"phasescope {ps.__version__}\n", "")


def test_a_run_shows_every_time_that_was_asked_for(command):
    _, out, _ = command("run", "linear_modes", "logistic", "--at", "0.5,1,2")
    assert [f"at time {t}" in out for t in ("0.5", "1", "2")] == [True] * 3
    ds = ps.run("linear_modes", "logistic", at=[0.5, 1.0, 2.0])
    assert [f"{x:.6g}" in out for x in ds.loss.values] == [True] * 3


def test_a_run_says_where_it_is_how_long_it_took_and_how_to_open_it(command, store):
    _, out, _ = command("run", "linear_modes", "logistic", "--at", "0.5,1")
    [entry] = Store(store).entries()
    assert (
        f"finished: {entry.id}; 2 records; computing took {entry.manifest['seconds']:.3g} s" in out
    )
    assert f"kept in {entry.folder}" in out
    assert f'ps.open("{entry.digest}")' in out


def test_the_times_and_values_of_a_run_are_in_its_json(command):
    _, out, _ = command("run", "linear_modes", "logistic", "--at", "0.5,1", "--json")
    said = json.loads(out)
    assert (said["times"], len(said["values"]["loss"])) == ([0.5, 1.0], 2)


@pytest.mark.parametrize("name", ["sweep.nc", "sweep.zarr.zip"])
def test_a_sweep_is_written_and_says_where_it_is(command, store, tmp_path, name):
    words = ("linear_modes", "logistic", "epsilon=1e-3,1e-4", "--at", "0.5,1")
    _, out, _ = command("sweep", *words, "--out", tmp_path / name)
    [entry] = Store(store).entries()
    assert (
        f"2 runs in 1 block of 2 lanes, 1 program; computing took {entry.manifest['seconds']:.3g} s"
        in out
    )
    assert f"kept in {store}, as {entry.id}" in out
    assert f"written to {tmp_path / name}" in out
    expected = ps.sweep("linear_modes", "logistic", epsilon=[1e-3, 1e-4], at=[0.5, 1.0])
    xr.testing.assert_equal(ps.open(tmp_path / name), expected)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("sweep.csv", "is written as .nc (netCDF) or .zarr.zip"),
        ("none/sweep.nc", "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    command, store, tmp_path, file, sentence
):
    code, _, err = command(
        "sweep", "linear_modes", "logistic", "epsilon=1,2", "--out", tmp_path / file
    )
    assert (code != 0, sentence in err, store.exists()) == (True, True, False)


def test_runs_are_told_by_what_differs_from_the_defaults(command):
    command("run", "linear_modes", "logistic", "epsilon=1e-2", "--at", "0.5,1", "--seed", "3")
    _, out, _ = command("runs")
    [id, words, total] = out.splitlines()
    assert id.startswith("linear_modes/logistic/")
    assert words.endswith(" s; epsilon=0.01, seed 3, recorded at 2 times")
    assert total.startswith("1 finished.")


def test_an_unfinished_run_says_which_it_is_and_how_far_it_came(command, old):
    _, out, _ = command("runs")
    lines = out.splitlines()
    words = lines[lines.index(STOPPED) + 1]
    asked = json.loads((old / ".drafts" / STOPPED / "000001.json").read_text())["identity"]
    assert f"eta={asked['spec']['eta']}, seed {asked['seed']}" in words
    assert "unfinished, came to " in words


def test_an_id_stays_on_one_line_however_narrow_the_terminal(command, old, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert DESCENT in command("runs")[1].splitlines()


def test_a_state_is_exported_in_one_line(command, old, tmp_path):
    file = tmp_path / "end.safetensors"
    code, out, _ = command("export", "26b6", file)
    assert (code, "params.a [3]" in out) == (0, True)
    arrays = ps.state(DESCENT)
    np.testing.assert_array_equal(load_file(file)["params.a"], arrays["params.a"])


def test_records_are_exported_as_netcdf(command, old, tmp_path):
    command("export", DESCENT, tmp_path / "run.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "run.nc"), ps.open(DESCENT))


def test_a_stage_is_of_a_state_only(command, old, tmp_path):
    code, _, err = command("export", DESCENT, tmp_path / "run.nc", "--stage", "training")
    assert (code, "--stage is of a state" in err) == (2, True)
