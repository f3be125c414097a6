"""No link below the root of a store is followed: not to read, not to write, not to remove."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.errors import StoreError
from phasescope.store import Entry, Identity, Store


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def home(tmp_path) -> Path:
    """A user's folder, with names that the store might take for its own."""
    folder = tmp_path / "home"
    for name in (
        "thesis.tex",
        ".bashrc",
        "000001.json",
        "000007.json",
        "sub/letter.txt",
        "run.json",
        "file",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"mine: {name}")
    return folder


def everything_in(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b""
        for p in folder.rglob("*")
    }


def identity(seed: int = 0) -> Identity:
    return Identity("linear_modes", "flow", {"eta": 0.1}, seed)


def dataset() -> xr.Dataset:
    return xr.Dataset({"loss": ("time", np.arange(6.0))}, coords={"time": np.arange(6)})


def compute(store: Store, seed: int = 0) -> None:
    with store.draft(identity(seed)) as draft:
        if draft.finished is None:
            draft.resume()
            draft.save({"done": 1}, [np.zeros(3)], {"loss": np.zeros(2)})
            draft.finish(dataset(), {}, {"end": [np.array(seed)]})


def save(store: Store, number: int) -> None:
    with store.draft(identity()) as draft:
        draft.resume()
        for _ in range(number):
            draft.save({"done": 1}, [np.zeros(3)], {"loss": np.zeros(2)})


def read_all(store: Store, entry: Entry) -> None:
    store.load(entry)
    store.snapshot(entry, "end")


def named_by_repair(store: Store) -> str:
    report = store.repair()
    return "\n".join([p.message for p in report.damaged] + [str(path) for path in report.cleared])


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


ON_THE_WAY = [
    ".drafts",
    ".drafts/linear_modes",
    ".drafts/linear_modes/flow",
    ".drafts/linear_modes/flow/DIGEST",
    ".drafts/linear_modes/flow/DIGEST.lock",
    "linear_modes",
    "linear_modes/flow",
    "linear_modes/flow/DIGEST",
    "linear_modes/flow/.DIGEST.part",
]


@pytest.mark.parametrize("target", ["home", "home/file", "nowhere", "runs/other"])
@pytest.mark.parametrize("name", ON_THE_WAY)
def test_a_run_on_whose_way_a_link_lies_is_refused_by_the_name_of_the_link(
    tmp_path, home, name, target
):
    store = Store(tmp_path / "runs")
    compute(store, 1)
    os.makedirs(tmp_path / "runs/other/inner")
    path = tmp_path / "runs" / name.replace("DIGEST", identity().digest)
    if path.exists():
        os.rename(path, tmp_path / "before")
    link(path, tmp_path / target)
    before = everything_in(tmp_path)
    with pytest.raises(StoreError, match=rf"{re.escape(str(path))} is a link.*Remove it"):
        compute(store, 0)
    made = set(everything_in(tmp_path)) - set(before)
    assert all(
        n.startswith("runs/.drafts") for n in made
    )  # a lock and the folders of one, nothing else
    assert {n: t for n, t in everything_in(tmp_path).items() if n in before} == before
    assert path.is_symlink()


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_listing_and_repair_leave_alone_what_a_link_points_to_and_repair_names_it(
    tmp_path, home, name
):
    store = Store(tmp_path / "runs")
    compute(store, 1)
    path = tmp_path / "runs" / name.replace("DIGEST", identity().digest)
    if path.exists():
        os.rename(path, tmp_path / "before")
    link(path, home)
    before = everything_in(home)
    assert len(store.entries()) == (0 if name in ("linear_modes", "linear_modes/flow") else 1)
    assert store.unfinished() == []
    assert str(path) in named_by_repair(store)
    store.repair(remove=True)
    assert everything_in(home) == before
    if path.is_symlink():
        path.unlink()
    compute(store, 0)
    assert store.find(identity(0)) is not None


