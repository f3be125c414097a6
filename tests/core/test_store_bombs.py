"""What a stranger's file can cost: a refusal in words, within bounded memory. And nothing is written that is not read."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from numcodecs.zstd import Zstd

from phasescope.errors import StoreError
from phasescope.records import evidence_file as recording
from phasescope.store import Identity, Store, containers, drafts, recordfile
from phasescope.store import sealed as sealing
from phasescope.store.faults import Damaged, NewerFormat, TooLarge
from phasescope.store.sealed import FORMAT, seal, unseal

MIB = 2**20


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def identity(seed: int = 0, **more) -> Identity:
    return Identity("linear_modes", "flow", {"eta": 0.1}, seed, **more)


def dataset(n: int = 4096) -> xr.Dataset:
    return xr.Dataset({"loss": ("time", np.arange(float(n)))})


def put(store: Store, who: Identity, ds: xr.Dataset | None = None, **manifest):
    with store.draft(who) as draft:
        return draft.finish(dataset() if ds is None else ds, manifest)


def zeros_in_one_frame(size: int, blocks: int | None = None) -> bytes:
    """A zstd frame, written by hand (RFC 8878), that says it has `size` zeros: blocks of 128 KiB, four bytes each."""
    block = 2**17
    count = size // block if blocks is None else blocks
    assert size % block == 0
    frame = b"\x28\xb5\x2f\xfd" + bytes([0b11100000]) + size.to_bytes(8, "little")
    for number in range(count):
        last = number == count - 1
        frame += (last | 1 << 1 | block << 3).to_bytes(3, "little") + b"\0"
    return frame


def with_chunk(ds: xr.Dataset, key: str, change) -> bytes:
    """The packed dataset with one of its chunks changed."""
    with zipfile.ZipFile(io.BytesIO(recordfile.pack(ds))) as archive:
        members = {e.filename: archive.read(e) for e in archive.infolist()}
    members[key] = change(members[key])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return file.getvalue()


def unpack(data: bytes, limit: int = 2**30) -> xr.Dataset:
    return recordfile.unpack(Path("records.zarr.zip"), io.BytesIO(data), limit)


MEASURE = """
import resource, sys
from pathlib import Path
import numcodecs.zstd, numpy, pandas, xarray
from phasescope.records import evidence_file
from phasescope.store import Store, recordfile

def memory(word):
    [line] = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(word)]
    return int(line.split()[1]) * 1024

resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + 1024 * 2**20, resource.RLIM_INFINITY))
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
said = ""
try:
    {code}
except OSError as error:
    said = str(error)
