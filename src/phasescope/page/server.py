"""serve: start the page and print its URL."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ..engine.interrupts import HANG_UP
from ..errors import MissingExtra, SpecError, StoreError
from ..store import Store

if TYPE_CHECKING:
    import uvicorn

PORT = 8017
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADER_BYTES = 16 * 1024
MESSAGE_BYTES = 16 * 1024


def serve(
    store: str | Path | None = None,
    port: int = PORT,
    host: str = "127.0.0.1",
    browser: bool = True,
    allow_remote: bool = False,
) -> None:
    """Serve the page over a store until Ctrl-C.

    **Arguments:** `store`: the folder, by default as for `run`. `port`: 0 takes a free one. `host`: the address to
    listen at; beyond this machine only with `allow_remote`. `browser`: open one.

    **Raises:** `MissingExtra` without the extra `page`, `SpecError` if the port is taken or the host is not of this
    machine, `StoreError` if there is no such store.
    """
    home = Store(Store.default_root(store))
    if not home.root.is_dir():
        raise StoreError(
            f"there is no store {home.root}. `phasescope run STUDY ARM` makes one; --store DIR names another."
        )
    check_host(host, allow_remote)
    try:
        import uvicorn
        import websockets  # noqa: F401

        from .app import application
        from .guard import Door, Keys
    except ImportError as error:
        raise MissingExtra(f"the page needs {error.name}: pip install 'phasescope[page]'") from None
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    keys = Keys()
    names = names_of(host)
    app = application(home, keys, Door.at(port, [*LOOPBACK, *names]))
    url = f"http://{names[0]}:{port}/?token={keys.token}"
    print(f"The page over {home.root}:\n  {url}\nCtrl-C ends it.", flush=True)
    if allow_remote:
        print(REMOTE, file=sys.stderr, flush=True)
    if browser:
        webbrowser.open(url)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
        limit_concurrency=512,
    )
    logging.getLogger("uvicorn.error").addFilter(is_no_end)
    server = uvicorn.Server(config)
    with _ended_by_hang_up(server):
        server.run(sockets=[listening])


@contextlib.contextmanager
def _ended_by_hang_up(server: uvicorn.Server) -> Iterator[None]:
    """Inside, a terminal that is closed ends the server in order, as Ctrl-C does; one that is ignored stays ignored."""
    handler = None if HANG_UP is None else signal.getsignal(HANG_UP)
    if HANG_UP is None or not callable(handler):
        yield
        return
    is_closed = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        is_closed.set()
        server.should_exit = True

    signal.signal(HANG_UP, end)
    try:
        yield
    finally:
        signal.signal(HANG_UP, handler)
    if is_closed.is_set():
        signal.raise_signal(HANG_UP)


def is_no_end(record: logging.LogRecord) -> bool:
    """Whether a line of the log tells of anything but a request that was broken off because the server ended."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


REMOTE = (
    "--allow-remote: whoever has this URL can read the store and start runs on this machine, and what is sent is not "
    "encrypted. Prefer `ssh -L`."
)


def check_host(host: str, allow_remote: bool) -> None:
    """Refuse an address that others can reach, unless that was asked for."""
    if host == "localhost" or allow_remote:
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass
    raise SpecError(
        f"--host {host} lets other machines reach the page, read the store and start runs here, without encryption. "
        "Add --allow-remote if you mean that; `ssh -L` is safer."
    )


def names_of(host: str) -> list[str]:
    """The names under which a browser may ask for this host, the best to print first.

    A server at every address of the machine (0.0.0.0 or ::) is asked for under the names of the machine.
    """
    if host not in ("0.0.0.0", "::"):
        return [_written(host)]
    own = socket.gethostname()
    found = [own, socket.getfqdn()]
    with contextlib.suppress(OSError):
        found += [str(at[4][0]).partition("%")[0] for at in socket.getaddrinfo(own, None)]
    return [_written(name) for name in dict.fromkeys(found)]


def _written(host: str) -> str:
    """A host as a URL has it."""
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # a browser that is opened at once waits, and is not refused
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or error
        raise SpecError(
            f"cannot listen at {host}:{port}: {why}. Choose another port: --port 0 takes a free one."
        ) from None
    return listening
