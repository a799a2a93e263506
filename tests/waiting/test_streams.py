"""Streams through a real server: who is told, when, how it ends, and at what cost."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import OperationalError, connection

from config.bridge import WSGIBridge
from runs.waiting.hub import Hub
from runs.waiting.route import LongPolls
from runs.waiting.stream import Stream, Streams, Telling
from tests.waiting.site import ROUTES, Site, ThingReader, Things, serving, until

pytestmark = pytest.mark.usefixtures("things")


@dataclass(slots=True)
class Room:
    """What a stream tells: how the row `int_1` stands, to whoever has a session called so."""

    sessions: set[str] = field(default_factory=lambda: {"rae", "rob"})
    threads: set[str] = field(default_factory=set)
    reads: int = 0

    def tell(self, session: str) -> Telling | None:
        self.reads += 1
        self.threads.add(threading.current_thread().name)
        if session not in self.sessions:
            return None
        with connection.cursor() as cursor:
            cursor.execute("SELECT state FROM waiting_thing WHERE id = 'int_1'")
            (state,) = cursor.fetchone()
        return Telling(who=session, key="tenant_1", text=f"data: {state}\n\n".encode())


@contextmanager
def streaming(
    room: Room, *, tell: Callable[[str], Telling | None] | None = None, **options: Any
) -> Iterator[tuple[Site, Streams]]:
    """A server with one stream over the table."""
    hub = Hub({"interrupt": ThingReader()}, look_every_s=60)

    def django(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("302 Found", [("location", "/login/"), ("content-length", "0")])
        return [b""]

    polls = LongPolls(WSGIBridge(django, threads=2, most_body_bytes=1000), hub=hub, routes=ROUTES)
    app = Streams(
        polls,
        hub=hub,
        routes=[Stream("/live/", tell or room.tell)],
        cookie="sessionid",
        **{"pause_s": 0.02, "heartbeat_s": 30.0, **options},
    )
    with serving(app, hub=hub) as site:
        yield site, app


@dataclass(slots=True)
class Heard:
    """One open stream, as its client reads it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str = ""
    text: str = ""

    async def until(self, part: str, *, within_s: float = 5.0) -> None:
        """Read on until this has been said."""
        async with asyncio.timeout(within_s):
            while part not in self.text:
                chunk = await self.reader.read(1000)
                assert chunk, f"the stream ended after {self.text!r}"
                self.text += chunk.decode()

    async def to_the_end(self) -> str:
        """All that is said until the answer ends, as its last chunk says."""
        await self.until("\r\n0\r\n\r\n", within_s=10)
        return self.text


