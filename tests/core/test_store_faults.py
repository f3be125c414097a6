"""What the store promises when processes die, disks fill up and files are not what they were."""

from __future__ import annotations

import errno
import io
import itertools
import json
import multiprocessing
import os
import random
import signal
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from phasescope.errors import StoreError
from phasescope.store import Entry, Identity, Store, recordfile
from phasescope.store.paths import remove_tree
from phasescope.store.sealed import FORMAT, seal, unpack_tensors

SAVES = 4


def identity(seed: int = 0) -> Identity:
    return Identity("linear_modes", "flow", {"eta": 0.1}, seed)


def dataset(seed: int = 0) -> xr.Dataset:
    loss = np.random.default_rng(seed).normal(size=(SAVES * 3, 50))
    return xr.Dataset(
        {"loss": (("time", "mode"), loss)},
        coords={"time": np.arange(SAVES * 3), "mode": np.arange(50)},
    )


def compute(store: Store, seed: int) -> None:
    """A run that saves after every third record; what it resumes from must be what it saved."""
    with store.draft(identity(seed)) as draft:
        if draft.finished:
            return
        whole, resumed = dataset(seed), draft.resume()
        parts, done = (
            ([], 0) if resumed is None else (list(resumed.parts), resumed.position["done"])
        )
        assert [p["loss"].shape[0] for p in parts] == [3] * done
        assert resumed is None or resumed.leaves[0] == done
        for number in range(done, SAVES):
            parts.append({"loss": whole["loss"].values[3 * number : 3 * number + 3]})
            draft.save({"done": number + 1}, [np.array(number + 1), np.zeros(2000)], parts[-1])
        loss = np.concatenate([p["loss"] for p in parts])
        draft.finish(whole.assign(loss=(("time", "mode"), loss)), {}, {"end": [np.array(seed)]})


def work_until_killed(root: str, ready, instant: int | None) -> None:
    """Compute run after run. With an `instant`, die at that call to the disk, if it writes with half of it written."""
    store, calls = Store(root), itertools.count(1)
    for name in ("write", "fsync", "replace", "rename", "mkdir", "unlink", "rmdir"):

        def deadly(*args, _real=getattr(os, name), _name=name, **kwargs):
            if next(calls) == instant:
                if _name == "write":
                    _real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return _real(*args, **kwargs)

        setattr(os, name, deadly)
    ready.set()
    try:
        for seed in itertools.count(len(store.entries())):
            compute(store, seed)
    except BaseException as error:
        Path(root, "broken").write_text(repr(error))
        raise