print(memory("VmHWM") - before)
print(said)
"""


def in_a_child(code: str, *arguments: object) -> tuple[int, str]:
    """The memory that `code` took at its peak, in bytes, and the error that it ended with, if any."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("peak memory is read from /proc")
    command = [sys.executable, "-c", MEASURE.replace("{code}", code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, said = done.stdout.split("\n", 1)
    return int(peak), said.strip()


# --- zstd ---------------------------------------------------------------------------------------------------------


def test_the_frame_written_by_hand_is_one_that_the_library_unpacks():
    assert Zstd().decode(zeros_in_one_frame(2**20)) == bytes(2**20)


@pytest.mark.parametrize("read", ["store", "recorded"])
def test_a_second_frame_of_two_gib_is_refused_without_unpacking_it(tmp_path, read):
    bomb = zeros_in_one_frame(2**31)
    data = with_chunk(dataset(), "loss/c/0", lambda chunk: chunk + bomb)
    assert len(data) < 100_000
    (tmp_path / "bomb").write_bytes(data)
    code = "recordfile.unpack(Path(sys.argv[1]), open(sys.argv[1], 'rb'), 2**31)"
    if read == "recorded":
        code = "evidence_file.read(Path(sys.argv[1]))"
    peak, said = in_a_child(code, tmp_path / "bomb")
    assert "more than one frame" in said
    assert peak < 32 * MIB


@pytest.mark.parametrize(
    "change",
    [
        lambda chunk: chunk + chunk,
        lambda chunk: chunk + b"\0",
        lambda chunk: chunk + b"\x50\x2a\x4d\x18\x04\0\0\0junk",  # a frame to be skipped
        lambda chunk: b"\x50\x2a\x4d\x18\x04\0\0\0junk" + chunk,
        lambda chunk: chunk[:-1],
        lambda chunk: chunk[:5],
        lambda chunk: chunk[:4],
        lambda chunk: b"",
        lambda chunk: zeros_in_one_frame(2**31),
    ],
    ids=[
        "twice",
        "a byte",
        "skippable after",
        "skippable before",
        "cut",
        "header",
        "magic",
        "empty",
        "larger",
    ],
)
def test_a_chunk_that_is_not_one_whole_frame_is_refused(change):
    with pytest.raises(Damaged):
        unpack(with_chunk(dataset(), "loss/c/0", change))


@pytest.mark.parametrize("blocks", [1, 3, 4000])
def test_a_frame_that_holds_more_or_less_than_it_says_is_refused(blocks):
    ds = xr.Dataset({"loss": ("time", np.zeros(2**15))})  # 2^18 bytes: two blocks
    data = with_chunk(ds, "loss/c/0", lambda chunk: zeros_in_one_frame(2**18, blocks))
    with pytest.raises(Damaged):
        unpack(data)


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 300, 65535, 65791, 65792, 131072, 131073, 10**6])
@pytest.mark.parametrize("kind", ["zeros", "noise"])
def test_the_end_of_a_frame_is_found_whatever_it_holds(size, kind, checksum):
    data = bytes(size) if kind == "zeros" else np.random.default_rng(0).bytes(size)
    frame = Zstd(level=3, checksum=checksum).encode(data)
    assert containers.first_frame(frame) == (size, len(frame))
    assert containers.first_frame(frame + frame) == (size, len(frame))


# --- zip and metadata ---------------------------------------------------------------------------------------------


def test_a_zip_with_a_very_long_table_of_contents_is_refused_before_it_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "many", "w") as archive:
        archive.writestr("0", b"")
    data = (tmp_path / "many").read_bytes()
    start = data.index(b"PK\1\2")
    end = data.index(b"PK\5\6")
    table = data[start:end] * 700_000
    last = (
        data[end : end + 12]
        + len(table).to_bytes(4, "little")
        + start.to_bytes(4, "little")
        + b"\0\0"
    )
    (tmp_path / "many").write_bytes(data[:start] + table + last)
    code = "recordfile.unpack(Path(sys.argv[1]), open(sys.argv[1], 'rb'), 2**31)"
    peak, said = in_a_child(code, tmp_path / "many")
    assert "table of contents" in said
    assert peak < 32 * MIB


def test_metadata_that_are_a_bomb_are_refused_before_they_are_parsed(tmp_path):
    text = b'{"attributes": {"a": [' + b"{}," * (8 * MIB) + b"0]}}"
    (tmp_path / "bomb").write_bytes(with_chunk(dataset(), "zarr.json", lambda old: text))
    code = "recordfile.unpack(Path(sys.argv[1]), open(sys.argv[1], 'rb'), 2**31)"
    peak, said = in_a_child(code, tmp_path / "bomb")
    assert "metadata are too long" in said
    assert peak < 64 * MIB


def test_attributes_that_would_be_refused_are_not_written(tmp_path):
    ds = dataset().assign_attrs(text="x" * (17 * MIB))
    with pytest.raises(StoreError, match="shorter attributes"):
        put(Store(tmp_path), identity(), ds)
    assert list(tmp_path.rglob("*.part")) == []


def test_a_variable_may_have_the_name_of_a_metadata_file(tmp_path):
    ds = dataset().assign({"zarr.json": ("time", np.zeros(4096))})
    xr.testing.assert_identical(unpack(recordfile.pack(ds)), ds)


def test_a_zip_of_more_than_two_gib_is_read_too(monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)  # from where on the longer records are written
    data = recordfile.pack(dataset())
    assert b"PK\6\6" in data
    xr.testing.assert_identical(unpack(data), dataset())
    table = containers.table_size(io.BytesIO(data))
    assert data[-98 - table :][:4] == b"PK\1\2"


