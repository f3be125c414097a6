"""The routes. What each asks for and answers is in README.md; who may ask is decided in `guard`."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import mimetypes
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from ..errors import RunDiverged, SpecError, StoreError
from ..store import Store
from ..verbs.run_index import SORTS, Query, RunIndex
from . import claim_maps, lab, ledger, live, run_view, studies
from .answers import Answer, Limits
from .datasets import Datasets
from .guard import Door, Guard, Keys
from .jobs import Jobs
from .maps import Maps
from .run_list import listed

STATIC = Path(__file__).parent / "static"
SHOWN = (".html", ".js", ".mjs", ".css", ".svg", ".png", ".woff2", ".json", ".txt", ".ico")
MOST_ROWS = 1000
AT_ONCE = 8  # answers that are computed at the same time; others wait
LAB_AT_ONCE = 1
MOST_SENDING = 32  # answers that are computed or sent at the same time; of 8 MiB each at most


class Page:
    """What the routes work on: a store with its index, the runs that are open, and the jobs."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.index = RunIndex(store)
        self.datasets = Datasets(self.index)
        self.maps = Maps(self.index, self.datasets)
        self.claim_maps = claim_maps.ClaimMaps(store)
        self.jobs = Jobs(store)
        self.lab = lab.Lab()

    def close(self) -> None:
        """Stop all jobs and let go of the files."""
        self.jobs.close()
        self.index.close()


Handler = Callable[[Page, Request], Any]