def work_once(root: str, log: str) -> None:
    with Store(root).draft(identity()) as draft:
        if draft.finished is None:
            with open(log, "a") as file:
                file.write("computed\n")
            time.sleep(0.2)
            draft.finish(dataset(), {})


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["phasescope.store", "xarray", "numcodecs", "filelock", "pytest"]
    )
    return context


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch):
    """A process that dies does not take the system's memory along; that there is a sync at all has its own test."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def read_all(store: Store, entry: Entry) -> None:
    store.load(entry)
    store.snapshot(entry, "end")


def folders_of(root: Path) -> list[Path]:
    return sorted(p for p in root.glob("linear_modes/flow/*") if not p.name.startswith("."))


# --- processes that die -------------------------------------------------------------------------------------------


def test_a_process_killed_at_any_instant_leaves_only_whole_runs_and_intact_drafts(
    tmp_path, processes
):
    chance, checked, interrupted = random.Random(7), set(), 0
    for kill in range(26):
        instant = chance.randrange(1, 150) if kill % 4 else None
        ready = processes.Event()
        worker = processes.Process(target=work_until_killed, args=(str(tmp_path), ready, instant))
        worker.start()
        assert ready.wait(60)
        if instant is None:
            time.sleep(chance.uniform(0, 0.2))
            worker.kill()
        worker.join(60)
        assert worker.exitcode == -signal.SIGKILL
        assert not (tmp_path / "broken").exists(), (tmp_path / "broken").read_text()
        store = Store(tmp_path)
        entries, problems = store.survey()
        assert problems == []
        assert [e.folder for e in sorted(entries, key=lambda e: e.digest)] == folders_of(tmp_path)
        interrupted += len(store.unfinished())
        for entry in entries:
            if entry.id not in checked:
                xr.testing.assert_identical(store.load(entry), dataset(entry.seed))
                assert store.snapshot(entry, "end")[0] == entry.seed
                checked.add(entry.id)
    compute(store, len(store.entries()))
    report = store.repair()
    assert report.damaged == []
    assert store.unfinished() == []
    assert list(tmp_path.rglob("*.part")) == []
    assert len(checked) > 10
    assert interrupted > 5


def test_two_processes_that_ask_for_one_run_compute_it_once(tmp_path, processes):
    log = tmp_path / "log"
    workers = [
        processes.Process(target=work_once, args=(str(tmp_path / "runs"), str(log)))
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [w.exitcode for w in workers] == [0, 0, 0]
    assert log.read_text() == "computed\n"
    assert len(Store(tmp_path / "runs").entries()) == 1


def hold_until_killed(root: str, ready) -> None:
    """Take hold of a run, save a piece of it, and never finish."""
    with Store(root).draft(identity()) as draft:
        draft.save({"done": 1}, [np.array(1)], {"loss": np.zeros((3, 50))})
        ready.set()
        time.sleep(60)


def test_a_process_that_dies_while_it_holds_a_run_blocks_nobody(tmp_path, processes):
    ready = processes.Event()
    holder = processes.Process(target=hold_until_killed, args=(str(tmp_path / "runs"), ready))
    holder.start()
    assert ready.wait(60)
    log = tmp_path / "log"
    waiting = processes.Process(target=work_once, args=(str(tmp_path / "runs"), str(log)))
    waiting.start()
    waiting.join(1)
    waited = waiting.is_alive() and not log.exists()
    holder.kill()
    waiting.join(30)
    assert (waited, waiting.exitcode, log.read_text()) == (True, 0, "computed\n")
    assert Store(tmp_path / "runs").repair().damaged == []


def test_repair_clears_what_dead_writers_left_and_nothing_of_the_living(tmp_path):
    store = Store(tmp_path)
    dead, alive = (tmp_path / "linear_modes/flow" / f".{identity(n).digest}.part" for n in (1, 2))
    compute(store, 0)
    leftover = tmp_path / ".drafts/linear_modes/flow" / identity(0).digest
    for folder in (dead, alive, leftover):
        folder.mkdir(parents=True)
        (folder / "records.zarr.zip").write_bytes(b"half")
    with store.draft(identity(2)):
        report = store.repair()
    assert sorted(report.cleared) == sorted([dead, leftover])
    assert alive.exists()
    assert len(store.entries()) == 1


def test_all_is_synced_before_a_run_is_visible_and_its_folder_after(tmp_path, monkeypatch):
    log: list[tuple[str, str]] = []
    where = lambda handle: os.readlink(f"/proc/self/fd/{handle}")
    monkeypatch.setattr(os, "fsync", lambda handle: log.append(("sync", where(handle))))
    for name in ("rename", "replace"):
        real = getattr(os, name)
        move = lambda a, b, _real=real: (log.append(("move", str(b))), _real(a, b))
        monkeypatch.setattr(os, name, move)
    compute(Store(tmp_path), 0)
    [folder] = folders_of(tmp_path)
    aside, shown = folder.with_name(f".{folder.name}.part"), log.index(("move", str(folder)))
    files = {aside, *(aside / p.relative_to(folder) for p in folder.rglob("*"))}
    assert {("sync", str(f)) for f in files} <= set(log[:shown])
    assert log[shown + 1 :] == [("sync", str(folder.parent))]
    for number, (what, path) in enumerate(log[:shown]):
        if what == "move":  # a file of a checkpoint
            assert log[number - 1] == (
                "sync",
                str(Path(path).with_name(f".{Path(path).name}.part")),
            )
            assert ("sync", str(Path(path).parent)) in log[number:]


# --- files that are not what they were ----------------------------------------------------------------------------


def flip(path: Path, at: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[min(int(at * len(data)), len(data) - 1)] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "first bit": lambda path: flip(path, 0),
    "a bit": flip,
    "last bit": lambda path: flip(path, 1),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "empty": lambda path: path.write_bytes(b""),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "missing": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("name", ["run.json", "records.zarr.zip", "snapshots/end.safetensors"])
def test_damage_to_any_file_of_a_run_is_named_and_the_rest_stays_usable(tmp_path, name, damage):
    store = Store(tmp_path)
    for seed in range(2):
        compute(store, seed)
    hurt, well = store.find(identity(0)), store.find(identity(1))
    assert hurt is not None
    assert well is not None
    damage(hurt.folder / name)
    with pytest.raises(StoreError, match=name) as caught:
        read_all(store, hurt)
    assert "phasescope repair" in str(caught.value)
    report = store.repair()
    assert [p.id for p in report.damaged] == [hurt.id]
    assert name in report.damaged[0].message
    assert report.damaged[0].moved == tmp_path / ".quarantine" / ".".join(
        [*hurt.id.split("/"), "1"]
    )
    assert store.entries() == [well]
    compute(store, 0)
    xr.testing.assert_identical(store.load(hurt), dataset(0))


def test_every_single_byte_of_run_json_counts(tmp_path):
    compute(Store(tmp_path), 0)
    [entry] = Store(tmp_path).entries()
    path = entry.folder / "run.json"
    data = path.read_bytes()
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        with pytest.raises(StoreError, match=r"run\.json"):
            Store(tmp_path).find(identity(0))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("kind", ["json", "state.safetensors", "records.safetensors"])
@pytest.mark.parametrize(("number", "left"), [(3, 2), (2, 1)])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, kind, damage, number, left):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        for n in range(1, 4):
            draft.save({"done": n}, [np.array(n)], {"loss": np.full(2, n)})
        damage(draft.folder / f"{number:06d}.{kind}")
    with store.draft(identity()) as draft:
        resumed = draft.resume()
        if (
            number == 2
        ):  # the third needs the records of the second, the first has no state any more
            left = 3 if kind == "state.safetensors" else 0
        assert (resumed.position["done"] if resumed else 0) == left
        draft.save({"done": left + 1}, [np.array(left + 1)], {"loss": np.full(2, left + 1)})
    with store.draft(identity()) as draft:
        resumed = draft.resume()
    assert resumed is not None
    assert [int(p["loss"][0]) for p in resumed.parts] == list(range(1, left + 2))


def two_steps(store: Store) -> Path:
    """A finished run with the states of two steps; its folder."""
    states = {"early": [np.arange(9.0)], "late": [np.arange(9.0) + 1]}
    with store.draft(identity()) as draft:
        return draft.finish(dataset(), {}, states).folder


def test_the_state_of_one_step_in_the_place_of_another_is_found(tmp_path):
    store = Store(tmp_path)
    folder = two_steps(store)
    early, late = sorted(folder.rglob("*.safetensors"))
    late.write_bytes(early.read_bytes())
    [entry] = store.entries()
    with pytest.raises(StoreError, match="late"):
        store.snapshot(entry, "late")
    [problem] = store.repair().damaged
    assert late.name in str(problem.message)


def test_a_checkpoint_in_the_place_of_a_later_one_is_not_gone_on_from(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        for number in (1, 2):
            draft.save({"done": number}, [np.array(number)], {"loss": np.full((3, 50), number)})
        first, second = sorted(draft.folder.glob("*.state.safetensors"))
        second.write_bytes(first.read_bytes())
    with store.draft(identity()) as draft:
        resumed = draft.resume()
    assert resumed is None or (resumed.position["done"], int(resumed.leaves[0])) == (1, 1)


def test_repair_with_remove_deletes_what_is_damaged(tmp_path):
    store = Store(tmp_path)
    compute(store, 0)
    flip(folders_of(tmp_path)[0] / "records.zarr.zip")
    assert store.repair(remove=True).damaged[0].moved is None
    assert folders_of(tmp_path) == []
    assert not (tmp_path / ".quarantine").exists()


def test_different_questions_with_the_same_answer_are_pointed_out(tmp_path):
    store = Store(tmp_path)
    edited = Identity("linear_modes", "flow", {"eta": 0.1}, 0, source="abc")
    for who in (identity(0), edited, identity(1)):
        with store.draft(who) as draft:
            draft.finish(dataset(0), {})
    [alike] = store.repair().alike
    assert len(alike) == 2  # the same run of an edited source is no surprise
    assert any(identity(1).digest in name for name in alike)


# --- disks that refuse --------------------------------------------------------------------------------------------


def refuse_the_nth(monkeypatch, nth: int, code: int) -> list[str]:
    """Let the nth call that changes the disk fail, and say which calls there were."""
    calls: list[str] = []
    for name in ("write", "fsync", "replace", "rename", "mkdir", "open"):
        real = getattr(os, name)

        def refusing(*args, _real=real, _name=name, **kwargs):
            if _name == "open" and not args[1] & os.O_CREAT:
                return _real(*args, **kwargs)
            calls.append(_name)
            if len(calls) == nth + 1:
                raise OSError(code, os.strerror(code))
            return _real(*args, **kwargs)

        monkeypatch.setattr(os, name, refusing)
    return calls


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_disk_that_refuses_any_write_leaves_the_old_data_and_the_run_can_go_on(
    tmp_path, monkeypatch, code
):
    store = Store(tmp_path)
    compute(store, 0)
    [before] = store.entries()
    refusals = 0
    for nth in itertools.count():
        with monkeypatch.context() as patch:
            calls = refuse_the_nth(patch, nth, code)
            refused = None
            try:
                compute(store, 1)
            except StoreError as error:
                refused = error
        if refused:
            assert refused.errno == code
            assert all(
                words in str(refused) for words in (os.strerror(code), str(tmp_path), "--store")
            )
        if nth >= len(calls):
            break
        assert store.find(identity(0)) == before
        assert (
            store.find(identity(1)) is None or not refused or calls[nth] == "fsync"
        )  # visible, not yet durable
        assert list(tmp_path.rglob("*.part")) == []
        compute(store, 1)
        assert store.repair().damaged == []
        again = store.find(identity(1))
        assert again is not None
        xr.testing.assert_identical(store.load(again), dataset(1))
        remove_tree(again.folder)
        refusals += refused is not None
    assert refusals > 30


def test_a_store_that_can_only_be_read_is_listed_and_loaded(tmp_path, monkeypatch):
    store = Store(tmp_path)
    compute(store, 0)
    with monkeypatch.context() as patch:
        for name in ("write", "fsync", "replace", "rename", "mkdir"):
            patch.setattr(
                os,
                name,
                lambda *a, **k: (_ for _ in ()).throw(
                    OSError(errno.EROFS, "Read-only file system")
                ),
            )
        [entry] = store.entries()
        xr.testing.assert_identical(store.load(entry), dataset(0))
        assert store.unfinished() == []
        with pytest.raises(StoreError, match="Read-only file system"):
            compute(store, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_refused_in_words(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        compute(Store(tmp_path / "runs"), 0)


def test_a_root_that_is_a_file_is_refused_in_words(tmp_path):
    (tmp_path / "runs").write_text("mine")
    with pytest.raises(StoreError, match=r"Not a directory|File exists"):
        compute(Store(tmp_path / "runs"), 0)
    assert (tmp_path / "runs").read_text() == "mine"


# --- files that a stranger wrote ----------------------------------------------------------------------------------


def rewrite(folder: Path, **changes) -> None:
    """Change `run.json` and seal it again, as a hostile writer would."""
    document = json.loads((folder / "run.json").read_bytes())
    del document["seal"]
    (folder / "run.json").write_bytes(seal(document | changes))


def test_a_newer_format_is_refused_politely_and_left_alone(tmp_path):
    store = Store(tmp_path)
    compute(store, 0)
    [folder] = folders_of(tmp_path)
    rewrite(folder, format=FORMAT + 1, files=["unheard of"])
    with pytest.raises(StoreError, match="Upgrade"):
        store.find(identity(0))
    report = store.repair()
    assert (len(report.newer), report.damaged) == (1, [])
    assert folder.exists()
    assert "Upgrade" in store.survey()[1][0].message


@pytest.mark.parametrize(
    "changes",
    [
        {"files": {"../../../secret": {"size": 1, "sha256": ""}}},
        {"files": {"records.zarr.zip": {"size": "all", "sha256": ""}}},
        {
            "files": {
                "records.zarr.zip": {"size": 1, "sha256": ""},
                "snapshots/../../x": {"size": 1, "sha256": ""},
            }
        },
        {"files": {"/etc/passwd": {"size": 1, "sha256": ""}}},
        {"files": []},
        {"files": {}},
        {"content": {"loss": 3}},
        {"status": "splendid"},
        {"identity": {"study": "other"}},
        {"identity": None},
        {"manifest": []},
    ],
    ids=range(11),
)
def test_a_run_json_that_lies_is_refused(tmp_path, changes):
    store = Store(tmp_path)
    compute(store, 0)
    [folder] = folders_of(tmp_path)
    rewrite(folder, **changes)
    with pytest.raises(StoreError, match="does not describe the run"):
        store.find(identity(0))
    assert len(store.repair().damaged) == 1


@pytest.mark.parametrize(
    "text",
    [b"[" * 10**6, b'{"format": ' + b"9" * 10**5 + b"}", b"\0" * 99, b"null", b'{"a":' * 10**5],
)
def test_json_that_is_deep_or_strange_is_an_error_in_words(tmp_path, text):
    store = Store(tmp_path)
    compute(store, 0)
    (folders_of(tmp_path)[0] / "run.json").write_bytes(text)
    with pytest.raises(StoreError, match=r"run\.json"):
        store.find(identity(0))


@pytest.mark.parametrize("name", ["run.json", "records.zarr.zip", "", "snapshots"])
def test_a_link_out_of_the_store_is_not_followed(tmp_path, name):
    store = Store(tmp_path / "runs")
    compute(store, 0)
    [entry] = store.entries()
    outside = tmp_path / "outside"
    os.rename(entry.folder / name, outside)
    (tmp_path / "runs/linear_modes/flow" / entry.digest / name).symlink_to(outside)
    with pytest.raises(StoreError, match="is a link"):
        read_all(store, entry)


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path):
    store = Store(tmp_path)
    compute(store, 0)
    [entry] = store.entries()
    (entry.folder / "run.json").unlink()
    os.mkfifo(entry.folder / "run.json")
    with pytest.raises(StoreError, match="not a plain file"):
        store.load(entry)


def tamper(data: bytes, change) -> bytes:
    """The record file with its members changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {e.filename: archive.read(e) for e in archive.infolist()}
    change(members)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return file.getvalue()


