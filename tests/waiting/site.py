"""A small real table that long polls read, a server over it, and a client without threads."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

from config.bridge import WSGIBridge
from config.server import Server, server_config
from runs.waiting.hub import Hub
from runs.waiting.reader import Answer, Wait
from runs.waiting.route import App, LongPoll, LongPolls

ROUTES = (
    LongPoll("interrupt", re.compile(r"/api/v1/interrupts/(?P<id>[A-Za-z0-9_]+)")),
    LongPoll("run", re.compile(r"/api/v1/runs/(?P<id>[A-Za-z0-9_]+)")),
    LongPoll("events", re.compile(r"/api/v1/events")),
)
JSON = ((b"content-type", b"application/json"),)
TOKEN = "good"
LISTENING = "application_name = 'placet-wake' AND query LIKE 'LISTEN%'"
NOTIFYING = "application_name = 'placet-wake' AND query LIKE '%pg_notify%'"


class Things:
    """The table, changed and asked through a connection that is nobody's pool.

    Connections of servers that other tests keep for the whole session are not counted.
    """

    def __init__(self, database: psycopg.Connection) -> None:
        self._database = database
        self._others: list[int] = []
        self._others = self._backends("true")

    def add(self, object_id: str) -> None:
        self._database.execute("INSERT INTO waiting_thing VALUES (%s, 'PENDING', 1)", [object_id])

    def decide(self, object_id: str) -> None:
        self._database.execute(
            "UPDATE waiting_thing SET state = 'DECIDED', seq = seq + 1 WHERE id = %s", [object_id]
        )

    def notify(self, *ids: str) -> None:
        self._database.execute("SELECT pg_notify('placet_wake', %s)", [",".join(ids)])

    def count_connections(self) -> int:
        return len(self._backends("backend_type = 'client backend'"))

    def count_listeners(self) -> int:
        return len(self._backends(LISTENING))

    def end_listeners(self) -> int:
        return self._end(LISTENING)

    def end_notifiers(self) -> int:
        return self._end(NOTIFYING)

    def _end(self, condition: str) -> int:
        pids = self._backends(condition)
        self._database.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [pids])
        return len(pids)

    def _backends(self, condition: str) -> list[int]:
        found = self._database.execute(
            "SELECT pid FROM pg_stat_activity"
            f" WHERE datname = current_database() AND pid <> pg_backend_pid() AND {condition}"
        )
        return [pid for (pid,) in found if pid not in self._others]


class ThingReader:
    """Reads the table with Django's connection; a token but `TOKEN` is refused."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.after_answer: Callable[[], None] = lambda: None

    def answer(self, waits: Sequence[Wait]) -> Sequence[Answer]:
        self.sizes.append(len(waits))
        rows = _rows(waits)
        answers = [_shape(wait, rows.get(wait.object_id)) for wait in waits]
        self.after_answer()
        return answers

    def ripe(self, waits: Sequence[Wait]) -> Sequence[bool]:
        rows = _rows(waits)
        return [_differs(wait, *rows[wait.object_id]) for wait in waits]


def _rows(waits: Sequence[Wait]) -> dict[str, tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, state, seq FROM waiting_thing WHERE id = ANY(%s)",
            [[wait.object_id for wait in waits]],
        )
        return {object_id: (state, seq) for object_id, state, seq in cursor.fetchall()}


def _differs(wait: Wait, state: str, seq: int) -> bool:
    return state != "PENDING" if wait.after_seq is None else seq > wait.after_seq


def _shape(wait: Wait, row: tuple[str, int] | None) -> Answer:
    if wait.token != TOKEN:
        return Answer(401, b'{"code":"unauthenticated"}', JSON, is_final=True)
    if row is None:
        return Answer(404, b'{"code":"not_found"}', JSON, is_final=True)
    body = json.dumps({"id": wait.object_id, "state": row[0], "seq": row[1]}).encode()
    return Answer(200, body, JSON, is_final=_differs(wait, *row))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, and after how long."""

    status: int
    headers: dict[str, str]
    body: Any
    took_s: float


@dataclass(slots=True)
class Site:
    """A running server; its hub lives on the server's loop."""

    port: int
    hub: Hub
    server: Server
    thread: threading.Thread
    passed: list[str] = field(default_factory=list)

    async def get(self, target: str, *, token: str = TOKEN, method: str = "GET") -> Reply:
        """Ask over a connection of its own."""
        head = f"{method} {target} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n"
        return await self.send(f"{head}connection: close\r\n\r\n".encode())

    async def send(self, request: bytes) -> Reply:
        """Send these bytes and read until the server closes."""
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            raw = await asyncio.wait_for(reader.read(), 30)
        finally:
            writer.close()
        return _reply(raw, time.monotonic() - began)

    async def until(self, condition: Callable[[], bool], *, within_s: float = 5.0) -> None:
        """Wait until something of the server holds."""
        await until(condition, within_s=within_s)


async def until(condition: Callable[[], bool], *, within_s: float = 5.0) -> None:
    """Wait until a condition holds, or fail."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        await asyncio.sleep(0.005)


def _reply(raw: bytes, took_s: float) -> Reply:
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin1").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    headers = {name.lower(): value for name, value in pairs}
    is_json = headers.get("content-type", "").endswith("json") and body
    return Reply(int(status.split(" ")[1]), headers, json.loads(body) if is_json else body, took_s)


@contextmanager
def running(
    wsgi: Callable[..., Any], *, hub: Hub, threads: int = 2, most_body_bytes: int = 100_000
) -> Iterator[Site]:
    """Run the real server in a thread."""
    bridge = WSGIBridge(wsgi, threads=threads, most_body_bytes=most_body_bytes)
    with serving(LongPolls(bridge, hub=hub, routes=ROUTES), hub=hub) as site:
        yield site


@contextmanager
def serving(app: App, *, hub: Hub) -> Iterator[Site]:
    """Run the real server in a thread over this application."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(server_config(app, host="127.0.0.1", port=port), hub=hub)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        yield Site(port, hub, server, thread)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


Serve = Callable[..., AbstractContextManager[Site]]