# --- records ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["noise", "zeros"])
def test_loading_takes_the_memory_of_the_numbers_once(tmp_path, kind):
    size = 192 * MIB
    numbers = np.zeros(size // 8) if kind == "zeros" else np.random.default_rng(0).random(size // 8)
    put(Store(tmp_path), identity(), xr.Dataset({"loss": ("time", numbers)}))
    peak, said = in_a_child("s = Store(sys.argv[1]); s.load(s.entries()[0])", tmp_path)
    assert said == ""
    assert 0.9 * size < peak < 1.3 * size  # less would mean that it was not measured


def test_a_run_larger_than_what_is_loaded_is_refused_before_it_is_written_and_its_draft_stays(
    tmp_path,
):
    put(Store(tmp_path), identity(0))
    small = Store(tmp_path, limit=4096 * 8 - 1)
    with small.draft(identity(1)) as draft:
        draft.save({"done": 1}, [], {"loss": np.zeros(3)})
        with pytest.raises(StoreError, match=r"cannot store a run of .* GiB .* store=False"):
            draft.finish(dataset(), {})
    assert small.find(identity(1)) is None
    assert [u.position for u in small.unfinished()] == [{"done": 1}]
    assert len(small.entries()) == 1
    with pytest.raises(StoreError, match="larger limit"):
        small.load(small.entries()[0])
    assert small.load(small.entries()[0], limit=4096 * 8)["loss"].size == 4096


def test_what_is_written_under_a_limit_is_loaded_under_it(tmp_path):
    ds = dataset(100).assign_coords(time=np.arange(100), mode=("mode", np.zeros(7, np.int8)))
    taken = (
        100 * 8 + 100 * (8 + 8) + 7 * (1 + 8)
    )  # the coordinate of a dim has an index of eight bytes a number
    store = Store(tmp_path, limit=taken)
    xr.testing.assert_identical(store.load(put(store, identity(), ds)), ds)
    with pytest.raises(StoreError, match="cannot store"):
        put(Store(tmp_path, limit=taken - 1), identity(1), ds)


def test_the_usual_limit_fits_a_laptop():
    assert Store("anywhere").limit == 2 * 2**30


def test_content_is_the_hash_of_the_bytes_in_c_order_however_they_lie():
    import hashlib

    for values in (
        np.arange(12.0).reshape(3, 4).T,
        np.array(3.0),
        np.zeros((0, 2)),
        np.arange(6)[::2],
        np.array(True),
    ):
        ds = xr.Dataset({"x": (tuple("abc"[: values.ndim]), values)})
        assert recordfile.content(ds)["x"]["sha256"] == hashlib.sha256(values.tobytes()).hexdigest()


# --- JSON ---------------------------------------------------------------------------------------------------------


def sealed(text: bytes) -> bytes:
    """The text, which begins with a brace, sealed as a hostile writer would."""
    return sealing._seal_of(text[1:]) + text[1:]


def test_nothing_is_parsed_whose_seal_is_broken(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *args: pytest.fail("parsed"))
    good = seal({"format": 1})
    for data in (
        b'{"format": 2}',
        b"[" * 100,
        b"",
        good[:-1],
        good + b" ",
        good.replace(b"1", b"2"),
    ):
        with pytest.raises(Damaged, match=r"run\.json is damaged"):
            unseal(Path("run.json"), data)


def test_a_newer_format_is_known_by_its_seal_and_its_number():
    with pytest.raises(NewerFormat, match="Upgrade"):
        unseal(Path("run.json"), seal({"format": FORMAT + 1, "anything": ["new"]}))


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": ' + b"[" * 10**5,
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": 1} []',
        b"{" + b"\xff" * 9 + b"}",
        b"{,}",
    ],
    ids=["deep", "a long number", "two documents", "no text", "no json"],
)
def test_sealed_json_that_cannot_be_parsed_is_damaged(text):
    with pytest.raises(Damaged, match=r"run\.json"):
        unseal(Path("run.json"), sealed(text))


