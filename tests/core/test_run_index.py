"""The index of a store says what the store says: after any change to it, beside other writers, whatever became of its file."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from phasescope.store import Identity, Store
from phasescope.store.sealed import seal
from phasescope.verbs import index_lines, run_index
from phasescope.verbs.index_file import OURS, index_file
from phasescope.verbs.run_index import Query, RunIndex
from phasescope.verbs.store_contents import finished_row
from phasescope.verbs.stored_runs import stored_runs

ARMS = [("modes", "flow"), ("modes", "descent"), ("other", "flow")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for stores, with a cache of its own."""
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def put(root: Path, number: int, **changes) -> Path:
    """A run without records, as the store writes it; the same number is the same run again, replaced."""
    study, arm = ARMS[number % len(ARMS)]
    identity = Identity(study, arm, {"epsilon": number / 8, "kind": "flow"}, number)
    document = {
        "format": identity.format,
        "identity": identity.to_json(),
        "status": "finished",
        "manifest": {"seconds": 1.5},
        "created": f"2026-01-{1 + number % 28:02d}T00:00:00+00:00",
        "files": {"records.zarr.zip": {"sha256": "0" * 64, "size": 100 + number}},
        "content": {},
    } | changes
    folder = root / study / arm / identity.digest
    aside = folder.with_name(f".{identity.digest}.part")
    aside.mkdir(parents=True)
    (aside / "run.json").write_bytes(seal(document))
    if folder.exists():
        shutil.rmtree(folder)
    os.rename(aside, folder)
    return folder


def told_by_the_store(root: Path) -> dict:
    """All runs by id, read from their own documents."""
    entries, problems = Store(root).survey(afresh=True)
    rows = {entry.id: finished_row(entry) for entry in entries}
    rows |= {p.id: {"id": p.id, "problem": p.message} for p in problems}
    return json.loads(json.dumps(rows))


def told_by_the_index(index: RunIndex) -> dict:
    finished, unreadable = index.every()
    rows = {
        row["id"]: {k: v for k, v in row.items() if k not in ("size", "kind")} for row in finished
    }
    return rows | {r["id"]: {"id": r["id"], "problem": r["problem"]} for r in unreadable}


def agrees(index: RunIndex, root: Path) -> bool:
    return told_by_the_index(index) == told_by_the_store(root)


# After any change


