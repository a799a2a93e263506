"""Runs a WSGI application in a fixed number of threads behind an ASGI server.

A thread is a scarce thing, so it is taken only once the whole body has arrived: a client
that sends slowly, or goes away in the middle, costs a buffer and never reaches the
application. An answer goes back to the event loop in one step unless it is long.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

PART_BYTES = 64 * 1024
BODY_WITHIN_S = 30.0
PART_WITHIN_S = 60.0

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
WSGIApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class WSGIBridge:
    """An ASGI application (http only) around a WSGI one that does not use `write()`.

    A body of more than `most_body_bytes` is not read: the application sees its length,
    and an OSError if it reads all the same.
    """

    def __init__(self, app: WSGIApp, *, threads: int, most_body_bytes: int) -> None:
        self._app = app
        self._most_body_bytes = most_body_bytes
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="placet-web")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        exchange = _Exchange(receive, send)
        try:
            body = await _body(scope, receive, self._most_body_bytes)
            await asyncio.get_running_loop().run_in_executor(
                self._executor, self._respond, _environ(scope, body), exchange
            )
            await exchange.finish()
        except _ClientGone:
            return
        except _TooSlow:
            await _send_timeout(send)
        finally:
            exchange.close()

    def _respond(self, environ: dict[str, Any], exchange: "_Exchange") -> None:
        chunks = self._app(environ, exchange.start_response)
        try:
            for chunk in chunks:
                exchange.add(chunk)
        finally:
            if (close := getattr(chunks, "close", None)) is not None:
                close()


class _Exchange:
    """One answer on its way from a thread to the event loop."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._send = send
        self._start: Message | None = None
        self._part = bytearray()
        self._watch: asyncio.Task[None] | None = None

    def start_response(
        self, status: str, headers: list[tuple[str, str]], _exc_info: object = None
    ) -> None:
        """Take status and headers, as PEP 3333 has it."""
        self._start = {
            "type": "http.response.start",
            "status": int(status.split(" ", 1)[0]),
            "headers": [
                (name.lower().encode("latin1"), value.encode("latin1")) for name, value in headers
            ],
        }

    def add(self, chunk: bytes) -> None:
        """Take a piece of the body; in the thread, which waits while the client is slow."""
        self._part += chunk
        if len(self._part) >= PART_BYTES:
            sent = asyncio.run_coroutine_threadsafe(self._flush(more_body=True), self._loop)
            sent.result(PART_WITHIN_S)

    async def finish(self) -> None:
        """Send what is left."""
        await self._flush(more_body=False)

    def close(self) -> None:
        """End what belongs to this exchange."""
        if self._watch is not None:
            self._watch.cancel()

    async def _flush(self, *, more_body: bool) -> None:
        if more_body and self._watch is None:
            self._watch = self._loop.create_task(_disconnected(self._receive))
        if self._watch is not None and self._watch.done():
            raise _ClientGone
        if self._start is not None:
            start, self._start = self._start, None
            await self._send(start)
        part, self._part = bytes(self._part), bytearray()
        await self._send({"type": "http.response.body", "body": part, "more_body": more_body})


class _ClientGone(Exception):
    """There is nobody to answer."""


class _TooSlow(Exception):
    """The body did not arrive within `BODY_WITHIN_S`."""


@dataclass(frozen=True, slots=True)
class _Body:
    length: int
    stream: Any


class _Unread:
    """Stands for a body that is too large to be read."""

    def read(self, _size: int = -1) -> bytes:
        raise OSError("the body is too large")

    readline = read


async def _body(scope: Scope, receive: Receive, most_bytes: int) -> _Body:
    declared = int(dict(scope["headers"]).get(b"content-length", b"0"))
    if declared > most_bytes:
        return _Body(declared, _Unread())
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            read = await _read_body(receive, most_bytes)
    except TimeoutError:
        raise _TooSlow from None
    return _Body(len(read), BytesIO(read) if len(read) <= most_bytes else _Unread())


async def _read_body(receive: Receive, most_bytes: int) -> bytes:
    read = bytearray()
    more_body = True
    while more_body and len(read) <= most_bytes:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        read += message.get("body", b"")
        more_body = message.get("more_body", False)
    return bytes(read)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_timeout(send: Send) -> None:
    text = b"The body did not arrive in time."
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 408, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def _environ(scope: Scope, body: _Body) -> dict[str, Any]:
    """Give the environ of PEP 3333; header names with an underscore are left out (they
    would pass for those with a hyphen that a proxy has checked)."""
    server = scope.get("server") or ("localhost", 80)
    client = scope.get("client") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin1"),
        "QUERY_STRING": scope["query_string"].decode("latin1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body.stream,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name = raw_name.decode("latin1").upper().replace("-", "_")
        key = name if name in ("CONTENT_LENGTH", "CONTENT_TYPE") else f"HTTP_{name}"
        value = raw_value.decode("latin1")
        joint = "; " if name == "COOKIE" else ","
        environ[key] = f"{environ[key]}{joint}{value}" if key in environ else value
    environ["CONTENT_LENGTH"] = str(body.length)
    return environ