@pytest.mark.parametrize("name", ["run.json", "index.json"])
def test_a_sealed_bomb_of_json_is_refused_within_bounded_memory(tmp_path, name):
    entry = put(Store(tmp_path), identity())
    path = entry.folder / name if name == "run.json" else tmp_path / name
    path.write_bytes(sealed(b'{"a": [' + b"{}," * (10 * MIB) + b"0]}"))
    peak, said = in_a_child(
        "s = Store(sys.argv[1]); sys.exit('raised') if not any(s.survey()) else None", tmp_path
    )
    assert said == ""
    assert peak < 160 * MIB  # the file is 30 MiB; parsed, it takes 800
    assert len(Store(tmp_path).entries()) == (0 if name == "run.json" else 1)


def test_a_run_json_that_is_too_large_is_a_problem_and_is_left_where_it_is(tmp_path, monkeypatch):
    store = Store(tmp_path)
    entry = put(store, identity())
    monkeypatch.setattr("phasescope.store.run_document.LARGEST_JSON", 100)
    with pytest.raises(TooLarge, match=r"run\.json has .* bytes"):
        store.find(identity())
    [problem] = store.repair().damaged
    assert (problem.id, problem.moved) == (entry.id, None)
    assert entry.folder.exists()


def test_record_times_that_would_not_be_read_again_are_refused_before_the_run_begins(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(drafts, "LARGEST_JSON", 10_000)
    store = Store(tmp_path)
    put(store, identity(at=tuple(range(100))))
    who = identity(at=tuple(range(1000)))
    with (
        pytest.raises(StoreError, match=r"linear_modes\.flow with 1000 record times"),
        store.draft(who),
    ):
        pytest.fail("began")
    assert len(store.entries()) == 1


def test_a_manifest_that_would_not_be_read_again_is_refused_before_it_is_written(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sealing, "MOST_CONTAINERS", 1000)
    store = Store(tmp_path)
    for manifest in ({"text": "x" * 2**25}, {"lists": [[]] * 1000}):
        with pytest.raises(StoreError, match="cannot store a document"):
            put(store, identity(), **manifest)
    assert store.entries() == []
    assert list(tmp_path.rglob("*.part")) == []


def test_seconds_that_would_not_be_read_again_are_refused_before_they_are_written(tmp_path):
    with pytest.raises(StoreError, match="seconds that are no number"):
        put(Store(tmp_path), identity(), seconds="lots")
    assert Store(tmp_path).survey() == ([], [])
    put(Store(tmp_path), identity(), seconds=-0.5)  # somebody set the clock
    assert len(Store(tmp_path).entries()) == 1


def test_a_hundred_thousand_record_times_are_stored_and_read(tmp_path):
    store = Store(tmp_path)
    at = tuple(np.linspace(0, 1, 100_000))
    assert put(store, identity(at=at)).at == at
    [entry] = store.entries()
    assert (entry.folder / "run.json").stat().st_size < 3 * 10**6


# --- documents of strange types -----------------------------------------------------------------------------------

STRANGE_IDENTITIES = [
    {"lanes": [1]},
    {"lanes": {"eta": 3}},
    {"lanes": {"eta": [None]}},
    {"lanes": "eta"},
    {"seed": float("inf")},
    {"seed": 1.5},
    {"seed": "1"},
    {"seed": None},
    {"seed": [1]},
    {"at": 3},
    {"at": "12"},
    {"at": [{}]},
    {"at": ["nan"]},
    {"at": [True]},
    {"at": [10**400]},
    {"width": "wide"},
    {"spec": [1]},
    {"spec": {"a": json.loads("[" * 400 + "]" * 400)}},
    {"study": "../../etc"},
    {"study": 3},
    {"source": 5},
]


@pytest.mark.parametrize("changes", STRANGE_IDENTITIES, ids=str)
def test_a_sealed_draft_of_strange_types_is_listed_without_an_identity(tmp_path, changes):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        draft.save({"done": 1}, [], {})
        folder = draft.folder
    document = json.loads((folder / "000001.json").read_bytes())
    del document["seal"]
    document["identity"] |= changes
    (folder / "000001.json").write_bytes(seal(document))
    [left] = store.unfinished()
    assert (left.identity, left.position) == (None, {"done": 1})
    assert store.repair().damaged == []


@pytest.mark.parametrize("position", [3, [1], "here", None])
def test_a_position_of_a_strange_type_is_none(tmp_path, position):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        draft.save({"done": 1}, [], {})
        folder = draft.folder
    document = json.loads((folder / "000001.json").read_bytes())
    del document["seal"]
    (folder / "000001.json").write_bytes(seal(document | {"position": position}))
    assert store.unfinished()[0].position is None
    with store.draft(identity()) as draft:
        assert draft.resume() is None


STRANGE_RUNS = [{"identity": changes} for changes in STRANGE_IDENTITIES] + [
    {"manifest": {"seconds": "lots"}},
    {"manifest": {"seconds": float("nan")}},
    {"manifest": [1]},
    {"created": 3},
    {"status": ["finished"]},
    {"content": [1]},
    {"content": {"loss": {"sha256": 1, "coord": False}}},
]


def changed(document: dict, changes: dict) -> dict:
    document = {k: v for k, v in document.items() if k != "seal"}
    if "identity" in changes:
        changes = {"identity": document["identity"] | changes["identity"]}
    return document | changes


@pytest.mark.parametrize("changes", STRANGE_RUNS, ids=str)
def test_a_sealed_run_of_strange_types_is_a_problem_and_the_rest_is_listed(tmp_path, changes):
    store = Store(tmp_path)
    strange = put(store, identity(0))
    put(store, identity(1))
    path = strange.folder / "run.json"
    path.write_bytes(seal(changed(json.loads(path.read_bytes()), changes)))
    entries, problems = store.survey()
    assert [e.seed for e in entries] == [1]
    assert [p.id for p in problems] == [strange.id]
    assert "does not describe the run" in problems[0].message
    assert [p.id for p in store.repair().damaged] == [strange.id]


@pytest.mark.parametrize("changes", [*STRANGE_RUNS, {"identity": {"spec": {"eta": 7.0}}}], ids=str)
def test_a_sealed_index_of_strange_types_is_not_believed(tmp_path, changes):
    store = Store(tmp_path)
    put(store, identity())
    entries = store.entries()
    index = json.loads((tmp_path / "index.json").read_bytes())
    del index["seal"]
    [known] = index["runs"].values()
    known["run"] = changed(known["run"], changes)
    (tmp_path / "index.json").write_bytes(seal(index))
    assert store.entries() == entries


# --- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [1.5, float("nan"), float("inf"), "1", None, True, [1], np.float64(0.5), 1j]
)
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(StoreError, match="whole number"):
        Identity("linear_modes", "flow", {}, seed)


@pytest.mark.parametrize("seed", [2, 2.0, np.int32(2), np.uint64(2), np.float32(2), np.array(2)])
def test_a_whole_number_is_a_seed_however_it_is_written(seed):
    who = Identity("linear_modes", "flow", {}, seed)
    assert type(who.seed) is int
    assert who == Identity("linear_modes", "flow", {}, 2)


@pytest.mark.parametrize("value", [float("nan"), np.float64("nan"), "nan", "1", None, True, 1j])
def test_what_is_no_number_is_neither_a_time_nor_a_lane(value):
    with pytest.raises(StoreError, match="at holds numbers"):
        identity(at=(1.0, value))
    with pytest.raises(StoreError, match="lane field eta holds numbers"):
        identity(lanes={"eta": (1.0, value)})


def test_infinities_are_numbers_and_come_back():
    who = identity(at=(float("-inf"), float("inf")), lanes={"eta": (float("inf"),)})
    assert Identity.from_json(json.loads(json.dumps(who.to_json(), allow_nan=False))) == who


def test_recorded_is_read_as_it_was(tmp_path):
    (tmp_path / "file").write_bytes(recordfile.pack(dataset()))
    xr.testing.assert_identical(recording.read(tmp_path / "file"), dataset())