def test_a_linked_half_written_run_or_lock_blocks_its_run_only_until_repair(tmp_path, home):
    store = Store(tmp_path)
    part = tmp_path / f"linear_modes/flow/.{identity().digest}.part"
    lock = tmp_path / f".drafts/linear_modes/flow/{identity().digest}.lock"
    for path, target in ((part, home), (lock, home / "file")):
        link(path, target)
        with pytest.raises(StoreError, match="is a link"):
            compute(store)
        assert path in store.repair().cleared
        assert not path.is_symlink()
    before = everything_in(home)
    compute(store)
    assert everything_in(home) == before
    assert len(store.entries()) == 1


@pytest.mark.parametrize("kind", ["json", "state.safetensors", "records.safetensors"])
def test_a_link_in_a_draft_is_not_followed(tmp_path, home, kind):
    store = Store(tmp_path / "runs")
    save(store, 2)
    [draft] = store.unfinished()
    file = draft.folder / f"000002.{kind}"
    os.rename(file, home / "moved")
    file.symlink_to(home / "moved")
    before = everything_in(home)
    with (
        store.draft(identity()) as again,
        pytest.raises(StoreError, match=rf"000002\.{kind} is a link.*Remove it"),
    ):
        again.resume()
    assert [u.id for u in store.unfinished()] == [draft.id]
    store.repair()
    assert everything_in(home) == before
    assert len(list(draft.folder.glob("*"))) == 6


def test_a_link_of_the_name_of_a_temporary_file_is_replaced_and_not_written_through(tmp_path, home):
    store = Store(tmp_path / "runs")
    folder = tmp_path / "runs/.drafts/linear_modes/flow" / identity().digest
    before = everything_in(home)
    with store.draft(identity()) as draft:
        link(folder / ".000001.json.part", home / "file")
        draft.save({}, [], {})
        link(folder / ".000002.json.part", home / "new")
        draft.save({}, [], {})
    link(tmp_path / f"runs/.index.json.{os.getpid()}.part", home / "file")
    store.entries()
    assert everything_in(home) == before


def test_a_file_of_the_user_that_lies_in_a_draft_survives_resuming(tmp_path):
    store = Store(tmp_path)
    save(store, 1)
    [left] = store.unfinished()
    (left.folder / "notes.txt").write_text("mine")
    (left.folder / "000002.json").write_text("half")
    with store.draft(identity()) as draft:
        assert draft.resume() is not None
    assert (left.folder / "notes.txt").read_text() == "mine"
    assert not (left.folder / "000002.json").exists()


@pytest.mark.parametrize(
    "name", ["run.json", "records.zarr.zip", "snapshots", "snapshots/end.safetensors"]
)
def test_a_link_in_a_finished_run_is_not_read_and_repair_sets_the_run_aside(tmp_path, home, name):
    store = Store(tmp_path / "runs")
    compute(store)
    [entry] = store.entries()
    file = entry.folder / name
    os.rename(file, home / "moved")
    file.symlink_to(home / "moved")
    before = everything_in(home)
    with pytest.raises(StoreError, match=rf"{re.escape(str(file))} is a link.*Remove it"):
        read_all(store, entry)
    store.survey()
    [problem] = store.repair().damaged
    assert str(file) in problem.message
    assert problem.moved is not None
    assert everything_in(home) == before
    compute(store)
    file = store.entries()[0].folder / "run.json"
    os.rename(file, home / "moved again")
    file.symlink_to(home / "moved again")
    store.repair(remove=True)
    assert (home / "moved again").exists()
    assert store.entries() == []


def test_a_linked_run_json_is_not_believed_because_the_index_knows_it(tmp_path, home):
    store = Store(tmp_path / "runs")
    compute(store)
    [entry] = store.entries()
    os.rename(entry.folder / "run.json", home / "moved")
    (entry.folder / "run.json").symlink_to(home / "moved")
    assert store.entries() == []
    assert "is a link" in store.survey()[1][0].message