def application(store: Store, keys: Keys, door: Door) -> ASGIApp:
    """The page over a store, for any ASGI server."""
    page = Page(store)
    large = Limits(AT_ONCE, MOST_SENDING)
    quick = Limits(LAB_AT_ONCE, AT_ONCE)
    small = Limits(AT_ONCE, MOST_SENDING)  # so that a job can be stopped whoever reads slowly

    def route(method: str, path: str, handler: Handler, limits: Limits = large) -> Route:
        return Route(path, Answer(functools.partial(handler, page), limits), methods=[method])

    async def pushed(socket: WebSocket) -> None:
        await live.push(page.jobs, socket)

    routes = [
        Route("/", _index, methods=["GET"]),
        Route("/static/{name:path}", _static, methods=["GET"]),
        route("GET", "/api/studies", _studies),
        route("GET", "/api/ledger", _ledger),
        route("POST", "/api/check", _check, small),
        route("GET", "/api/runs", _runs),
        route("GET", "/api/runs/{id:path}/values", _values),
        route("GET", "/api/runs/{id:path}", _run),
        route("GET", "/api/maps", _maps),
        route("POST", "/api/maps", _make_map, small),
        route("GET", "/api/maps/{id}", _map),
        route("GET", "/api/claims/{study}", _claims),
        route("POST", "/api/lab", _lab, quick),
        route("GET", "/api/jobs", _jobs, small),
        route("POST", "/api/jobs", _start, small),
        route("DELETE", "/api/jobs/{job}", _stop, small),
        WebSocketRoute("/api/live", pushed),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(page.close)

    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.page = page
    return Guard(app, keys, door)


async def _index(request: Request) -> Response:
    return await _file("index.html")


async def _static(request: Request) -> Response:
    return await _file(request.path_params["name"])


async def _file(name: str) -> Response:
    """A packaged file; names are looked up among those that exist, and none is ever put together with a path."""
    known = {
        path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()
    }
    path = known.get(name)
    if path is None or path.suffix not in SHOWN:
        return PlainTextResponse("there is no such file.", 404)
    kind = "text/javascript" if path.suffix in (".js", ".mjs") else mimetypes.guess_type(name)[0]
    return FileResponse(path, media_type=kind)


def _studies(page: Page, request: Request) -> Any:
    return [studies.described(one, page.lab.is_quick) for one in studies.installed_studies()]


def _ledger(page: Page, request: Request) -> Any:
    name = request.query_params.get("study")
    chosen = [studies.by_name(name)] if name else studies.installed_studies()
    return ledger.kept_rows(chosen, page.store)


def _check(page: Page, request: Request) -> Any:
    study = studies.by_name(request.state.document.get("study"))
    what = {"check": study.name, "study": study.name, "arm": None}
    job = page.jobs.start(what, lambda context: ledger.check(study, context))
    return {"job": job.id}


def _runs(page: Page, request: Request) -> Any:
    asked = request.query_params
    sort = asked.get("sort") or "-when"
    if sort.removeprefix("-") not in SORTS:
        raise SpecError(f"runs are sorted by {', '.join(SORTS)}, got {sort[:50]}.")
    query = Query(
        text=asked.get("text", ""),
        study=asked.get("study", ""),
        arm=asked.get("arm", ""),
        kind=asked.get("kind", ""),
        sort=sort,
        offset=_whole(asked.get("offset"), 0, 10**9),
        limit=_whole(asked.get("limit"), 100, MOST_ROWS),
    )
    page.index.refresh()
    total, rows = page.index.select(query)
    return {"total": total, "rows": [listed(row) for row in rows]}


def _run(page: Page, request: Request) -> Any:
    id = request.path_params["id"]
    ds = page.datasets.get(id)
    row = page.index.get(id)
    if row is None:
        raise StoreError(f'the store has no run "{id[:200]}".')
    return run_view.described(ds, row, page.index)


def _values(page: Page, request: Request) -> Any:
    asked = request.query_params
    points = asked.get("points")
    lanes = asked.get("lane")
    return run_view.values(
        page.datasets.get(request.path_params["id"]),
        asked.get("name", ""),
        None if not points else _whole(points, 1000, 10**7),
        None if not lanes else [_whole(word, 0, 10**9) for word in lanes.split(",")],
    )


def _maps(page: Page, request: Request) -> Any:
    page.index.refresh()
    return [*page.claim_maps.to_json(), *(sweep.to_json() for sweep in page.maps.all().values())]


def _claims(page: Page, request: Request) -> Any:
    return claim_maps.claims_with_maps(studies.by_name(request.path_params["study"]))


def _make_map(page: Page, request: Request) -> Any:
    study, asked = claim_maps.asked_map(request.state.document)
    what = claim_maps.told(asked, study)
    job = page.jobs.start(what, lambda context: claim_maps.made(study, asked, context))
    return {"job": job.id}


def _map(page: Page, request: Request) -> Any:
    asked = request.query_params
    held: dict[str, str] = {}
    for part in asked.get("slice", "").split(","):
        name, _, value = part.partition(":")
        if name:
            held[name] = value
    if request.path_params["id"].startswith(claim_maps.MARK):
        return page.claim_maps.grid(request.path_params["id"], asked, held)
    record = asked.get("record", "")
    return page.maps.grid(
        request.path_params["id"],
        asked.get("x", ""),
        asked.get("y", ""),
        asked.get("value", ""),
        _whole(record, 0, 10**9) if record else -1,
        held,
    )


def _lab(page: Page, request: Request) -> Any:
    return page.lab.answered(request.state.document)


def _jobs(page: Page, request: Request) -> Any:
    return [job.to_json() for job in page.jobs.all()]


def _start(page: Page, request: Request) -> Any:
    document = request.state.document
    study, job = lab.asked(document)
    what = lab.told(study, job, document)

    def work(context: Any) -> str:
        try:
            return lab.carried_out(study, job, context)
        except RunDiverged as error:
            return str(error.dataset.attrs.get("id", "")) if error.dataset is not None else ""

    return {"job": page.jobs.start(what, work).id}


def _stop(page: Page, request: Request) -> Any:
    job = page.jobs.stop(request.path_params["job"])
    if job is None:
        raise StoreError("there is no such job.")
    return job.to_json()


def _whole(text: str | None, default: int, most: int) -> int:
    """A whole number from 0 to `most`, of a query."""
    if not text:
        return default
    if not text.isdecimal() or len(text) > 12:
        raise SpecError(f"a whole number is needed, got {text[:50]}.")
    return min(int(text), most)
