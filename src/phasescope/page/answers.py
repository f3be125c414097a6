"""Answers of the server: a handler as an endpoint, and JSON and numbers that are sent a piece at a time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import time
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from ..errors import PhasescopeError, SpecError, StoreError
from .guard import TooLarge
from .wire import plain

PIECE = 2**16  # bytes
PATIENCE = 10.0  # seconds
LONGEST_SENDING = 60.0
Handler = Callable[[Request], Any]


class InPieces(Response):
    """An answer that is sent a piece at a time, so that what a slow reader has not taken yet is not copied.

    A reader that takes nothing for `PATIENCE`, or not all in `LONGEST_SENDING`, is left.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        body = memoryview(self.body)
        ends = time.monotonic() + LONGEST_SENDING
        with contextlib.suppress(TimeoutError):
            start = {"type": "http.response.start", "status": self.status_code}
            await asyncio.wait_for(send(start | {"headers": self.raw_headers}), PATIENCE)
            for begin in range(0, max(len(body), 1), PIECE):
                piece = bytes(body[begin : begin + PIECE])
                more = begin + PIECE < len(body)
                left = min(PATIENCE, ends - time.monotonic())
                message = {"type": "http.response.body", "body": piece, "more_body": more}
                await asyncio.wait_for(send(message), left)


class Numbers(InPieces):
    """An answer of `packed` numbers."""

    media_type = "application/octet-stream"


class Json(InPieces):
    """An answer of strict JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


class Limits:
    """How many answers of some routes are computed at a time, and how many are computed or sent."""

    def __init__(self, at_once: int, sending: int) -> None:
        self.threads = anyio.CapacityLimiter(at_once)
        self.sending = anyio.Semaphore(sending)


class Answer:
    """A handler as an endpoint: it works in a thread, and errors that were foreseen become JSON.

    So many at most are answered at once, from the question to the last byte, that slow readers fill no memory.
    """

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self.work = handler
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        async with self.limits.sending:
            answer = await self.answer(Request(scope, receive))
            await answer(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """The answer, or what was wrong."""
        try:
            if request.method == "POST":
                request.state.document = await _document(request)
            found = await anyio.to_thread.run_sync(
                functools.partial(self.work, request), limiter=self.limits.threads
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
