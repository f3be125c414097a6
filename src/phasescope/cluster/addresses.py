"""The address of a scheduler: whether it can be one, and whether anybody answers there."""

from __future__ import annotations

import asyncio
import concurrent.futures as futures
import socket
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..errors import ClusterUnreachable, SpecError

PROTOCOLS = ("tcp", "tls")
PORT = 8786  # Dask's own default
PATIENCE = 5.0  # seconds for a machine to answer at all
HANDSHAKE = 10.0  # seconds for a scheduler to say that it is one


def check_address(address: str, encrypted: bool) -> str:
    """The address in full, as Dask takes it.

    Raises `SpecError` if it cannot be one, or does not go with the TLS files that were given or not given.
    """
    full = address if "://" in address else f"{'tls' if encrypted else 'tcp'}://{address}"
    found = _split(full)
    if found is None:
        raise SpecError(
            f'"{address}" is no address of a scheduler: write tcp://HOST:PORT, or tls://HOST:PORT with the TLS files.'
        )
    if found.scheme == "tls" and not encrypted:
        raise SpecError(
            f'"{address}" is an encrypted scheduler: give its TLS files (--tls FOLDER, or --tls-ca, --tls-cert, --tls-key).'
        )
    if found.scheme == "tcp" and encrypted:
        raise SpecError(
            f'TLS files are given, but "{address}" is not encrypted: write tls:// in place of tcp://.'
        )
    return f"{found.scheme}://{_host(found)}:{found.port or PORT}"


def check_somebody_listens(address: str) -> None:
    """Raises `ClusterUnreachable` at once if nobody listens at the address; Dask would try for half a minute."""
    found = urlsplit(address)
    try:
        with socket.create_connection((found.hostname or "", found.port or PORT), PATIENCE):
            pass
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise ClusterUnreachable(
            f"no scheduler answers at {address} ({reason}). Start one with `dask scheduler`, or give its address."
        ) from None


def check_is_scheduler(address: str, security: Any) -> None:
    """Raises `ClusterUnreachable` if what listens at the address is no scheduler of Dask, or does not trust us.

    Dask's own client waits without end for something that listens and does not speak.
    """
    asked = _identity(address, security)
    try:
        # In a thread: a notebook has an event loop of its own in this one.
        with futures.ThreadPoolExecutor(1) as thread:
            kind = thread.submit(asyncio.run, asyncio.wait_for(asked, HANDSHAKE)).result()
    except Exception as error:
        raise ClusterUnreachable(
            f"what listens at {address} is no scheduler that can be used: {_said(error)}"
        ) from None
    if kind != "Scheduler":
        raise ClusterUnreachable(f"what listens at {address} is a {kind}, not a scheduler.")


def _said(error: Exception) -> str:
    """What an attempt to speak with something that listens has shown."""
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, OSError):  # of the connection, or of its encryption
        return [*str(error).splitlines(), type(error).__name__][0]
    # Its first bytes were taken for the sizes of a message, or its words for one.
    return "it does not speak Dask's protocol. Give the address of a scheduler, as `dask scheduler` prints it."


async def _identity(address: str, security: Any) -> str:
    """What kind of server of Dask answers."""
    from distributed.comm.core import connect

    arguments = security.get_connection_args("client")
    comm = await connect(address, timeout=HANDSHAKE, **arguments)
    try:
        await comm.write({"op": "identity", "reply": True})
        answer = await comm.read()
    finally:
        comm.abort()
    return str(answer["type"])


def _split(address: str) -> SplitResult | None:
    """The parts of an address; None if it cannot be one."""
    try:
        found = urlsplit(address)
        port = found.port
    except ValueError:
        return None
    is_bare = not (found.path.strip("/") or found.query or found.fragment or found.username)
    if found.scheme not in PROTOCOLS or not found.hostname or port == 0 or not is_bare:
        return None
    # A word alone is more likely a typo than a host at the default port.
    if port is None and "." not in found.hostname and found.hostname != "localhost":
        return None
    return found


def _host(found: SplitResult) -> str:
    host = found.hostname or ""
    return f"[{host}]" if ":" in host else host
