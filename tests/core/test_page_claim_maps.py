"""Maps of claims: where their runs are stored, what is kept of them, and what the server of the page says of them."""

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from starlette.testclient import TestClient

import phasescope as ps
from phasescope.page.app import application
from phasescope.page.guard import Door, Keys
from phasescope.page.wire import unpacked
from phasescope.report import kept_maps
from phasescope.report.kept_maps import KeptMaps
from phasescope.store import Store

pytestmark = pytest.mark.filterwarnings("ignore:claim .* is checked one cell after the other")
HOME = "http://127.0.0.1:8017"
CLAIM = "stronger_modes_are_learnt_first"
FIELDS: dict[str, Any] = {"epsilon": "1e-3:2:6:log", "modes": "2:3:2"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A map of the example's claim over two numbers, with its runs in a store."""
    store = tmp_path_factory.mktemp("maps") / "store"
    return ps.map("linear_modes", CLAIM, store=store, progress=False, **FIELDS), store


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def client(made):
    keys = Keys()
    app = application(Store(made[1]), keys, Door.at(8017))
    with TestClient(app, base_url=HOME, headers={"origin": HOME}) as browser:
        browser.get(f"/?token={keys.token}")
        yield browser


def finished(client, job):
    while True:
        found = next(j for j in client.get("/api/jobs").json() if j["job"] == job)
        if found["done"]:
            return found


def test_a_stored_map_says_where_the_run_of_every_cell_is(made):
    found, store = made
    ids = found.attrs["runs"].split()
    for cell in ({"epsilon": 0, "modes": 0}, {"epsilon": 4, "modes": 1}):
        here = found.isel(cell)
        run = ps.open(ids[int(here.run_1)], store=store).isel(lane=int(here.lane_1))
        assert float(run.epsilon) == float(here.epsilon)
        assert json.loads(run.attrs["spec"])["modes"] == int(here.modes)


def test_a_map_without_a_store_names_no_runs():
    found = ps.map("linear_modes", CLAIM, epsilon=[1e-3, 1e-2], progress=False)
    assert "runs" not in found.attrs and "run_1" not in found


def test_a_kept_map_is_read_back_as_it_was(made):
    found, store = made
    study = ps.find("linear_modes")
    kept = KeptMaps(store)
    id = kept.keep(found, study)
    assert kept.keep(found, study) == id, "the same map again takes the place of the first"
    (again,) = KeptMaps(store).all()
    assert again.id == id and again.code
    for name in found.variables:
        np.testing.assert_array_equal(again.dataset[name].values, found[name].values)
        assert again.dataset[name].dims == found[name].dims
    assert again.dataset.attrs["statement"] == found.attrs["statement"]
    assert KeptMaps(store.parent / "other").all() == [], "another store has its own"


def test_a_map_that_cannot_be_read_is_as_good_as_none(made, monkeypatch):
    found, store = made
    kept = KeptMaps(store)
    id = kept.keep(found, ps.find("linear_modes"))
    assert kept.folder is not None
    file = kept.folder / f"{id}.npz"
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"no" + whole[2:]):
        file.write_bytes(damaged)
        assert KeptMaps(store).all() == []
    file.write_bytes(whole)
    monkeypatch.setattr(kept_maps, "LARGEST", 100)
    assert KeptMaps(store).all() == []


def test_without_a_cache_folder_maps_last_as_long_as_the_page(made, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_CACHE", "0")
    kept = KeptMaps(made[1])
    kept.keep(made[0], ps.find("linear_modes"))
    assert len(kept.all()) == 1


def test_a_map_is_made_behind_the_page_and_shown_with_its_runs(client, made):
    mappable = client.get("/api/claims/linear_modes").json()
    claim = next(one for one in mappable if one["id"] == CLAIM)
    assert [field["name"] for field in claim["fields"]] == ["modes", "epsilon"]
    asked = {"study": "linear_modes", "claim": CLAIM, "fields": FIELDS}
    job = finished(client, client.post("/api/maps", json=asked).json()["job"])
    assert job["state"] == "done" and job["map"] == CLAIM
    listed = next(one for one in client.get("/api/maps").json() if one["id"] == job["run"])
    found, _ = made
    assert listed["claim"] == CLAIM and not listed["outdated"]
    assert sum(listed["words"].values()) == found.margin.size
    answer = client.get(f"/api/maps/{job['run']}?x=modes&y=epsilon&value=margin")
    header, data = unpacked(answer.content)
    count = found.margin.size
    np.testing.assert_array_equal(
        data[:count].reshape(header["shape"]), found.margin.transpose("epsilon", "modes").values
    )
    outcome = data[header["outcome"] :][:count].reshape(header["shape"])
    np.testing.assert_array_equal(outcome, found.outcome.transpose("epsilon", "modes").values)
    words = np.array(header["words"])[np.array(header["word"])]
    np.testing.assert_array_equal(words, found.word.transpose("epsilon", "modes").values)
    number, lane = header["evidence"][0]["cells"][2][1]
    run = ps.open(header["runs"][number], store=made[1]).isel(lane=lane)
    assert float(run.epsilon) == header["x" if header["dims"][1] == "epsilon" else "y"][2]


def test_a_map_over_one_number_is_one_row(client, made):
    asked = {"study": "linear_modes", "claim": CLAIM, "fields": {"epsilon": "1e-3:1e-2:3"}}
    job = finished(client, client.post("/api/maps", json=asked).json()["job"])
    header, data = unpacked(client.get(f"/api/maps/{job['run']}").content)
    assert header["dims"] == ["", "epsilon"] and header["shape"] == [1, 3] and len(data) == 6


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"study": "./evil.py"}, "there is no study"),
        ({"claim": "no"}, "no claim"),
        ({"claim": 3}, "a claim is an id"),
        ({"fields": {}}, "one or more axes"),
        ({"fields": {"epsilon": "1:2:999999999"}}, "ask for fewer points"),
        ({"fields": {"epsilon": "1:2:300", "modes": "2:2000:300"}}, "ask for fewer points"),
        ({"fields": {"epsilon": "2:1:3"}}, "rising"),
        ({"fields": {"store": "1:2:3"}}, "store"),
        ({"fields": {"epsilon": ["x" * 200]}}, "is a number, or a range"),
    ],
)
def test_a_map_that_cannot_be_made_is_refused_at_once(client, change, says):
    asked = {"study": "linear_modes", "claim": CLAIM, "fields": FIELDS} | change
    answer = client.post("/api/maps", json=asked)
    assert answer.status_code == 422 and says in answer.json()["error"]


def test_a_map_of_other_code_says_so(client, made):
    KeptMaps(made[1]).keep(made[0], ps.find("linear_modes"))
    kept = KeptMaps(made[1])
    assert kept.folder is not None
    (file,) = kept.folder.iterdir()
    with np.load(file) as held:
        arrays: dict[str, Any] = dict(held)
    document = json.loads(str(arrays["document"])) | {"code": "of another day"}
    np.savez(file, **arrays | {"document": np.array(json.dumps(document))})
    (listed,) = [one for one in client.get("/api/maps").json() if "claim" in one]
    assert listed["outdated"]
    assert client.get(f"/api/maps/{listed['id']}?x=evil").status_code == 422
    assert client.get(f"/api/maps/{listed['id']}?value=evil").status_code == 422
    assert client.get("/api/maps/claim-none").status_code == 404