def meta(members: dict, name: str, **changes) -> None:
    members[f"{name}/zarr.json"] = json.dumps(
        json.loads(members[f"{name}/zarr.json"]) | changes
    ).encode()


def grid(*chunks) -> dict:
    return {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}


def bomb() -> bytes:
    import numcodecs

    return numcodecs.Zstd().encode(np.zeros(10**8, np.uint8))


HOSTILE = {
    "a billion numbers": lambda m: meta(m, "loss", shape=[10**9, 50]),
    "more than there are": lambda m: meta(m, "loss", shape=[10**18, 10**18]),
    "a huge chunk": lambda m: meta(m, "loss", chunk_grid=grid(10**6, 50)),
    "a billion chunks": lambda m: meta(m, "time", shape=[10**8], chunk_grid=grid(1)),
    "no chunks": lambda m: m.pop("loss/c/0/0"),
    "a shape of words": lambda m: meta(m, "loss", shape=["12", 50]),
    "a negative shape": lambda m: meta(m, "loss", shape=[-12, -50]),
    "a bomb": lambda m: m.__setitem__("loss/c/0/0", bomb()),
    "no zstd": lambda m: m.__setitem__("loss/c/0/0", b"\0" * 100),
    "a cut chunk": lambda m: m.__setitem__("loss/c/0/0", m["loss/c/0/0"][:40]),
    "objects": lambda m: meta(m, "loss", data_type="object"),
    "words": lambda m: meta(m, "loss", data_type="string"),
    "a codec by name": lambda m: meta(
        m, "loss", codecs=[{"name": "bytes"}, {"name": "numcodecs.pickle"}]
    ),
    "a nested group": lambda m: m.__setitem__("a/b/zarr.json", m["loss/zarr.json"]),
    "a stray member": lambda m: m.__setitem__("../../canary", b"x"),
    "no group": lambda m: m.pop("zarr.json"),
    "deep json": lambda m: m.__setitem__("loss/zarr.json", b"[" * 10**5),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_record_file_is_an_error_in_words(change):
    data = tamper(recordfile.pack(dataset()), change)
    with pytest.raises(StoreError, match=r"records\.zarr\.zip"):
        recordfile.unpack(Path("records.zarr.zip"), io.BytesIO(data), limit=2**30)


def test_a_zip_that_unpacks_to_more_than_it_is_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zarr.json", b"0" * 10**7)
    with pytest.raises(StoreError, match="unpack to more"):
        recordfile.unpack(Path("records.zarr.zip"), file, limit=2**30)


def test_records_larger_than_allowed_are_not_loaded(tmp_path):
    store = Store(tmp_path)
    compute(store, 0)
    with pytest.raises(StoreError, match="larger limit"):
        store.load(store.entries()[0], limit=100)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff" * 8 + b"{}", (10**8).to_bytes(8, "little") + b"{}", b"\x02" + b"\0" * 7 + b"[]"],
)
def test_tensors_that_are_none_are_an_error_in_words(data):
    with pytest.raises(StoreError, match=r"state\.safetensors"):
        unpack_tensors(Path("state.safetensors"), data)


def test_the_package_neither_pickles_nor_evaluates():
    folder = Path(recordfile.__file__).parent
    modules = [*folder.glob("*.py"), folder.parent / "files.py"]
    assert len(modules) > 10
    for module in modules:
        source = module.read_text()
        assert not any(
            word in source
            for word in ("pickle", "eval(", "exec(", "importlib", "__import__", "np.load")
        )
