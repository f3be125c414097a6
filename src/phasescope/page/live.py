"""What is pushed: the state of every job whenever it changed; to a slow reader only the latest."""

from __future__ import annotations

import asyncio
import contextlib
import json

from starlette.websockets import WebSocket, WebSocketDisconnect

from .jobs import Jobs

PAUSE = 0.1  # seconds between two looks
MOST_SOCKETS = 64
PATIENCE = 10.0  # seconds for a reader that takes nothing

_open: set[WebSocket] = set()


async def push(jobs: Jobs, socket: WebSocket) -> None:
    """Tell a browser of all changes until it leaves. What it sends is not read."""
    if len(_open) >= MOST_SOCKETS:
        await socket.close(1013)
        return
    await socket.accept()
    _open.add(socket)
    gone = asyncio.create_task(_until_gone(socket))
    try:
        version = 0
        while not gone.done():
            version, changed = jobs.since(version)
            for job in changed:
                text = json.dumps(job.to_json(), allow_nan=False)
                await asyncio.wait_for(socket.send_text(text), PATIENCE)
            await asyncio.wait([gone], timeout=PAUSE)
    except (WebSocketDisconnect, TimeoutError, RuntimeError):
        pass
    finally:
        _open.discard(socket)
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await gone


async def _until_gone(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
