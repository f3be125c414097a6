"""The store keeps what it was given, finds it again by what made it, and says where it stands."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import os
import pickle
import subprocess
import sys
import threading
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from phasescope.errors import PhasescopeError, StoreError
from phasescope.store import Identity, Store

LIGHT = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def identity(seed: int = 0, **changes) -> Identity:
    return Identity(
        "linear_modes", "flow", {"modes": 3, "epsilon": 1e-3, "kind": "flow"} | changes, seed
    )


def dataset(scale: float = 1.0) -> xr.Dataset:
    time = np.linspace(0, 2, 5)
    flags = {"flag_values": [0, 1], "flag_meanings": "first_layer second_layer"}
    return xr.Dataset(
        {
            "loss": (
                "time",
                scale * np.array([2.0, np.nan, np.inf, -0.0, 1e-300]),
                {"symbol": r"\ell", "units": "days"},
            ),
            "progress": (
                ("time", "mode"),
                scale * np.arange(15.0).reshape(5, 3).astype(np.float32),
            ),
            "diverged_at": ((), -1),
            "learnt": ("time", np.array([False, False, True, True, True])),
        },
        coords={
            "time": time,
            "stage": ("time", np.array([0, 0, 1, 1, 1], np.int32), flags),
            "mode": [0, 1, 2],
            "eta": 0.1,
        },
        attrs={
            "study": "linear_modes",
            "lanes": 1,
            "rate": 0.5,
            "phases": ["a", "b"],
            "ends": [0.5, 1.5],
        },
    )


def put(store: Store, who: Identity, ds: xr.Dataset | None = None, **manifest):
    with store.draft(who) as draft:
        return draft.finish(dataset() if ds is None else ds, manifest)


def assert_same_bits(a: xr.Dataset, b: xr.Dataset) -> None:
    xr.testing.assert_identical(a, b)
    for name, variable in a.variables.items():
        assert variable.dtype == b[name].dtype
        assert variable.values.tobytes() == b[name].values.tobytes()


# --- identity -----------------------------------------------------------------------------------------------------

names = st.text("abcxyz_", min_size=1, max_size=5)
values = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
numbers = st.floats(allow_nan=False) | st.integers(-(2**70), 2**70)
identities = st.builds(
    Identity,
    study=names,
    arm=names,
    spec=st.dictionaries(names, values, max_size=5),
    seed=st.integers(0, 2**63),
    at=st.none() | st.lists(numbers, max_size=3).map(tuple),
    lanes=st.none() | st.dictionaries(names, st.lists(numbers, max_size=3).map(tuple), max_size=2),
    width=st.integers(1, 64),
    source=st.text("0123456789abcdef", max_size=8),
)


@given(identities)
@LIGHT
def test_a_digest_does_not_depend_on_the_order_of_the_fields(who):
    turned = Identity(**{**vars_of(who), "spec": dict(reversed(who.spec.items()))})
    assert turned.digest == who.digest


@given(identities, identities)
@LIGHT
def test_a_digest_changes_with_every_field(who, other):
    for field, value in vars_of(other).items():
        changed = Identity(**{**vars_of(who), field: value})
        same = changed.canonical == who.canonical
        assert (changed.digest == who.digest) == same
        assert (changed == who) == same


@given(identities)
@LIGHT
def test_an_identity_survives_json_and_pickle(who):
    back = Identity.from_json(json.loads(json.dumps(who.to_json(), allow_nan=False)))
    assert back.digest == who.digest == pickle.loads(pickle.dumps(who)).digest


@pytest.mark.parametrize(
    ("a", "b"), [(0.1, 1e-1), (1, 1.0), (np.float64(0.1), 0.1), (np.int32(3), 3), (1e3, 1000)]
)
def test_equal_numbers_give_one_digest_however_they_are_written(a, b):
    assert identity(eta=a).digest == identity(eta=b).digest


@pytest.mark.parametrize(
    ("a", "b"),
    [(0.1, 0.1 + 1e-17 * 2), (True, 1), ("1", 1), (None, 0), (0.0, -0.0), (2**53, 2**53 + 1)],
)
def test_different_values_give_different_digests(a, b):
    assert identity(eta=a).digest != identity(eta=b).digest


def test_the_digest_is_the_one_that_stores_out_there_were_written_with():
    text = (
        '{"arm":"flow","at":null,"lanes":null,"seed":0,"source":"","spec":{"epsilon":["float","0x1.0624dd2f1a9fcp-10"],'
        '"kind":"flow","modes":3},"study":"linear_modes","width":1}'
    )
    assert identity().digest == hashlib.sha256(text.encode()).hexdigest()[:16] == "c127fa0231f33cc4"


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "a\\b", "a b", ".hidden", "a\0", "ü", "x" * 101, "a\n"]
)
def test_a_name_that_is_no_plain_folder_is_refused(name):
    with pytest.raises(StoreError, match="letters, digits"):
        Identity(name, "flow", {}, 0)


def vars_of(who: Identity) -> dict:
    fields = ("study", "arm", "spec", "seed", "at", "lanes", "width", "source")
    return {f: getattr(who, f) for f in fields}


# --- finished runs ------------------------------------------------------------------------------------------------


def test_nothing_is_created_before_something_is_written(tmp_path):
    store = Store(tmp_path / "runs")
    assert (store.find(identity()), store.entries(), store.unfinished()) == (None, [], [])
    store.repair()
    assert not (tmp_path / "runs").exists()


def test_a_finished_run_is_found_by_its_identity(tmp_path):
    store = Store(tmp_path)
    entry = put(store, identity(), seconds=np.float32(1.5), worst=math.nan)
    assert store.find(identity()) == entry == store.entries()[0]
    assert store.find(identity(seed=1)) is None
    assert (entry.status, entry.manifest) == ("finished", {"seconds": 1.5, "worst": "nan"})
    assert entry.id == f"linear_modes/flow/{identity().digest}"


def test_the_status_is_the_one_in_the_manifest(tmp_path):
    assert put(Store(tmp_path), identity(), status="diverged").status == "diverged"
    with pytest.raises(StoreError, match="got status"):
        put(Store(tmp_path), identity(1), status="fine")


def test_records_come_back_bit_for_bit(tmp_path):
    store = Store(tmp_path)
    assert_same_bits(store.load(put(store, identity())), dataset())


def test_a_loaded_dataset_can_be_stored_again(tmp_path):
    store = Store(tmp_path)
    first = put(store, identity())
    second = put(store, identity(1), store.load(first).astype("float32"))
    assert store.load(second)["loss"].dtype == np.float32


def test_equal_records_have_equal_content_and_equal_files(tmp_path):
    store = Store(tmp_path)
    a, b, c = (
        put(store, identity(0)),
        put(store, identity(1)),
        put(store, identity(2), dataset(2.0)),
    )
    assert a.content == b.content != c.content
    assert (a.folder / "records.zarr.zip").read_bytes() == (
        b.folder / "records.zarr.zip"
    ).read_bytes()


@pytest.mark.parametrize("chunk", [2**24, 20])
def test_records_are_one_file_that_xarray_opens_by_itself(tmp_path, monkeypatch, chunk):
    from zarr.storage import ZipStore

    monkeypatch.setattr("phasescope.store.zarr_layout.CHUNK", chunk)
    ds = dataset().assign(
        wave=("time", np.exp(1j * np.arange(5))), none=(("time", "nothing"), np.zeros((5, 0)))
    )
    entry = put(Store(tmp_path), identity(), ds)
    with ZipStore(entry.folder / "records.zarr.zip", mode="r") as zipped:
        opened = xr.open_zarr(
            zipped,
            consolidated=False,
            chunks=None,
            mask_and_scale=False,
            decode_times=False,
            decode_timedelta=False,
        )
        assert_same_bits(opened.load(), ds)
    assert sorted(p.name for p in entry.folder.iterdir()) == ["records.zarr.zip", "run.json"]


def test_variables_keep_their_order(tmp_path):
    store = Store(tmp_path)
    loaded = store.load(put(store, identity()))
    assert (list(loaded.data_vars), list(loaded.coords)) == (
        list(dataset().data_vars),
        list(dataset().coords),
    )


def test_an_array_larger_than_a_chunk_is_cut_and_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr("phasescope.store.zarr_layout.CHUNK", 100)
    store = Store(tmp_path)
    ds = xr.Dataset(
        {"x": (("time", "mode"), np.arange(210.0).reshape(30, 7)), "t": ("time", np.arange(30))}
    )
    assert_same_bits(store.load(put(store, identity(), ds)), ds)


dtypes = st.sampled_from(
    ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u1", "?", "c16", "c8"]
).map(np.dtype)
attributes = st.dictionaries(
    st.text("abc_é", min_size=1, max_size=4),
    st.text(max_size=8)
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.lists(st.integers(0, 9), max_size=3),
    max_size=3,
)


@st.composite
def datasets(draw) -> xr.Dataset:
    sizes = dict(
        zip(
            ("time", "mode", "query"),
            draw(st.lists(st.integers(0, 4), min_size=3, max_size=3)),
            strict=True,
        )
    )
    array = lambda dims: hnp.arrays(draw(dtypes), tuple(sizes[d] for d in dims))
    some_dims = st.lists(st.sampled_from(sorted(sizes)), unique=True, max_size=3).map(tuple)
    ds = xr.Dataset(attrs=draw(attributes))
    for i in range(draw(st.integers(0, 3))):
        dims = draw(some_dims)
        ds[f"v{i}"] = (dims, draw(array(dims)), draw(attributes))
    ds = ds.assign_coords({d: np.arange(n) for d, n in ds.sizes.items()})
    if "time" in ds.dims:
        ds = ds.assign_coords(
            stage=("time", draw(hnp.arrays(np.int32, sizes["time"])), draw(attributes))
        )
    return ds.assign_coords(eta=draw(st.floats()))


@given(datasets())
@LIGHT
def test_any_dataset_of_numbers_comes_back_bit_for_bit(tmp_path_factory, ds):
    store = Store(tmp_path_factory.mktemp("runs"))
    assert_same_bits(store.load(put(store, identity(), ds)), ds)


@pytest.mark.parametrize(
    "ds",
    [
        xr.Dataset({"x": ("time", np.array(["a", "b"]))}),
        xr.Dataset({"x": ("time", np.array([object(), 1], object))}),
        xr.Dataset({"x": ("time", np.zeros(2, "datetime64[ns]"))}),
        xr.Dataset({"a/b": ("time", np.zeros(2))}),
        xr.Dataset({"a b": ("time", np.zeros(2))}),
        xr.Dataset({"x": ("time", np.zeros(2), {"dtype": "bool"})}),
    ],
    ids=["words", "objects", "dates", "slash", "space", "attribute"],
)
def test_what_would_not_come_back_the_same_is_refused(tmp_path, ds):
    with pytest.raises(StoreError, match="cannot store"):
        put(Store(tmp_path), identity(), ds)
    assert Store(tmp_path).entries() == []


def test_snapshots_come_back_by_the_name_of_their_stage(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        entry = draft.finish(dataset(), {}, {"second layer": leaves()})
    assert_same_leaves(store.snapshot(entry, "second layer"), leaves())
    with pytest.raises(StoreError, match="Snapshots: second_layer"):
        store.snapshot(entry, "third")


def test_the_first_to_finish_is_kept(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        (tmp_path / "elsewhere").mkdir()
        theirs = put(Store(tmp_path / "elsewhere"), identity(), dataset(2.0))
        os.makedirs(tmp_path / "linear_modes/flow")
        os.rename(theirs.folder, tmp_path / "linear_modes/flow" / theirs.digest)
        entry = draft.finish(dataset(), {})
    assert_same_bits(store.load(entry), dataset(2.0))


def test_the_default_root_is_the_argument_then_the_environment_then_here(monkeypatch):
    monkeypatch.delenv("PHASESCOPE_STORE", raising=False)
    assert Store.default_root() == Path("phasescope-runs")
    monkeypatch.setenv("PHASESCOPE_STORE", "/somewhere")
    assert Store.default_root() == Path("/somewhere")
    assert Store.default_root("here") == Path("here")


@pytest.mark.parametrize(
    "name", ["with space", "größe-相-🌊", "/".join(["x" * 200] * 8), "-rf", "a'b\"c;$(d)"]
)
def test_the_root_may_have_any_name(tmp_path, name):
    store = Store(tmp_path / name)
    entry = put(store, identity())
    assert_same_bits(store.load(entry), dataset())
    assert store.repair().damaged == []


def test_a_root_whose_name_is_too_long_is_refused_in_words(tmp_path):
    with pytest.raises(StoreError, match="name too long"):
        put(Store(tmp_path / ("x" * 300)), identity())


def test_listing_runs_imports_neither_jax_nor_xarray_nor_zarr(tmp_path):
    put(Store(tmp_path), identity())
    code = (
        "import sys; from phasescope.store import Store; s = Store(sys.argv[1]); assert len(s.entries()) == 1;"
        "s.unfinished(); print(*({'jax', 'xarray', 'zarr', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


# A store of format 1 as it was first written: its files, in hexadecimal, by name.
OLDEST = """
eNrtWdtu3DYQ/ZXAz4VNcngR+zOFrmiK1A68KQqk6L/3nKEoaXeVldPaQFBYi11JvAyHZ4ZnONy/7j59fBzb519+fxrG08P06enPh966NLXGiZ1E+t4/
PI/90/Nwuv/aPj/ff/34+e7nD3fB+M6I8dabs8tZY3wyOQ/tGHMpq3cz31MbbXLJuTG2SeIUx9Q5hzKPj4s5uhSSjyGJc9I6w9okqAvRp1zK0L5HyzEG
ygpTHCBn7uN6rafkCfK8trNbiUVetDHFgOeh9Kh6QVrUngN7lR4is9SxjBMm6JOTYf9Zn4QeEzSnpOEWPjkLOjZ5MMayrN7NOOPVQ45A12kfKTw1KF/G
Dp1ImOcA3ThTu6NfpFzWShS/QakBrmPsMOuk6PsVdeIGFBYZqA9oFSAJep0hPUJ+Zl1SS+IZZRtJm3H29U9DtcOZTh2slnHnuyj2tGb6to60DnSx1DL5
79EResF6nJnWTpxhkekm2nTRj1L62GMmGAejhDq6GDfiu45IXaR6Xeh29XWw07XnHuFJPFhqa2lZEVxDuIdV3107tur/34UOpWK+QPViRdCamGXsIDPE
odTGggwRhR6Ld95Y42n14Exd4etSdAhT1X9FEnOY2zkXXmf9al/85oqKYkQ5yhPag8/Uq8oHVqtO9OFb634a+ja3pnV2LdOruVz3EV/4UdMFN02DM7bp
rbm4JiNTbvNydVmms/omTbe06fuE9mPf94V96r2y0ILv67IQVu87A70pA72zzzv77Kz3JuXBd0Nnh1JW75V91vV+zT5tUH6aO+IbLsjIsRbEYdHG3tLC
+bGZQFTTUNim3s3MXZt92Vvwjoh755133vlxeGfel8Pjt5iu2BVcxYbVAnNrZSngULxizWx0TgGyfUpxWrOb/y+zZWxlBDLszEr1vuSbG0655DYDNM3e
NZfquBbDeBjhX+S6l1ezSN7Lg49GO8oc90aritzKKo/GPdq57o3b9IwK17vao7GO9qV7Yw1Sxrq1Zz0a9yg+7o3bd8bvxc6jsY6i4K7XjCXq3o6Qhx50
sFb2RpbGpP11pKOFujFgk/JtpjKf5EtPXnc/fXjRYdMfj/e/nZ4eechUQxNpsdKJIHeQJkYxEoThLkjGJ2oJKkFCeMTVsFQS3pluYAAxeHbixaIEBI72
DT+RdXxiLSWx3gjlGbTGO+6OJahnSOxNu4YP0jl/K6FrXQlLxe3Py88Opi6DxizZrHS9kuBSY7YUXUtJ1du+x4c/a+uyKcEMg8QFZeKK/sDJozxtcCY6
RM0DGyJGbIidVXQb2gS/cBJiDblBvNqF5Rg8OrUB26Iv3mgb3bihreiItmzSLjXcbptWNGDGBYPylFYszo75juzAMKQbmrezwtkm9LYF6MOR2BEnr55e
fJsVFj8ZKBv1bVEsRVEM8GXPL2ZntWcUqx7cxNkKUfRjiTRedJWgd1IL+dn3m1ezwILSD4P/y1ZAUs806o/gGvVcRU64Eqz6Mo2BzaiirCsAb2SeincQ
ylVUFWmirqtEmYb1ZKHCUQ0Nrtirqf8b/rwvVoDemr7oEXhF27kyO0xrgL5Wf0Og72RplUtb+p7rlAdZsuW+kgiEK34riZIUu6J2XEMUnjIPxy/9YBf9
gghgmPEjMsBcGYi8IcCcXivKN2HGlHgm1mov9CO6ek9CPrPKRbAf0YAsr8xFqZyjMC7oSrv2jwzta6qja03yHtvoHw1GZ8RtLTc9mrI4bm4tWXSOF4rQ
XnTY5wIyAfpxnqL8yhaWbCmKj3JFUj/VUcimkII1zdinLC3KxLROWfdWWzqVKxodg8ZU4mal4k18w000YJFveN11smCXuhznuKnJW76KnkxFh/PoldJG
D7dKhRSm5f2mrtfEaPHO6xa6q1jWApOsTc2kyaCsvLEdN3EHDsR2+Cyo5bNG2nH7h4CsMy8tO03a/I35sXTzl1ZJtfbj28v/Flt6JeIP7JtqlwvLDXNi
SX+Vnb0N13SzrFXOMegfH+5cTom+1HCTnkbVL6eSQHv2ScMLN4enx/bz6denL6eH8XG4P7XT+GV8PD09n7hbvNjtanKt2M8faqAJ93lccD4ux9EXPLsc
LW0OliKT4Kgpvi+zKkk6Y+18lDPz8q2Lh/fnJd7c/f0PuU249w==
"""


def test_the_oldest_store_is_read_with_the_same_numbers(tmp_path):
    for name, data in json.loads(zlib.decompress(base64.b64decode(OLDEST))).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes.fromhex(data))
    store = Store(tmp_path)
    entry = store.find(identity())
    assert entry is not None
    ds = store.load(entry)
    np.testing.assert_array_equal(ds["loss"], [1.0, 0.1, np.nan])
    np.testing.assert_array_equal(ds["time"], [0, 1, 5])
    assert ds["stage"].attrs == {"flag_values": [0, 1], "flag_meanings": "one two"}
    assert entry.manifest == {"jax": "0.5.0"}
    np.testing.assert_array_equal(store.snapshot(entry, "end")[0], [0.0, 1.0, 2.0])


# --- the index ----------------------------------------------------------------------------------------------------


def test_a_deleted_index_is_rebuilt_as_it_was(tmp_path):
    store = Store(tmp_path)
    for seed in range(3):
        put(store, identity(seed))
    entries, index = store.entries(), (tmp_path / "index.json").read_bytes()
    (tmp_path / "index.json").unlink()
    assert Store(tmp_path).entries() == entries
    assert (tmp_path / "index.json").read_bytes() == index


@pytest.mark.parametrize(
    "junk", [b"", b"{", b"[]", b'{"format": 1, "runs": {}}', b"\xff" * 9, b"[" * 10**5]
)
def test_a_damaged_index_is_not_believed(tmp_path, junk):
    store = Store(tmp_path)
    put(store, identity())
    entries = store.entries()
    (tmp_path / "index.json").write_bytes(junk)
    assert Store(tmp_path).entries() == entries


def test_a_sealed_index_of_nonsense_is_not_believed(tmp_path):
    from phasescope.store.sealed import seal

    store = Store(tmp_path)
    entry = put(store, identity())
    found = (entry.folder / "run.json").stat()
    nonsense = {"stamp": [found.st_mtime_ns, found.st_size], "run": {"identity": 3}}
    (tmp_path / "index.json").write_bytes(seal({"format": 1, "runs": {entry.id: nonsense}}))
    assert Store(tmp_path).entries() == [entry]


def test_the_index_follows_the_folders(tmp_path):
    import shutil

    store = Store(tmp_path)
    kept, removed = put(store, identity(0)), put(store, identity(1))
    assert len(store.entries()) == 2
    shutil.rmtree(removed.folder)
    assert store.entries() == [kept]


# --- drafts -------------------------------------------------------------------------------------------------------


def leaves() -> list[np.ndarray]:
    import ml_dtypes

    return [
        np.arange(6.0).reshape(2, 3).T,
        np.array(3, np.int32),
        np.array([1, 2], np.uint32),
        np.array(True),
        np.zeros((0, 2), np.float32),
        np.array([1.5, np.nan], ml_dtypes.bfloat16),
        np.array([1 + 2j, complex(-0.0, np.inf)]),
        np.array([1, 2], ">f8"),
    ]


def assert_same_leaves(a, b) -> None:
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype.newbyteorder("="))
        assert x.tobytes() == y.astype(x.dtype).tobytes()


def test_a_draft_resumes_with_the_state_and_all_records(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        assert draft.resume() is None
        for step in range(12):
            draft.save(
                {"stage": 0, "step": step},
                [*leaves(), np.array(step)],
                {"loss": np.array([step, -step])},
            )
    with store.draft(identity()) as draft:
        resumed = draft.resume()
    assert resumed is not None
    assert resumed.position == {"stage": 0, "step": 11}
    assert_same_leaves(resumed.leaves, [*leaves(), np.array(11)])
    np.testing.assert_array_equal(
        np.concatenate([p["loss"] for p in resumed.parts])[::2], np.arange(12)
    )


def test_old_states_are_dropped_and_old_records_are_not(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        for step in range(9):
            draft.save({"step": step}, leaves(), {"loss": np.zeros(1)})
        assert len(list(draft.folder.glob("*.state.*"))) == 2
        assert len(list(draft.folder.glob("*.records.*"))) == 9


def test_a_draft_goes_on_after_it_was_resumed(tmp_path):
    store = Store(tmp_path)
    for step in range(5):
        with store.draft(identity()) as draft:
            resumed = draft.resume()
            assert (resumed.position["step"] if resumed else -1) == step - 1
            draft.save({"step": step}, [], {"n": np.array([step])})
    with store.draft(identity()) as draft:
        resumed = draft.resume()
    assert resumed is not None
    assert [int(p["n"][0]) for p in resumed.parts] == [0, 1, 2, 3, 4]


def test_to_save_without_resuming_starts_over(tmp_path):
    store = Store(tmp_path)
    for n in (3, 1):
        with store.draft(identity()) as draft:
            for _ in range(n):
                draft.save({}, [], {})
    with store.draft(identity()) as draft:
        resumed = draft.resume()
    assert resumed is not None
    assert len(resumed.parts) == 1


def test_a_finished_or_abandoned_draft_leaves_nothing(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        draft.save({"step": 1}, [], {})
        assert [u.position for u in store.unfinished()] == [{"step": 1}]
        draft.finish(dataset(), {})
        assert not draft.folder.exists()
    with store.draft(identity(1)) as draft:
        draft.save({"step": 1}, [], {})
        draft.abandon()
        assert draft.resume() is None
    assert store.unfinished() == []


def test_unfinished_runs_say_who_they_are_and_whether_someone_is_at_work(tmp_path):
    store = Store(tmp_path)
    with store.draft(identity()) as draft:
        for step in range(3):
            draft.save({"step": step}, [], {})
        working = store.unfinished()
    [left] = store.unfinished()
    assert [u.running for u in working] == [True]
    assert (left.running, left.identity, left.position) == (False, identity(), {"step": 2})
    assert left.id == f"linear_modes/flow/{identity().digest}"


def test_an_object_array_is_never_stored(tmp_path):
    with (
        Store(tmp_path).draft(identity()) as draft,
        pytest.raises(StoreError, match="numbers only"),
    ):
        draft.save({}, [np.array([{}])], {})


def test_who_waits_for_a_draft_is_told_and_then_sees_it_finished(tmp_path):
    store, told, seen = Store(tmp_path), threading.Event(), []

    def tell(message: str) -> None:
        seen.append(message)
        told.set()

    def second() -> None:
        with Store(tmp_path).draft(identity(), on_wait=tell) as draft:
            seen.append(draft.finished)

    with store.draft(identity()) as draft:
        thread = threading.Thread(target=second)
        thread.start()
        assert told.wait(10)
        entry = draft.finish(dataset(), {})
    thread.join(10)
    assert "waiting" in seen[0]
    assert seen[1] == entry


def test_store_errors_are_ours_and_the_systems(tmp_path):
    assert issubclass(StoreError, PhasescopeError)
    assert issubclass(StoreError, OSError)


def test_no_member_of_the_record_file_needs_unpacking_by_zip(tmp_path):
    entry = put(Store(tmp_path), identity())
    with zipfile.ZipFile(entry.folder / "records.zarr.zip") as archive:
        assert {e.compress_type for e in archive.infolist()} == {zipfile.ZIP_STORED}


# --- wide blocks, and runs of which not all is kept -----------------------------------------------------------------


def wide(values, **more):
    return Identity("linear_modes", "flow", {"eta": 0.1}, 0, lanes={"eta": values}, **more)


def test_a_wide_block_is_known_by_a_digest_of_its_numbers():
    numbers = np.linspace(0.1, 0.2, 5000)
    who = wide(tuple(numbers.tolist()))
    assert len(json.dumps(who.to_json())) < 500
    assert who == wide(numbers) == Identity.from_json(json.loads(json.dumps(who.to_json())))
    other = numbers.copy()
    other[2500] = np.nextafter(other[2500], 1)
    assert wide(other).digest != who.digest
    assert wide(numbers[::-1]).digest != who.digest
    assert wide(-0.0 * numbers).digest != wide(0.0 * numbers).digest
    assert (who.format, wide(numbers[:1024]).format) == (2, 1)


def test_a_wide_block_says_how_many_runs_it_holds():
    column = wide(np.minimum(np.arange(3000.0), 1999)).lanes["eta"]
    assert (column.count, column.first, column.last, column.settles) == (3000, 0.0, 1999.0, 1999)
    with pytest.raises(StoreError, match="holds numbers, got NaN"):
        wide(np.full(3000, np.nan))


@pytest.mark.parametrize(
    "strange",
    [
        {"lanes": {"eta": {"count": 5}}},
        {"lanes": {"eta": {"count": 5, "first": 0, "last": 1, "settles": 0, "sha256": "0" * 64}}},
        {
            "lanes": {
                "eta": {"count": 5000, "first": 0, "last": 1, "settles": 0, "sha256": "../" * 3}
            }
        },
        {"keep": "loss"},
        {"keep": [1]},
        {"reduce": ["loss"]},
        {"reduce": {"end": "loss"}},
    ],
)
def test_an_identity_of_strange_parts_is_refused(strange):
    document = Identity("linear_modes", "flow", {"eta": 0.1}, 0).to_json() | strange
    with pytest.raises(StoreError):
        Identity.from_json(document)


def test_what_came_later_is_written_down_only_where_it_is_used():
    plain = Identity("linear_modes", "flow", {"eta": 0.1}, 0)
    assert not {"keep", "reduce"} & set(plain.to_json())
    kept = dataclasses.replace(plain, keep=("loss",))
    reduced = dataclasses.replace(plain, keep=(), reduce={"end": {"kind": "final"}})
    assert len({plain.digest, kept.digest, reduced.digest}) == 3
    for who in (plain, kept, reduced):
        assert Identity.from_json(json.loads(json.dumps(who.to_json()))) == who