@asynccontextmanager
async def opened(site: Site, session: str = "rae") -> AsyncIterator[Heard]:
    """A stream that is open once its head has come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    cookie = f"other=1; sessionid={session}"
    writer.write(f"GET /live/ HTTP/1.1\r\nhost: test\r\ncookie: {cookie}\r\n\r\n".encode())
    try:
        async with asyncio.timeout(5):
            head = await reader.readuntil(b"\r\n\r\n")
        yield Heard(reader, writer, head.decode())
    finally:
        writer.close()


def test_a_stream_begins_with_what_holds_now_and_tells_each_change(things: Things) -> None:
    things.add("int_1")
    room = Room()

    async def scene() -> None:
        async with opened(site) as heard:
            await heard.until("data: PENDING")
            things.decide("int_1")
            things.notify("tenant_1")
            await heard.until("data: DECIDED")
            assert heard.head.startswith("HTTP/1.1 200 ")
            assert "content-type: text/event-stream\r\n" in heard.head
            assert "cache-control: no-store\r\n" in heard.head
            assert heard.text.index("retry: 3000") < heard.text.index("data: PENDING")

    with streaming(room) as (site, _):
        asyncio.run(scene())
    assert all(name.startswith("placet-hub") for name in room.threads)


def test_what_is_committed_while_a_stream_opens_is_told_without_a_wake_up(things: Things) -> None:
    """H-43: the bell hangs before the reading that counts."""
    things.add("int_1")
    room = Room()
    tell = room.tell

    def decide_after(session: str) -> Telling | None:
        told = tell(session)
        if room.reads == 1:
            things.decide("int_1")
        return told

    async def scene() -> None:
        async with opened(site) as heard:
            await heard.until("data: DECIDED")

    with streaming(room, tell=decide_after) as (site, _):
        asyncio.run(scene())


def test_a_change_whose_wake_up_was_lost_is_told_at_the_heartbeat(things: Things) -> None:
    things.add("int_1")

    async def scene() -> None:
        async with opened(site) as heard:
            await heard.until(": still here")
            things.decide("int_1")
            await heard.until("data: DECIDED")

    with streaming(Room(), heartbeat_s=0.1) as (site, _):
        asyncio.run(scene())


def test_what_stays_as_it_is_is_not_told_again(things: Things) -> None:
    things.add("int_1")

    async def scene() -> None:
        async with opened(site) as heard:
            for _ in range(3):
                things.notify("tenant_1")
                await asyncio.sleep(0.1)
            await heard.until(": still here")
            assert heard.text.count("data:") == 1

    with streaming(Room()) as (site, _):
        asyncio.run(scene())


def test_a_session_that_ends_is_told_so_and_its_stream_ends(things: Things) -> None:
    things.add("int_1")
    room = Room()

    async def scene() -> None:
        async with opened(site) as heard:
            await heard.until("data: PENDING")
            room.sessions.clear()
            things.notify("tenant_1")
            assert "event: ended" in await heard.to_the_end()
        async with opened(site) as again:
            assert again.head.startswith("HTTP/1.1 302 ")

    with streaming(room) as (site, _):
        asyncio.run(scene())


@pytest.mark.parametrize("session", ["nobody", "", "x y", "../etc"])
def test_whoever_has_no_session_gets_the_answer_of_the_pages(things: Things, session: str) -> None:
    """H-11: the way to the sign-in page, and no stream."""
    things.add("int_1")

    async def scene() -> None:
        async with opened(site, session) as heard:
            assert heard.head.startswith("HTTP/1.1 302 ")

    with streaming(Room()) as (site, app):
        asyncio.run(scene())
        assert app.open == 0


def test_a_person_has_so_many_streams_and_others_theirs(things: Things) -> None:
    things.add("int_1")

    async def scene() -> None:
        async with opened(site) as one, opened(site) as two:
            await one.until("data: PENDING")
            await two.until("data: PENDING")
            async with opened(site) as third, opened(site, "rob") as other:
                assert third.head.startswith("HTTP/1.1 302 ")
                await other.until("data: PENDING")
        await site.until(lambda: app.open == 0)
        async with opened(site) as again:
            await again.until("data: PENDING")

    with streaming(Room(), per_person=2) as (site, app):
        asyncio.run(scene())


def test_hundreds_of_streams_take_no_thread_and_no_connection_each(things: Things) -> None:
    things.add("int_1")
    room = Room(sessions={f"s{number}" for number in range(300)})

    async def listen(session: str) -> None:
        async with opened(site, session) as heard:
            await heard.until("data: PENDING", within_s=30)
            await heard.until("data: DECIDED", within_s=30)

    async def scene() -> None:
        began = (threading.active_count(), things.count_connections())
        streams = [asyncio.create_task(listen(session)) for session in sorted(room.sessions)]
        await site.until(lambda: app.open == 300, within_s=30)
        assert threading.active_count() <= began[0] + 2
        assert things.count_connections() <= began[1] + 1
        things.decide("int_1")
        things.notify("tenant_1")
        await asyncio.gather(*streams)

    with streaming(room) as (site, app):
        asyncio.run(scene())
    assert len(room.threads) == 1


def test_a_server_that_ends_sends_its_streams_home_at_once(things: Things) -> None:
    things.add("int_1")

    async def scene() -> None:
        async with opened(site) as heard:
            await heard.until("data: PENDING")
            site.server.should_exit = True
            text = await heard.to_the_end()
            assert text.endswith("0\r\n\r\n"), "the stream ends in order"
            assert "event: ended" not in text

    with streaming(Room()) as (site, _):
        asyncio.run(scene())
        site.thread.join(5)
        assert not site.thread.is_alive()


def test_while_the_database_is_gone_a_stream_stays_and_then_tells(things: Things) -> None:
    things.add("int_1")
    room = Room()
    tell, is_gone = room.tell, threading.Event()

    def failing(session: str) -> Telling | None:
        if is_gone.is_set():
            raise OperationalError
        return tell(session)

    async def scene() -> None:
        async with opened(site) as heard:
            await heard.until("data: PENDING")
            is_gone.set()
            things.decide("int_1")
            things.notify("tenant_1")
            await heard.until(": still here")
            is_gone.clear()
            await heard.until("data: DECIDED")

    with streaming(room, tell=failing) as (site, _):
        asyncio.run(scene())


def test_other_methods_go_to_the_pages(things: Things) -> None:
    things.add("int_1")

    async def scene() -> None:
        request = (
            "POST /live/ HTTP/1.1\r\nhost: t\r\ncookie: sessionid=rae\r\nconnection: close\r\n"
        )
        reply = await site.send(f"{request}content-length: 0\r\n\r\n".encode())
        assert reply.status == 302

    with streaming(Room()) as (site, _):
        asyncio.run(scene())
        asyncio.run(until(lambda: site.hub.waiting == 0))