@pytest.mark.parametrize("target", ["home/file", "home", "home/new"])
def test_a_linked_index_is_neither_read_nor_written_and_repair_removes_the_link(
    tmp_path, home, target
):
    store = Store(tmp_path / "runs")
    compute(store)
    path = tmp_path / "runs/index.json"
    link(path, tmp_path / target)
    before = everything_in(home)
    entries, problems = store.survey()
    assert len(entries) == 1
    assert [p.folder for p in problems] == [path]
    assert path.is_symlink()
    assert path in store.repair().cleared
    assert everything_in(home) == before
    assert path.is_file()
    assert not path.is_symlink()


def test_an_index_behind_a_link_is_not_believed(tmp_path):
    store = Store(tmp_path / "runs")
    compute(store)
    store.entries()
    os.rename(tmp_path / "runs/index.json", tmp_path / "index.json")
    link(tmp_path / "runs/index.json", tmp_path / "index.json")
    assert store._index() == {}


@pytest.mark.parametrize("remove", [False, True])
def test_a_linked_quarantine_receives_nothing_and_loses_nothing(tmp_path, home, remove):
    store = Store(tmp_path / "runs")
    compute(store, 0)
    compute(store, 1)
    link(tmp_path / "runs/.quarantine", home)
    before = everything_in(home)
    for entry in store.entries():
        (entry.folder / "records.zarr.zip").write_bytes(b"broken")
    report = store.repair(remove)
    assert everything_in(home) == before
    assert len(report.damaged) == 3
    assert str(tmp_path / "runs/.quarantine") in report.damaged[0].message
    assert (tmp_path / "runs/.quarantine").is_symlink()
    left = list((tmp_path / "runs/linear_modes/flow").iterdir())
    assert len(left) == (0 if remove else 2)
    assert all("left where it is" in p.message for p in report.damaged[1:]) != remove


def test_the_root_itself_may_be_a_link_or_be_reached_through_one(tmp_path):
    (tmp_path / "disk/runs").mkdir(parents=True)
    (tmp_path / "runs").symlink_to(tmp_path / "disk/runs")
    (tmp_path / "there").symlink_to(tmp_path / "disk")
    for seed, root in enumerate([tmp_path / "runs", tmp_path / "there/runs"]):
        store = Store(root)
        compute(store, seed)
        entry = store.find(identity(seed))
        assert entry is not None
        xr.testing.assert_identical(store.load(entry), dataset())
        assert len(store.entries()) == seed + 1
        assert store.repair().damaged == []


def test_a_file_outside_of_the_store_is_not_read_for_it(tmp_path):
    ours = Store(tmp_path / "ours")
    theirs = Store(tmp_path / "theirs")
    compute(theirs)
    [entry] = theirs.entries()
    with pytest.raises(StoreError, match="is not in the store"):
        ours.load(entry)


@pytest.mark.parametrize(
    "name",
    [
        "../theirs/RUN",
        "linear_modes/../../theirs/RUN",
        "..%2Ftheirs%2FRUN",
        "%252e%252e/theirs/RUN",
        "..\\theirs\\RUN",
        "\\\\host\\theirs\\RUN",
        "recorded:../theirs/RUN",
        "RUN\0",
        "NUL",
        "..",
    ],
)
def test_an_id_that_climbs_out_of_the_store_is_the_id_of_no_run(tmp_path, name, monkeypatch):
    monkeypatch.chdir(
        tmp_path
    )  # from where the paths lead nowhere; as paths of a user they are followed
    ours = Store(tmp_path / "deep" / "ours")
    theirs = Store(tmp_path / "deep" / "theirs")
    compute(ours, 1)
    compute(theirs)
    [entry] = theirs.entries()
    with pytest.raises(ps.PhasescopeError, match="no "):
        ps.open(name.replace("RUN", entry.id), store=ours.root)
