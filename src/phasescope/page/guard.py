"""Who may ask: every request passes here before any route sees it, and is refused unless all is in order.

A request needs a Host that is ours (a foreign name that resolves to this machine is refused), an Origin that is
ours if it changes something or opens a WebSocket, and the cookie that the printed URL gave.
"""

from __future__ import annotations

import dataclasses
import hmac
import secrets
from collections.abc import Iterable
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_QUERY = 4096
LARGEST_BODY = 64 * 1024
MOST_AT_ONCE = 256
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOST = "Open the URL that `phasescope serve` printed: it has the token that this page asks for."


@dataclasses.dataclass(frozen=True)
class Keys:
    """What lets a browser in: the token of the printed URL, once, and then the cookie."""

    token: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32))


@dataclasses.dataclass(frozen=True)
class Door:
    """Where the page is reached: the hosts, each with its port, that a request may name."""

    hosts: frozenset[str]
    cookie_name: str

    @classmethod
    def at(cls, port: int, names: Iterable[str] = ("127.0.0.1", "localhost", "[::1]")) -> Door:
        """The door of a server that listens at a port under some names."""
        return cls(frozenset(f"{name}:{port}".lower() for name in names), f"phasescope_{port}")

    def is_ours(self, origin: str) -> bool:
        """Whether a page of this origin is our own."""
        return origin.lower() in {f"http://{host}" for host in self.hosts}


class TooLarge(Exception):
    """A body that is longer than any request of the page; the route that reads it answers 413."""


class Guard:
    """The middleware around the whole application."""

    def __init__(self, app: ASGIApp, keys: Keys, door: Door) -> None:
        self.app = app
        self.keys = keys
        self.door = door
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] not in ("http", "websocket"):
            return
        answer = self._answer_at_the_door(scope)
        if answer is not None:
            await _refuse(scope, receive, _with_headers(send), answer)
            return
        self.under_way += 1
        try:
            await self.app(scope, _bounded(receive), _with_headers(send))
        finally:
            self.under_way -= 1

    def _answer_at_the_door(self, scope: Scope) -> Response | None:
        """Why the request goes no further, or the cookie for a good token; None if it may pass."""
        headers = Headers(scope=scope)
        for refused in (self._foreign(scope, headers), _oversize(scope, headers)):
            if refused is not None:
                return refused
        query = bytes(scope.get("query_string", b"")).decode("latin-1")
        token = dict(parse_qsl(query)).get("token")
        if scope["type"] == "http" and scope["path"] == "/" and token is not None:
            return self._let_in(token)
        if not self._knows(headers):
            return PlainTextResponse(LOST, 401)
        if self.under_way >= MOST_AT_ONCE:
            return PlainTextResponse("too many requests at once; try again.", 503)
        return None

    def _foreign(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.door.hosts:
            return PlainTextResponse("this server does not answer to that name.", 421)
        origins = headers.getlist("origin")
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE
        if (changes and not origins) or not all(map(self.door.is_ours, origins)):
            return PlainTextResponse("requests of other pages are refused.", 403)
        site = headers.get("sec-fetch-site", "none")
        if scope["path"] != "/" and site not in ("same-origin", "none"):
            return PlainTextResponse("requests of other pages are refused.", 403)
        return None

    def _let_in(self, token: str) -> Response:
        if not _same(token, self.keys.token):
            return PlainTextResponse(LOST, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self.door.cookie_name, self.keys.cookie, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _knows(self, headers: Headers) -> bool:
        given = cookie_parser(headers.get("cookie", "")).get(self.door.cookie_name, "")
        return _same(given, self.keys.cookie)


def _same(given: str, right: str) -> bool:
    """Whether two words are one, in a time that does not tell how far they agree."""
    return hmac.compare_digest(given.encode(errors="replace"), right.encode())


def _oversize(scope: Scope, headers: Headers) -> Response | None:
    if len(scope.get("query_string", b"")) > LONGEST_QUERY or len(scope["path"]) > LONGEST_QUERY:
        return PlainTextResponse("the address is too long.", 414)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 12 or int(length) > LARGEST_BODY:
        return PlainTextResponse("the request is too large.", 413)
    body = scope["type"] == "http" and scope["method"] == "POST"
    if body and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return PlainTextResponse("send application/json.", 415)
    return None


def _bounded(receive: Receive) -> Receive:
    """The body, up to its largest size."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body") or b"") if message["type"] == "http.request" else 0
        if size > LARGEST_BODY:
            raise TooLarge
        return message

    return counted


def _with_headers(send: Send) -> Send:
    """The answers, each with the headers that keep a page safe."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sent


async def _refuse(scope: Scope, receive: Receive, send: Send, answer: Response) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        return
    await answer(scope, receive, send)
