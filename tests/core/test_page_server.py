"""The server of the page: who may ask, what it answers, and that nothing it is asked reaches further than the store."""

import asyncio
import concurrent.futures as futures
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
import toys
import xarray as xr

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import phasescope as ps
from phasescope.engine.job import Job as EngineJob
from phasescope.errors import SpecError, StoreError
from phasescope.page import answers, datasets, guard, lab, preview
from phasescope.page.app import application
from phasescope.page.datasets import Datasets
from phasescope.page.guard import Door, Keys
from phasescope.page.jobs import MOST_WAITING, Job, Jobs
from phasescope.page.lab import Lab
from phasescope.page.level_of_detail import chosen_records
from phasescope.page.maps import Maps
from phasescope.page.server import check_host, names_of, serve
from phasescope.page.wire import plain, unpacked
from phasescope.store import Identity, Store
from phasescope.verbs.context import Stopped
from phasescope.verbs.run_index import RunIndex

HOME = "http://127.0.0.1:8017"
SOCKET = "ws://127.0.0.1:8017"  # the client would name another host of itself
OURS = {"origin": HOME}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with one run of each arm of the example, and a sweep over two axes."""
    folder = tmp_path_factory.mktemp("page") / "store"
    for arm in ("logistic", "flow"):
        ps.run("linear_modes", arm, store=folder, progress=False)
    ps.sweep(
        "linear_modes", "logistic", epsilon=[1e-4, 1e-3, 1e-2], modes=[2, 3], store=folder, progress=False
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def keys():
    return Keys()


@pytest.fixture(scope="module")
def app(filled, keys):
    return application(Store(filled), keys, Door.at(8017))


@pytest.fixture(scope="module")
def client(app, keys):
    with TestClient(app, base_url=HOME, headers=OURS) as browser:
        assert browser.get(f"/?token={keys.token}", follow_redirects=False).status_code == 303
        yield browser


@pytest.fixture
def stranger(app):
    return TestClient(app, base_url=HOME, headers=OURS)


def the_run(client, arm="logistic", kind="run"):
    return client.get(f"/api/runs?arm={arm}&kind={kind}").json()["rows"][0]["id"]


def finished(client, job):
    """The job, when it is over."""
    for _ in range(600):
        found = next(j for j in client.get("/api/jobs").json() if j["job"] == job)
        if found["done"]:
            return found
        time.sleep(0.05)
    raise AssertionError(f"the job did not end: {found}")


# Who may ask


def every_route(app):
    for route in app.app.routes:
        path = re.sub(r"{[^}]+}", "x", route.path)
        if isinstance(route, WebSocketRoute):
            yield path, "WEBSOCKET"
        else:
            assert isinstance(route, Route), "a route of another kind is not walked by this test"
            for method in route.methods:
                yield path, method


def test_no_route_answers_without_the_cookie(app, stranger):
    walked = [*every_route(app), ("/nowhere", "GET"), ("/api/runs/../x", "PUT")]
    assert ("/api/live", "WEBSOCKET") in walked and ("/api/lab", "POST") in walked
    for path, method in walked:
        if method == "WEBSOCKET":
            with pytest.raises(WebSocketDisconnect), stranger.websocket_connect(SOCKET + path):
                pass
        else:
            body = {"json": {}} if method == "POST" else {}
            assert stranger.request(method, path, **body).status_code == 401, (path, method)


@pytest.mark.parametrize("token", ["", "wrong", "\u00e9", "x" * 3000])
def test_another_token_is_refused(stranger, token):
    answer = stranger.get("/", params={"token": token}, follow_redirects=False)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_the_cookie_is_not_for_scripts_nor_for_other_sites(stranger, keys):
    answer = stranger.get(f"/?token={keys.token}", follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert keys.token not in cookie
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "host", ["evil.example:8017", "127.0.0.1:9", "127.0.0.1", "", "localhost:8017.evil"]
)
def test_a_name_that_was_bound_to_this_machine_is_refused(client, host):
    assert client.get("/api/runs", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8017", HOME + ".evil"]
)
def test_other_pages_can_neither_read_nor_start_nor_listen(client, origin):
    other = {"origin": origin}
    assert client.get("/api/runs", headers=other).status_code == 403
    assert client.post("/api/jobs", json={}, headers=other).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(SOCKET + "/api/live", headers=other),
    ):
        pass


def test_what_changes_something_needs_an_origin_and_json(app, client):
    bare = TestClient(app, base_url=HOME, cookies=client.cookies)
    assert bare.post("/api/jobs", json={}).status_code == 403
    assert bare.delete("/api/jobs/1").status_code == 403
    form = {"content-type": "text/plain"}
    assert client.post("/api/jobs", content="{}", headers=form).status_code == 415
    assert client.get("/api/runs", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_every_answer_forbids_inline_code_and_sniffing(client, stranger):
    for answer in (client.get("/api/runs"), stranger.get("/api/runs"), client.get("/static/none")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_oversize_requests_are_refused(client):
    assert client.get("/api/runs", params={"text": "x" * 5000}).status_code == 414
    long = b'{"study": "' + b"x" * guard.LARGEST_BODY + b'"}'
    json_body = {"content-type": "application/json"}
    assert client.post("/api/lab", content=long, headers=json_body).status_code == 413
    pieces = (long[i : i + 1000] for i in range(0, len(long), 1000))
    assert client.post("/api/lab", content=pieces, headers=json_body).status_code == 413
    deep = b"[" * 30_000 + b"]" * 30_000
    assert client.post("/api/lab", content=deep, headers=json_body).status_code == 422


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_listening_beyond_this_machine_needs_a_flag(host):
    with pytest.raises(SpecError, match="--allow-remote"):
        check_host(host, allow_remote=False)
    check_host(host, allow_remote=True)


def test_a_store_that_is_not_there_and_a_port_that_is_taken_are_one_line(tmp_path, filled):
    import socket

    with pytest.raises(StoreError, match="there is no store"):
        serve(tmp_path / "none", browser=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SpecError, match=r"cannot listen at .* --port 0"):
            serve(filled, port=taken.getsockname()[1], browser=False)


# What lies outside the store


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/..%5capp.py",
        "/api/runs/../../etc/passwd",
        "/api/runs/%2e%2e%2f%2e%2e%2fetc",
        "/api/runs/linear_modes/logistic/../../x/values?name=loss",
        "/api/maps/..%2f..",
    ],
)
def test_no_path_reaches_the_file_system(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("name", ["./evil.py", "/tmp/evil.py", "os", "", None, 7, ["x"]])
def test_code_is_run_by_installed_name_only(client, name, tmp_path):
    asked = {"study": name, "arm": "logistic"}
    for route in ("/api/lab", "/api/jobs", "/api/check"):
        answer = client.post(route, json=asked)
        assert answer.status_code == 422
        assert "there is no study" in answer.json()["error"]


@pytest.mark.parametrize("field", ["store", "seed", "progress", "at", "__class__", "executor"])
def test_a_field_cannot_pass_for_a_setting(client, field, tmp_path):
    asked = {"study": "linear_modes", "arm": "logistic", "fields": {field: str(tmp_path / "x")}}
    assert client.post("/api/jobs", json=asked).status_code == 422
    assert not (tmp_path / "x").exists()


def test_hostile_words_are_bounded_and_strict_json():
    deep: list = []
    for _ in range(50):
        deep = [deep]
    told = plain({"<script>" * 100: "x" * 10**6, "n": float("nan"), "l": [1] * 10**6, "d": deep})
    text = json.dumps(told, allow_nan=False)
    assert len(text) < 100_000


def test_a_damaged_run_is_listed_as_such_and_the_others_stay(filled, keys, tmp_path):
    copy = tmp_path / "store"
    shutil.copytree(filled, copy)
    victim = next((copy / "linear_modes" / "flow").iterdir())
    (victim / "run.json").write_text('{"<img src=x onerror=alert(1)>": 1}')
    with TestClient(
        application(Store(copy), keys, Door.at(8017)), base_url=HOME, headers=OURS
    ) as browser:
        browser.get(f"/?token={keys.token}")
        rows = browser.get("/api/runs").json()["rows"]
        broken = [row for row in rows if row["problem"]]
        assert [row["id"].split("/")[1] for row in broken] == ["flow"] and len(rows) == 4
        assert browser.get(f"/api/runs/{broken[0]['id']}").status_code == 404


# What it answers


def test_studies_describe_their_fields(client):
    study = next(s for s in client.get("/api/studies").json() if s["name"] == "linear_modes")
    arm = next(a for a in study["arms"] if a["name"] == "logistic")
    assert arm["quick"]
    assert not next(a for a in study["arms"] if a["name"] == "descent")["quick"]
    epsilon = next(f for f in arm["fields"] if f["name"] == "epsilon")
    assert epsilon["type"] == "float" and epsilon["default"] == 1e-3


def test_runs_are_filtered_sorted_and_paged(client):
    every = client.get("/api/runs?sort=id").json()
    assert every["total"] == 4
    assert [row["id"] for row in every["rows"]] == sorted(row["id"] for row in every["rows"])
    assert client.get("/api/runs?text=flow run").json()["total"] == 1
    assert client.get("/api/runs?text=modes=2 sweep").json()["total"] == 1
    page = client.get("/api/runs?sort=id&offset=1&limit=2").json()
    assert page["total"] == 4 and page["rows"] == every["rows"][1:3]
    assert client.get("/api/runs?sort=evil").status_code == 422
    assert client.get("/api/runs?offset=-1").status_code == 422


def test_a_run_says_what_it_is(client):
    found = client.get(f"/api/runs/{the_run(client)}").json()
    assert found["dims"]["time"] == len(found["coords"]["time"])
    assert {v["name"] for v in found["variables"]} == {"loss", "progress"}
    assert found["phases"][0]["name"] == "training"
    assert found["spec"]["epsilon"] == 1e-3
    assert [id.split("/")[1] for id in found["arms"]] == ["flow"]


def test_numbers_arrive_as_they_were_stored(client, filled):
    id = the_run(client)
    header, data = unpacked(client.get(f"/api/runs/{id}/values?name=progress").content)
    ds = ps.open(id, store=filled)
    np.testing.assert_array_equal(data.reshape(header["shape"]), ds.progress.values)
    assert header["dims"] == ["time", "mode"] and header["times"] == ds.time.values.tolist()
    quoted = id.replace("/", "%2F")
    assert client.get(f"/api/runs/{quoted}/values?name=progress").status_code == 200
    answer = client.get(f"/api/runs/{id}/values?name=nothing")
    assert answer.status_code == 422 and "Known: loss, progress" in answer.json()["error"]


def test_fewer_points_are_sent_where_fewer_are_asked_for(client):
    header, data = unpacked(
        client.get(f"/api/runs/{the_run(client)}/values?name=loss&points=20").content
    )
    assert 10 <= len(data) <= 24 and header["records"] == 151
    assert header["times"][0] == 0 and header["times"][-1] == 15


def test_level_of_detail_loses_no_peak():
    curve = np.sin(np.arange(10_000) / 500)
    curve[7321] = 9.0
    curve[11] = np.nan
    chosen = chosen_records(curve, 200)
    assert 7321 in chosen and chosen[0] == 0 and chosen[-1] == 9999
    assert len(chosen) <= 204 and (np.diff(chosen) > 0).all()


def test_lanes_of_a_sweep_are_chosen(client):
    id = the_run(client, kind="sweep")
    header, _ = unpacked(client.get(f"/api/runs/{id}/values?name=loss&lane=0,2").content)
    assert header["dims"] == ["lane", "time"] and header["shape"][0] == 2


EPSILONS = [1e-4, 1e-3, 1e-2]


@pytest.mark.parametrize(
    ("sweeps", "axes"),
    [
        ([(EPSILONS, [2, 3, 4]), ([*EPSILONS, 0.1], [3])], [([*EPSILONS, 0.1], [2, 3, 4])]),
        ([(EPSILONS, [2, 3]), (EPSILONS[:1], [4])], [(EPSILONS, [2, 3, 4])]),
        ([(EPSILONS, [2, 3]), ([0.1, 0.2], [4, 5])], [(EPSILONS, [2, 3]), ([0.1, 0.2], [4, 5])]),
    ],
    ids=["a longer row", "one more cell", "nothing in common"],
)
def test_a_map_has_all_rows_of_sweeps_that_lie_over_one_another(tmp_path, sweeps, axes):
    index = RunIndex(Store(tmp_path))
    maps = Maps(index, Datasets(index))
    for epsilon, modes in sweeps:
        ps.sweep(
            "linear_modes", "logistic", epsilon=epsilon, modes=modes, store=tmp_path, progress=False
        )
    index.refresh()
    found = maps.all().values()
    given = [tuple(one.axes[name].tolist() for name in ("epsilon", "modes")) for one in found]
    assert sorted(given) == sorted(axes)
    for one in found:
        header, grid = unpacked(maps.grid(one.id, "epsilon", "modes", "loss", -1, {}))
        lengths = header["shape"]
        known = np.isfinite(grid.reshape(lengths))
        assert known.sum() == len({(x, y) for xs, ys in sweeps if set(ys) <= set(one.axes["modes"])
                                   for x in xs for y in ys})  # fmt: skip
        assert ((np.array(header["cells"])[..., 0] >= 0) == known).all()
    index.close()


def test_blocks_that_differ_in_the_seed_that_their_lanes_share_are_an_axis_of_the_map(tmp_path):
    ds = ps.sweep(
        toys.study,
        "walk",
        eta=[0.1, 0.2],
        noise=[0.5, 1.0],
        seeds=2,
        block=4,
        store=tmp_path,
        progress=False,
    )
    index = RunIndex(Store(tmp_path))
    index.refresh()
    maps = Maps(index, Datasets(index))
    [one] = maps.all().values()
    lengths = [(name, len(values)) for name, values in one.axes.items()]
    assert lengths == [("eta", 2), ("noise", 2), ("seed", 2)], "the floats are shown first"
    for seed in (0, 1):
        _, grid = unpacked(maps.grid(one.id, "eta", "noise", "loss", -1, {"seed": f"{seed}"}))
        wanted = ds.loss.isel(time=-1).sel(seed=seed).transpose("noise", "eta")
        np.testing.assert_array_equal(grid.reshape(2, 2), wanted)
    index.close()


def test_a_map_keeps_its_id_as_rows_come_to_it(tmp_path):
    index = RunIndex(Store(tmp_path))
    ids = []
    for modes in ([2, 3], [4], [5]):
        ps.sweep(
            "linear_modes",
            "logistic",
            epsilon=EPSILONS,
            modes=modes,
            store=tmp_path,
            progress=False,
        )
        index.refresh()
        (one,) = Maps(index, Datasets(index)).all()
        ids.append(one)
    assert len(set(ids)) == 1
    index.close()


SLOW = """
import signal, sys, time
from phasescope.page import app, server

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored

def slowly(page, request):
    print("asked", flush=True)
    time.sleep(5)  # longer than the server waits for what is under way
    return []

app._runs = slowly
try:
    server.serve(sys.argv[1], port=0, browser=False)
except KeyboardInterrupt:
    print("ended", file=sys.stderr)
"""


def test_a_server_that_is_stopped_while_it_answers_prints_no_traceback(filled):
    server = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(filled)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        server.stdout.readline()
        url = urlsplit(server.stdout.readline().strip())
        asking = http.client.HTTPConnection(url.netloc)
        asking.request("GET", f"/?{url.query}")  # it was printed, so it can be asked
        answer = asking.getresponse()
        answer.read()
        cookie = answer.headers["set-cookie"].partition(";")[0]
        asking.request("GET", "/api/runs", headers={"Cookie": cookie})
        while server.stdout.readline() != "asked\n":
            pass
        server.send_signal(signal.SIGINT)
        said = server.communicate(timeout=60)[1]
        asking.close()
    finally:
        server.kill()
        server.wait()
    assert "ended" in said and "Traceback" not in said


def test_a_sweep_is_a_map_over_any_two_axes(client, filled):
    (found,) = client.get("/api/maps").json()
    assert {axis["name"]: len(axis["values"]) for axis in found["axes"]} == {
        "epsilon": 3,
        "modes": 2,
    }
    answer = client.get(f"/api/maps/{found['id']}?x=epsilon&y=modes&value=loss&record=0")
    header, data = unpacked(answer.content)
    assert header["dims"] == ["modes", "epsilon"] and header["shape"] == [2, 3]
    grid = data.reshape(2, 3)
    assert np.isfinite(grid).all()
    run, lane = header["cells"][1][2]
    ds = ps.open(header["runs"][run], store=filled)
    assert ds.loss.isel(lane=lane, time=0) == grid[1, 2]
    assert float(ds.epsilon[lane]) == header["x"][2]
    turned, other = unpacked(
        client.get(f"/api/maps/{found['id']}?x=modes&y=epsilon&value=loss&record=0").content
    )
    np.testing.assert_array_equal(other.reshape(turned["shape"]), grid.T)
    assert client.get(f"/api/maps/{found['id']}?x=epsilon&y=epsilon").status_code == 422
    assert client.get(f"/api/maps/{found['id']}?x=evil").status_code == 422


def test_the_lab_answers_with_the_numbers_of_a_run(client):
    asked = {"study": "linear_modes", "arm": "logistic", "fields": {"epsilon": 2e-3}}
    header, data = unpacked(client.post("/api/lab", json=asked).content)
    loss = next(v for v in header["variables"] if v["name"] == "loss")
    ds = ps.run("linear_modes", "logistic", epsilon=2e-3, store=False, progress=False)
    sent = data[loss["offset"] : loss["offset"] + loss["shape"][0]]
    np.testing.assert_array_equal(sent, ds.loss.values)
    assert client.get("/api/runs").json()["total"] == 4, "the lab keeps nothing"


def test_another_float_compiles_nothing(client):
    import jax

    asked = {"study": "linear_modes", "arm": "flow", "fields": {"epsilon": 2e-3}}
    assert client.post("/api/lab", json=asked).status_code == 200
    compiled = []

    def hear(name, seconds, **more):
        if name.endswith("backend_compile_duration"):
            compiled.append(name)

    jax.monitoring.register_event_duration_secs_listener(hear)
    for epsilon in (3e-3, 5e-4, 0.02):
        answer = client.post("/api/lab", json=asked | {"fields": {"epsilon": epsilon}})
        assert answer.status_code == 200
    assert compiled == []
    assert client.post("/api/lab", json=asked | {"fields": {"modes": 7}}).status_code == 200
    assert compiled != [], "this test hears of compilations"


def test_which_arms_are_quick_is_measured(client, app, monkeypatch, tmp_path):
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path))
    first = Lab()
    study = ps.find("linear_modes")
    logistic, descent = study.arm("logistic"), study.arm("descent")
    assert first.is_quick(study, logistic) and not first.is_quick(study, descent)
    for _ in range(4):
        first.answered({"study": "linear_modes", "arm": "logistic"})
    measured = first.speeds.get("linear_modes.logistic")
    assert measured is not None and measured > 0
    first.speeds.add("linear_modes.flow", 60.0)
    again = Lab()
    assert not again.is_quick(study, study.arm("flow")), "it is kept between sessions"
    (tmp_path / "lab" / "seconds.json").write_text('{"linear_modes.flow": "soon", "x": NaN}')
    assert Lab().is_quick(study, study.arm("flow"))


@pytest.mark.parametrize("arm", ["logistic", "flow"])
def test_a_preview_is_the_beginning_of_the_run_and_says_so(client, monkeypatch, arm):
    monkeypatch.setattr(lab, "AT_ONCE", -1.0)
    monkeypatch.setattr(preview, "LONGEST", 60.0)
    asked = {"study": "linear_modes", "arm": arm, "fields": {"epsilon": 2e-3}}
    client.post("/api/lab", json=asked)
    client.post("/api/lab", json=asked)  # warm, and measured
    header, data = unpacked(client.post("/api/lab", json=asked | {"preview": True}).content)
    ds = ps.run("linear_modes", arm, epsilon=2e-3, store=False, progress=False)
    part = header["part"]
    assert part["of"] == ds.sizes["time"] and part["end"] == float(ds.time[-1])
    assert 0 < part["until"] < part["end"] and part["records"] < part["of"]
    seen = next(v for v in header["variables"] if v["name"] == "progress")
    times = np.array(seen["times"])
    sent = data[seen["offset"] :][: np.prod(seen["shape"])].reshape(seen["shape"])
    assert np.isnan(sent[-2:]).all() and times[-1] == part["end"]
    known = times[:-2]
    assert len(known) == part["records"] and known[0] == 0 and known[-1] == part["until"]
    same = ds.progress.sel(time=known).transpose("time", ...).values
    np.testing.assert_allclose(sent[:-2], same, rtol=1e-6)
    assert header["theory"] == [], "what is derived from all records is not in a preview"


def test_a_quick_arm_answers_with_the_run_itself(client):
    asked = {"study": "linear_modes", "arm": "logistic", "fields": {}, "preview": True}
    for _ in range(3):
        header, _ = unpacked(client.post("/api/lab", json=asked).content)
    assert header["part"] is None


def test_previews_go_as_far_as_there_is_time_for(monkeypatch):
    reach = 0.5
    for _ in range(9):
        reach = preview.next_reach(reach, 0.3)
    assert 0.2 < reach < 0.5, "it does not shrink to nothing"
    for _ in range(20):
        reach = preview.next_reach(reach, 0.001)
    assert reach == 1.0
    study = ps.find("linear_modes")
    job = EngineJob(study.arm("logistic"), study.spec)
    times = preview.planned_times(job)
    assert times is not None
    monkeypatch.setattr(preview, "LONGEST", 60.0)  # the program is compiled
    ds, part = preview.beginning(job, times, reach)
    assert part.until == part.end == 15.0 and part.beyond == []
    assert ds.sizes["time"] == part.records < part.of


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"fields": {"epsilon": "much"}}, "epsilon must be a number"),
        ({"fields": {"epsilom": 1}}, "Did you mean"),
        ({"arm": "logistics"}, "Did you mean"),
        ({"arm": "descent", "fields": {}}, "start it as a run"),
        ({"fields": [1]}, "an object of numbers"),
        ({"preset": "none"}, "has no preset"),
        ({"keep": "loss"}, "a list of names"),
        ({"seed": "x"}, "a seed is"),
    ],
)
def test_a_bad_request_of_the_lab_is_one_line(client, change, says):
    asked = {"study": "linear_modes", "arm": "logistic", "fields": {}} | change
    answer = client.post("/api/lab", json=asked)
    assert answer.status_code == 422
    assert says in answer.json()["error"]


def test_a_run_in_the_background_lands_in_the_store_and_is_told(filled, keys, tmp_path):
    copy = tmp_path / "store"
    shutil.copytree(filled, copy)
    with TestClient(
        application(Store(copy), keys, Door.at(8017)), base_url=HOME, headers=OURS
    ) as browser:
        browser.get(f"/?token={keys.token}")
        asked = {"study": "linear_modes", "arm": "descent", "fields": {"steps": 200}}
        with browser.websocket_connect(SOCKET + "/api/live", headers=OURS) as socket:
            job = browser.post("/api/jobs", json=asked).json()["job"]
            told = socket.receive_json()
            while not told["done"]:
                told = socket.receive_json()
        assert told["job"] == job and told["state"] == "done" and told["progress"] == 1
        assert browser.get(f"/api/runs/{told['run']}").json()["spec"]["steps"] == 200
        assert browser.get("/api/runs").json()["total"] == 5


def test_a_run_can_be_stopped(filled, keys, tmp_path):
    copy = tmp_path / "store"
    with TestClient(
        application(Store(copy), keys, Door.at(8017)), base_url=HOME, headers=OURS
    ) as browser:
        browser.get(f"/?token={keys.token}")
        asked = {"study": "linear_modes", "arm": "descent", "fields": {"steps": 10**12}}
        job = browser.post("/api/jobs", json=asked).json()["job"]
        assert browser.delete(f"/api/jobs/{job}").status_code == 200
        assert finished(browser, job)["state"] in ("stopped", "failed")
        assert browser.delete("/api/jobs/99").status_code == 404


def test_a_check_fills_the_ledger(filled, keys, tmp_path, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path / "cache"))
    with TestClient(
        application(Store(filled), keys, Door.at(8017)), base_url=HOME, headers=OURS
    ) as browser:
        browser.get(f"/?token={keys.token}")
        empty = browser.get("/api/ledger?study=linear_modes").json()
        assert empty["rows"] == [] and empty["hint"] == "phasescope report linear_modes"
        job = browser.post("/api/check", json={"study": "linear_modes"}).json()["job"]
        assert finished(browser, job)["state"] == "done"
        found = browser.get("/api/ledger?study=linear_modes").json()
        assert found["made"] and len(found["rows"]) >= 2
        row = found["rows"][0]
        assert (
            row["word"]
            and row["text"]
            and row["command"].startswith("phasescope check linear_modes")
        )
        assert any(row["plot"] or any(part["plot"] for part in row["sub"]) for row in found["rows"])


def test_fifty_clients_are_all_answered(app, client):
    id = the_run(client)

    def ask(number):
        paths = ("/api/runs", f"/api/runs/{id}", f"/api/runs/{id}/values?name=loss", "/api/jobs")
        return client.get(paths[number % len(paths)]).status_code

    with futures.ThreadPoolExecutor(50) as many:
        assert set(many.map(ask, range(200))) == {200}


def opened(store, keys):
    """A browser that was let in to a page over another store."""
    browser = TestClient(
        application(Store(store), keys, Door.at(8017)), base_url=HOME, headers=OURS
    )
    browser.get(f"/?token={keys.token}")
    return browser


def stored(root, ds, **spec):
    with Store(root).draft(Identity("strange", "arm", spec, 0)) as draft:
        return draft.finish(ds, {"seconds": 1.0}, {}).id


EVIL = "<img src=x onerror=alert(1)>\x1b[2J\u202e\"' --"


def test_a_hostile_store_is_answered_in_words_and_bounded(keys, tmp_path):
    time_ = np.arange(5.0)
    loud = xr.Dataset(
        {"odd": ("time", [np.nan, np.inf, -np.inf, 0, 1]), "loss": ("time", np.full(5, np.nan))},
        {"time": time_, "stage": ("time", np.zeros(5, np.int64), {"flag_meanings": EVIL})},
        {"study": EVIL, "spec": EVIL, "provenance": "[" * 1000, "time_per_step": np.nan},
    )
    loud["loss"].attrs |= {"symbol": EVIL * 1000, "long_name": EVIL, "units": EVIL}
    empty = xr.Dataset({"loss": ("time", np.zeros(0))}, {"time": np.zeros(0)})
    many = xr.Dataset({f"x{i}": ((), float(i)) for i in range(1200)}, {"time": time_})
    ids = [stored(tmp_path, ds, number=i) for i, ds in enumerate((loud, empty, many))]
    with opened(tmp_path, keys) as browser:
        assert browser.get("/api/runs").json()["total"] == 3
        for id in ids:
            answer = browser.get(f"/api/runs/{id}")
            assert answer.status_code == 200 and len(answer.content) < 2**20, answer.text
            for variable in answer.json()["variables"][:3]:
                sent = browser.get(f"/api/runs/{id}/values", params={"name": variable["name"]})
                assert sent.status_code == 200
                assert sent.headers["content-type"] == "application/octet-stream"
        header, data = unpacked(
            browser.get(f"/api/runs/{ids[0]}/values", params={"name": "odd"}).content
        )
        assert (header["min"], header["max"]) == (0.0, 1.0) and np.isnan(data[0])
        timeless = stored(tmp_path, xr.Dataset({"x": ((), 1.0)}), number=9)
        answer = browser.get(f"/api/runs/{timeless}")
        assert answer.status_code == 404 and "not those of a run" in answer.json()["error"]


def test_a_run_that_unpacks_to_too_much_is_refused_in_words(keys, tmp_path, monkeypatch):
    id = stored(
        tmp_path, xr.Dataset({"x": ("time", np.zeros(300_000))}, {"time": np.zeros(300_000)})
    )
    monkeypatch.setattr(datasets, "LARGEST", 2**20)
    with opened(tmp_path, keys) as browser:
        answer = browser.get(f"/api/runs/{id}/values?name=x")
        assert answer.status_code == 404 and "are allowed" in answer.json()["error"]


def test_answers_are_bounded_whatever_is_asked_for(keys, tmp_path):
    long = xr.Dataset({"x": (("time", "a"), np.zeros((3000, 500)))}, {"time": np.arange(3000.0)})
    long["x"][1234, 7] = 5.0
    wide = xr.Dataset({"x": ("a", np.zeros(2**20 + 1))}, {"time": [0.0]})
    ids = [stored(tmp_path, ds, number=i) for i, ds in enumerate((long, wide))]
    with opened(tmp_path, keys) as browser:
        header, data = unpacked(browser.get(f"/api/runs/{ids[0]}/values?name=x").content)
        assert data.size <= 2**20 and data.max() == 5.0 and header["max"] == 5.0
        answer = browser.get(f"/api/runs/{ids[1]}/values?name=x")
        assert answer.status_code == 422 and "more than" in answer.json()["error"], answer.text
        digits = {"points": "9" * 3000}
        asked = browser.get(f"/api/runs/{ids[0]}/values", params={"name": "x"} | digits)
        assert asked.status_code == 422


def test_a_replaced_run_is_shown_as_it_is_now(keys, tmp_path):
    ds = xr.Dataset({"x": ("time", np.zeros(3))}, {"time": np.arange(3.0)})
    id = stored(tmp_path, ds)
    with opened(tmp_path, keys) as browser:
        assert unpacked(browser.get(f"/api/runs/{id}/values?name=x").content)[1].max() == 0
        shutil.rmtree(tmp_path / id)
        assert browser.get(f"/api/runs/{id}").status_code == 404
        assert stored(tmp_path, ds + 1) == id
        assert unpacked(browser.get(f"/api/runs/{id}/values?name=x").content)[1].max() == 1


def test_a_length_of_many_digits_is_refused(client):
    headers = {"content-length": "9" * 5000, "content-type": "application/json"}
    assert client.request("POST", "/api/lab", content=b"{}", headers=headers).status_code == 413


def test_a_reader_that_takes_nothing_is_left(monkeypatch):
    monkeypatch.setattr(answers, "PATIENCE", 0.05)
    taken = []

    async def send(message):
        taken.append(message["type"])
        if len(taken) > 3:
            await asyncio.sleep(30)

    async def never():
        await asyncio.sleep(30)

    answer = answers.Numbers(b"x" * 2**20)
    asyncio.run(asyncio.wait_for(answer({"type": "http"}, never, send), 5))
    assert taken == ["http.response.start"] + ["http.response.body"] * 3


def test_so_many_answers_are_under_way_at_most():
    most, now = 0, 0

    def work(request):
        return b"x" * 1000

    async def slow(message):
        nonlocal most, now
        now += message["type"] == "http.response.start"
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= not message.get("more_body", True)

    async def ask_all():
        answer = answers.Answer(work, answers.Limits(2, 3))
        scope = {"type": "http", "method": "GET", "headers": [], "path": "/"}
        await asyncio.gather(*(answer(dict(scope), None, slow) for _ in range(12)))

    asyncio.run(ask_all())
    assert most == 3


def test_jobs_are_bounded_and_end_with_the_server(tmp_path):
    jobs = Jobs(Store(tmp_path))
    began = threading.Semaphore(0)

    def work(context):
        began.release()
        context.stop.wait(30)
        raise Stopped

    for _ in range(MOST_WAITING):
        jobs.start({}, work)
    with pytest.raises(SpecError, match="wait already"):
        jobs.start({}, work)
    assert began.acquire(timeout=10) and began.acquire(timeout=10)
    assert not began.acquire(timeout=0.05), "two run at the same time, the others wait"
    jobs.close()
    assert {job.state for job in jobs.all()} <= {"stopped", "waiting"}
    assert all(not thread.name.startswith("job") for thread in threading.enumerate())


@pytest.mark.parametrize(
    "name", ["secret.txt", "./secret.txt", "{folder}/secret.txt", "nowhere/at.txt"]
)
@pytest.mark.parametrize("route", ["lab", "jobs"])
def test_no_request_names_a_file(client, name, route, tmp_path, monkeypatch):
    """Whether it is there, and what its digest is, nobody is told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("word " * 999)
    fields = {"corpus": name.format(folder=tmp_path)}
    asked = {"study": "scan_and_snap", "arm": "text_attention", "preset": "tiny", "fields": fields}
    answer = client.post(f"/api/{route}", json=asked)
    assert answer.status_code == 422
    assert "takes no path of a file" in answer.json()["error"]


def test_a_job_that_changes_while_it_is_told_has_a_later_version_to_come():
    """A page takes what has a later version than what it knows; the end of a job must not have the one of its middle."""

    class Changing(Job):
        @property
        def state(self):
            known = self.what.setdefault("state", "running")
            self.what["state"] = "done"
            self.version += 1
            return known

        @state.setter
        def state(self, value):
            pass

    job = Changing("1", {})
    assert job.to_json()["version"] < job.version


def test_a_server_at_every_address_is_asked_for_by_the_names_of_the_machine(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "lab7")
    monkeypatch.setattr("socket.getfqdn", lambda: "lab7.example.org")
    monkeypatch.setattr("socket.getaddrinfo", lambda *given: [(0, 0, 0, "", ("10.0.0.7", 0))])
    assert names_of("0.0.0.0") == ["lab7", "lab7.example.org", "10.0.0.7"]
    assert names_of("::1") == ["[::1]"] and names_of("127.0.0.1") == ["127.0.0.1"]


def test_too_many_at_once_are_told_to_come_back(client, app, monkeypatch):
    monkeypatch.setattr(app, "under_way", guard.MOST_AT_ONCE)
    assert client.get("/api/runs").status_code == 503
