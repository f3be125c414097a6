"""The routes. What each asks for and answers is in README.md; who may ask is decided in `guard`."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import mimetypes
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from ..errors import PhasescopeError, RunDiverged, SpecError, StoreError
from ..store import Store
from ..verbs.run_index import SORTS, Query, RunIndex
from . import lab, ledger, live, run_view, studies
from .answers import Json, Numbers
from .datasets import Datasets
from .guard import Door, Guard, Keys, TooLarge
from .jobs import Jobs
from .maps import Maps
from .wire import plain

STATIC = Path(__file__).parent / "static"
SHOWN = (".html", ".js", ".mjs", ".css", ".svg", ".png", ".woff2", ".json", ".txt", ".ico")
MOST_ROWS = 1000
AT_ONCE = 8  # answers that are computed at the same time; others wait
LAB_AT_ONCE = 1
MOST_SENDING = 32  # answers that are computed or sent at the same time; of 8 MiB each at most

Handler = Callable[["Page", Request], Any]


class Page:
    """What the routes work on: a store with its index, the runs that are open, and the jobs."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.index = RunIndex(store)
        self.datasets = Datasets(self.index)
        self.maps = Maps(self.index, self.datasets)
        self.jobs = Jobs(store)
        self.lab = lab.Lab()

    def close(self) -> None:
        """Stop all jobs and let go of the files."""
        self.jobs.close()
        self.index.close()


def application(store: Store, keys: Keys, door: Door) -> ASGIApp:
    """The page over a store, for any ASGI server."""
    page = Page(store)
    answers = anyio.CapacityLimiter(AT_ONCE)
    quick = anyio.CapacityLimiter(LAB_AT_ONCE)

    sending = anyio.Semaphore(MOST_SENDING)

    def route(method: str, path: str, handler: Handler, limiter: anyio.CapacityLimiter) -> Route:
        return Route(path, Answer(page, handler, limiter, sending), methods=[method])

    def get(path: str, handler: Handler) -> Route:
        return route("GET", path, handler, answers)

    def post(path: str, handler: Handler, limiter: anyio.CapacityLimiter = answers) -> Route:
        return route("POST", path, handler, limiter)

    async def pushed(socket: WebSocket) -> None:
        await live.push(page.jobs, socket)

    routes = [
        Route("/", _index, methods=["GET"]),
        Route("/static/{name:path}", _static, methods=["GET"]),
        get("/api/studies", _studies),
        get("/api/ledger", _ledger),
        post("/api/check", _check),
        get("/api/runs", _runs),
        get("/api/runs/{id:path}/values", _values),
        get("/api/runs/{id:path}", _run),
        get("/api/maps", _maps),
        get("/api/maps/{id}", _map),
        post("/api/lab", _lab, quick),
        get("/api/jobs", _jobs),
        post("/api/jobs", _start),
        route("DELETE", "/api/jobs/{job}", _stop, answers),
        WebSocketRoute("/api/live", pushed),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(page.close)

    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.page = page
    return Guard(app, keys, door)


class Answer:
    """A handler as an endpoint: it works in a thread, and errors that were foreseen become JSON.

    So many at most are answered at once, from the question to the last byte, that slow readers fill no memory.
    """

    def __init__(
        self,
        page: Page,
        handler: Handler,
        limiter: anyio.CapacityLimiter,
        sending: anyio.Semaphore,
    ) -> None:
        self.work = functools.partial(handler, page)
        self.limiter = limiter
        self.sending = sending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        async with self.sending:
            answer = await self.answer(Request(scope, receive))
            await answer(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """The answer, or what was wrong."""
        try:
            if request.method == "POST":
                request.state.document = await _document(request)
            found = await anyio.to_thread.run_sync(
                functools.partial(self.work, request), limiter=self.limiter
            )
        except TooLarge:
            return PlainTextResponse("the request is too large.", 413)
        except PhasescopeError as error:
            code = 404 if isinstance(error, StoreError) else 422
            return Json({"error": plain(str(error)), "kind": type(error).__name__}, code)
        except Exception as error:  # a study or a store that nobody foresaw: the page goes on
            return Json(
                {"error": f"{type(error).__name__}: {plain(str(error))}", "kind": "error"}, 500
            )
        return Numbers(found) if isinstance(found, bytes) else Json(found)


async def _document(request: Request) -> Any:
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise SpecError("the request is not JSON.") from None
    if not isinstance(found, dict):
        raise SpecError("the request is not a JSON object.")
    return found


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
    return {"total": total, "rows": [_listed(row) for row in rows]}


def _listed(row: dict[str, Any]) -> dict[str, Any]:
    study, arm, _ = row["id"].split("/")
    return {
        "id": row["id"],
        "study": study,
        "arm": arm,
        "kind": row.get("kind", ""),
        "when": plain(row.get("created")),
        "differs": plain(_differs(study, arm, row)),
        "swept": plain(row.get("swept", {})),
        "seed": plain(row.get("seed")),
        "status": plain(row["status"]),
        "problem": plain(row.get("problem")),
        "size": plain(row.get("size", 0)),
        "seconds": plain(row.get("seconds")),
    }


def _differs(study: str, arm: str, row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a run that are not the defaults; all, if its study is not installed."""
    known = _defaults(study, arm)
    swept = row.get("swept", {})
    spec = row.get("spec", {})
    return {k: v for k, v in spec.items() if k not in swept and known.get(k, _defaults) != v}


@functools.lru_cache(maxsize=256)
def _defaults(study: str, arm: str) -> dict[str, Any]:
    with contextlib.suppress(PhasescopeError):
        return dict(studies.by_name(study).default_for(arm).to_json())
    return {}


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
    return [sweep.to_json() for sweep in page.maps.all().values()]


def _map(page: Page, request: Request) -> Any:
    asked = request.query_params
    held: dict[str, str] = {}
    for part in asked.get("slice", "").split(","):
        name, _, value = part.partition(":")
        if name:
            held[name] = value
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
