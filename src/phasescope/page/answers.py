"""Answers of the server: JSON and numbers, sent a piece at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PIECE = 2**16  # bytes
PATIENCE = 10.0  # seconds
LONGEST_SENDING = 60.0


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