def change(root: Path, what: str, number: int) -> None:
    found = sorted(root.glob("*/*/[0-9a-f]*"))
    one = found[number % len(found)] if found else None
    if what == "add" or one is None:
        put(root, number)
    elif what == "replace":
        put(root, number_of(one, number), status="diverged", manifest={"seconds": number / 2})
    elif what == "remove":
        shutil.rmtree(one)
    elif what == "damage" and (one / "run.json").exists():
        text = (one / "run.json").read_bytes()
        (one / "run.json").write_bytes(text[: len(text) // 2] + b"x" + text[len(text) // 2 + 1 :])
    elif what == "lose the document":
        (one / "run.json").unlink(missing_ok=True)
    elif what == "remove the arm":
        shutil.rmtree(one.parent)
    elif what == "repair":
        Store(root).repair()


def number_of(folder: Path, otherwise: int) -> int:
    """Which run is in a folder, if that can be read."""
    try:
        return json.loads((folder / "run.json").read_bytes())["identity"]["seed"]
    except (OSError, ValueError):
        return otherwise


CHANGES = ("add", "replace", "remove", "damage", "lose the document", "remove the arm", "repair")


def history_of(luck: random.Random) -> list[tuple[str, int]]:
    return [(luck.choice(CHANGES), luck.randrange(12)) for _ in range(15)]


@pytest.mark.parametrize("seed", range(12))
def test_after_any_history_the_index_is_the_store(place, seed):
    luck = random.Random(seed)
    root = place / "store"
    for number in range(4):
        put(root, number)
    one, other = RunIndex(Store(root)), RunIndex(Store(root))
    try:
        for what, number in history_of(luck):
            change(root, what, number)
            if luck.random() < 0.5:
                assert agrees(luck.choice([one, other]), root), (what, number)
        assert agrees(one, root) and agrees(other, root)
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("seed", range(8))
def test_a_quick_look_sees_what_appeared_vanished_or_was_replaced(place, seed):
    root = place / "store"
    put(root, 0)
    index = RunIndex(Store(root))
    index.refresh()
    for what, number in history_of(random.Random(seed)):
        if what in ("damage", "lose the document"):
            continue  # what changes within a folder is for a thorough look
        change(root, what, number)
        index.refresh()
        total, rows = index.select(Query(limit=None))
        known = told_by_the_store(root)
        assert (total, {row["id"] for row in rows}) == (len(known), set(known))
        assert {row["id"]: row["status"] for row in rows} == {
            id: row.get("status", "cannot be read") for id, row in known.items()
        }
    index.close()


def test_times_that_are_believed_save_reading(place, monkeypatch):
    root = place / "store"
    for number in range(6):
        put(root, number)
    monkeypatch.setattr(index_lines, "SETTLED", -1)
    index = RunIndex(Store(root))
    assert agrees(index, root)
    read = []
    monkeypatch.setattr(index_lines, "read_run", lambda *given: read.append(given))
    assert len(index.every()[0]) == 6 and read == []
    index.close()
    again = RunIndex(Store(root))
    assert len(again.every()[0]) == 6 and read == []
    again.close()


def test_listing_has_what_is_unfinished_and_what_is_a_link_too(place):
    root = place / "store"
    whole = put(root, 0)
    os.symlink(whole, whole.with_name("0" * 16))
    with Store(root).draft(Identity("modes", "flow", {"epsilon": 9.0}, 0)) as draft:
        import numpy as np

        draft.save({"done": 1}, [np.zeros(2)], {"loss": np.zeros(1)})
    rows = stored_runs(Store(root))
    assert [row["status"] for row in rows] == ["finished", "unfinished", "cannot be read"]
    assert "is a link" in rows[2]["problem"]
    assert [row["status"] for row in stored_runs(Store(root), "UNFINISHED flow")] == ["unfinished"]
    assert [row["spec"]["epsilon"] for row in stored_runs(Store(root), "epsilon=9.0")] == [9.0]


# Whatever became of its file


def files_of(root: Path) -> Path:
    file = index_file(root)
    assert file is not None
    return file


def filled(place: Path, count: int = 40) -> Path:
    root = place / "store"
    for number in range(count):
        put(root, number)
    index = RunIndex(Store(root))
    index.refresh()
    index.close()
    return root


@pytest.mark.parametrize("junk", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_index_is_made_anew(place, junk):
    root = filled(place)
    files_of(root).write_bytes(junk)
    index = RunIndex(Store(root))
    assert agrees(index, root)
    index.close()


def test_a_database_of_another_program_or_version_is_not_believed(place):
    root = filled(place)
    for mark, version in ((OURS, 1), (OURS, 99), (7, 2), (0, 0)):
        files_of(root).unlink()
        foreign = sqlite3.connect(files_of(root))
        foreign.executescript(
            f"PRAGMA application_id={mark}; PRAGMA user_version={version}; CREATE TABLE runs (id, row);"
            "INSERT INTO runs VALUES ('modes/flow/0000000000000000', '{}');"
        )
        foreign.close()
        index = RunIndex(Store(root))
        assert agrees(index, root), (mark, version)
        index.close()


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_are_found_or_do_not_matter(place, seed):
    root = filled(place)
    luck = random.Random(seed)
    data = bytearray(files_of(root).read_bytes())
    for _ in range(30):
        data[luck.randrange(len(data))] ^= 1 << luck.randrange(8)
    files_of(root).write_bytes(data)
    index = RunIndex(Store(root))
    assert agrees(index, root)
    index.close()


def test_a_file_that_is_damaged_while_it_is_open_is_made_anew(place):
    root = filled(place)
    index = RunIndex(Store(root))
    with index._lock:
        index._file.tables.execute("DROP TABLE runs")
    assert index.select(Query(limit=None))[0] == 40
    assert agrees(index, root)
    index.close()


def test_an_index_that_another_process_holds_for_long_is_left_alone(place, monkeypatch):
    from phasescope.verbs import index_file as of_file

    root = filled(place)
    monkeypatch.setattr(of_file, "BUSY", 0.05)
    index = RunIndex(Store(root))
    holder = sqlite3.connect(files_of(root), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    put(root, 77)
    assert agrees(index, root)
    holder.execute("COMMIT")
    assert holder.execute("SELECT count(*) FROM runs").fetchone() == (40,), "it is as it was"
    holder.close()
    index.close()


@pytest.mark.parametrize("how", ["no cache", "a folder in its place", "no locks", "not writable"])
def test_without_a_file_the_store_itself_is_read(place, monkeypatch, how):
    root = filled(place)
    if how == "no cache":
        monkeypatch.setenv("PHASESCOPE_CACHE", "0")
    elif how == "a folder in its place":
        files_of(root).unlink()
        files_of(root).mkdir()
    elif how == "no locks":
        import filelock

        def refuse(*given, **more):
            raise NotImplementedError("FileSystem does not appear to support flock")

        monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    else:
        monkeypatch.setenv("PHASESCOPE_CACHE", "/proc/nowhere")
    index = RunIndex(Store(root))
    assert agrees(index, root)
    index.close()


def test_a_store_that_can_only_be_read_is_listed(place):
    root = filled(place, 3)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    assert len(stored_runs(Store(root))) == 3
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


# Beside other writers

WRITER = """
import sys
from phasescope.store import Store
from phasescope.verbs.run_index import RunIndex
while True:
    index = RunIndex(Store(sys.argv[1]))
    index.refresh(thorough=True)
    index.close()
    print("one", flush=True)
"""


def test_several_processes_that_are_killed_leave_a_sound_index(place):
    root = filled(place, 30)
    others = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for other in others:
            assert other.stdout is not None and other.stdout.readline() == b"one\n"
        index = RunIndex(Store(root))
        for number in range(30, 50):
            put(root, number)
            if number % 4 == 0:
                shutil.rmtree(put(root, number - 20))
            if number == 40:
                others[0].send_signal(signal.SIGKILL)
            assert agrees(index, root)
        index.close()
    finally:
        for other in others:
            other.kill()
            other.wait()
            assert other.stdout is not None
            other.stdout.close()
    sound = sqlite3.connect(files_of(root))
    assert sound.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    sound.close()
    index = RunIndex(Store(root))
    assert agrees(index, root)
    index.close()


@pytest.mark.parametrize("then", ["removed", "replaced", "brought back"])
def test_what_another_process_saw_before_a_look_is_not_written_after_it(place, monkeypatch, then):
    root = filled(place, 6)
    seen = sorted(root.glob("*/*/[0-9a-f]*"))[0]
    number = number_of(seen, 0)
    if then == "brought back":
        shutil.rmtree(seen)
    else:
        put(root, number, status="diverged")
    slow, quick = RunIndex(Store(root)), RunIndex(Store(root))
    read, done = threading.Event(), threading.Event()

    def slowly(id: str, root: Path):
        line = index_lines.line_of(id, root)
        if threading.current_thread() is other:
            read.set()
            done.wait(0.5)  # as long as a look takes, unless it waits for this writer
        return line

    other = threading.Thread(target=lambda: slow.refresh(thorough=True))
    monkeypatch.setattr(run_index, "line_of", slowly)
    other.start()
    read.wait()
    shutil.rmtree(seen, ignore_errors=True)
    if then != "removed":
        put(root, number, created="2027-01-01T00:00:00+00:00")
    quick.refresh(thorough=True)
    done.set()
    other.join()
    _, rows = quick.select(Query(limit=None))
    told = told_by_the_store(root)
    assert {row["id"]: row["created"] for row in rows} == {id: told[id]["created"] for id in told}
    slow.close()
    quick.close()


def test_what_a_writer_leaves_that_is_killed_midway_is_found_again(place):
    root = filled(place, 6)
    late = put(root, 6)
    midway = RunIndex(Store(root))
    midway._write_down(["/".join(late.parts[-3:])], "/".join(late.parts[-3:-1]))
    midway.close()
    shutil.rmtree(late.parent)
    index = RunIndex(Store(root))
    index.refresh()
    assert {row["id"] for row in index.select(Query(limit=None))[1]} == set(told_by_the_store(root))
    index.close()


def test_many_threads_share_one_index(place):
    root = filled(place, 20)
    index = RunIndex(Store(root))
    faults = []

    def look() -> None:
        for _ in range(10):
            index.refresh()
            total, rows = index.select(Query(text="flow", limit=5))
            if not 5 == len(rows) <= total:
                faults.append((total, len(rows)))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(20, 30):
        put(root, number)
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert faults == [] and agrees(index, root)
    index.close()


# A hostile store


@pytest.mark.parametrize(
    "changes",
    [
        {"files": {"records.zarr.zip": {"sha256": "0" * 64, "size": 10**40}}},
        {"files": {"records.zarr.zip": {"sha256": "0" * 64, "size": -5}}},
        {"manifest": {"seconds": 10**400}},
        {"manifest": {"seconds": None}},
        {"created": "\ud800<script>\x1b[2J" + "x" * 100_000},
        {"manifest": {"fork": "\ud83d\x00 ' OR 1=1 --"}},
    ],
)
def test_strange_documents_end_no_listing(place, changes):
    root = place / "store"
    strange = put(root, 0, **changes)
    put(root, 1)
    index = RunIndex(Store(root))
    assert agrees(index, root)
    for sort in run_index.SORTS:
        total, rows = index.select(Query(sort=f"-{sort}"))
        assert total == len(rows) == 2
    id = "/".join(strange.parts[-3:])
    assert index.get(id) is not None
    assert index.get("\ud800'; DROP TABLE runs; --") is None
    assert index.select(Query(text="' OR 1=1 -- \ud800", study="%", arm="_"))[0] == 0
    index.close()
