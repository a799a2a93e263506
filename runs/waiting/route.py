"""Takes long polls out of the stream of requests, before Django sees them.

Django's handler would hold a thread for each. Whatever is not certainly a long poll goes
to the wrapped application, which answers or refuses it as if there were no hub.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from runs.waiting.hub import Hub
from runs.waiting.reader import Answer, Wait
from runs.waiting.wait_s import read_after_seq, read_wait_s

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Admit = Callable[[str], Answer | None]
Query = Sequence[tuple[str, str]]

_BEARER = re.compile(rb"bearer +([\x21-\x7e]+) *", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LongPoll:
    """A route that can wait: its path, whole, with the id as the group `id` if it has one.

    `after` names the parameter that says what the client knows. `is_plain` says of the others
    whether the reader takes them; the application refuses what it does not.
    """

    kind: str
    path: re.Pattern[str]
    after: str = "after_seq"
    is_plain: Callable[[Query], bool] = lambda _: True


class LongPolls:
    """An ASGI application: long polls to the hub, everything else to `app`.

    `admit` is asked once for each long poll, on the event loop, and must not block; what
    it gives is sent instead of waiting.
    """

    def __init__(
        self, app: App, *, hub: Hub, routes: Sequence[LongPoll], admit: Admit = lambda _: None
    ) -> None:
        self._app = app
        self._hub = hub
        self._routes = routes
        self._admit = admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope (ASGI 3, http or lifespan)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif (asked := self._asked(scope)) is None:
            await self._app(scope, receive, send)
        elif (refused := self._admit(asked[0].token)) is not None:
            await _send(refused, send)
        else:
            await self._wait(*asked, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._hub.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._hub.stop()
        await send({"type": "lifespan.shutdown.complete"})

    def _asked(self, scope: Scope) -> tuple[Wait, int] | None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["query_string"]:
            return None
        for route in self._routes:
            if match := route.path.fullmatch(scope["path"]):
                return _asked(route, match, scope)
        return None

    async def _wait(self, wait: Wait, wait_s: int, receive: Receive, send: Send) -> None:
        waiter = self._hub.register(wait, wait_s=wait_s)
        watch = asyncio.ensure_future(_disconnected(receive))
        watch.add_done_callback(lambda _: self._hub.forget(waiter))
        try:
            answer = await waiter.answer
        finally:
            self._hub.forget(waiter)
            watch.cancel()
        if answer is not None:
            await _send(answer, send)


def _asked(route: LongPoll, match: re.Match[str], scope: Scope) -> tuple[Wait, int] | None:
    pairs = _pairs(scope["query_string"])
    token = _token(scope["headers"])
    wait_s = read_wait_s(_only("wait_s", pairs) or "")
    after_seq = _only(route.after, pairs)
    seq = None if after_seq is None else read_after_seq(after_seq)
    if token is None or not wait_s or (after_seq is not None and seq is None):
        return None
    query = tuple(pair for pair in pairs if pair[0] not in ("wait_s", route.after))
    if not route.is_plain(query):
        return None
    object_id = match.groupdict().get("id", route.kind)
    return Wait(token, route.kind, object_id, seq, query), wait_s


def _only(name: str, pairs: Sequence[tuple[str, str]]) -> str | None:
    """Give a parameter's only value, None when absent, no valid one when repeated."""
    values = [value for each, value in pairs if each == name]
    return ",".join(values) if values else None


def _token(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """Give the only bearer token of a request without a body."""
    given = []
    for name, value in headers:
        if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            return None
        if name == b"authorization":
            given.append(value)
    match = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    return match[1].decode("ascii") if match else None


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:  # not ASCII or, unquoted, not UTF-8: Django refuses it
        return []


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(answer: Answer, send: Send) -> None:
    given = {name for name, _ in answer.headers}
    headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
    for name, value in ((b"content-type", b"application/json"), (b"cache-control", b"no-store")):
        if name not in given:
            headers.append((name, value))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
