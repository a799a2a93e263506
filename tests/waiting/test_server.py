"""The server around Django: bodies, threads, long answers, heads, and the end."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config.server import is_draining
from runs.waiting.hub import Hub
from tests.waiting.site import Site, running, until

StartResponse = Callable[..., Any]


class Echo:
    """A WSGI application that says what reached it."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.closed = threading.Event()
        self.parts = 0

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Any:
        self.requests.append(environ)
        match environ["PATH_INFO"]:
            case "/long":
                start_response("200 OK", [("content-type", "text/plain")])
                return self._long()
            case "/fault":
                raise ValueError("a fault of ours")
        body = environ["wsgi.input"].read()
        start_response("200 OK", [("content-length", str(len(body)))])
        return [body]

    def _long(self) -> Iterator[bytes]:
        try:
            for _ in range(2000):
                self.parts += 1
                yield b"x" * 10_000
        finally:
            self.closed.set()


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def site(transactional_db: None, echo: Echo) -> Iterator[Site]:
    with running(echo, hub=Hub({}), threads=1, most_body_bytes=1000) as site:
        yield site


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: test", "connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_a_body_comes_through_whole(site: Site) -> None:
    reply = asyncio.run(site.send(post("/echo", b"hello", "content-length: 5")))
    assert (reply.status, reply.body) == (200, b"hello")


def test_a_chunked_body_comes_through_whole_with_its_length(site: Site, echo: Echo) -> None:
    chunks = b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
    reply = asyncio.run(site.send(post("/echo", chunks, "transfer-encoding: chunked")))

    assert (reply.status, reply.body) == (200, b"hello")
    assert echo.requests[0]["CONTENT_LENGTH"] == "5"


@pytest.mark.parametrize(
    ("body", "header", "length"),
    [
        (b"x" * 1001, "content-length: 1001", "1001"),
        (b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n", "transfer-encoding: chunked", "1001"),
    ],
)
def test_too_large_a_body_is_seen_by_its_length_and_cannot_be_read(
    site: Site, echo: Echo, body: bytes, header: str, length: str
) -> None:
    reply = asyncio.run(site.send(post("/echo", body, header)))

    assert reply.status == 500
    assert echo.requests[0]["CONTENT_LENGTH"] == length


def test_a_slow_body_takes_no_thread(site: Site) -> None:
    async def scene() -> None:
        _, slow = await asyncio.open_connection("127.0.0.1", site.port)
        slow.write(post("/echo", b"hel", "content-length: 5"))
        await slow.drain()
        reply = await asyncio.wait_for(site.send(post("/echo", b"quick", "content-length: 5")), 2)
        slow.close()
        assert reply.body == b"quick"

    asyncio.run(scene())


def test_a_body_that_breaks_off_never_reaches_the_application(site: Site, echo: Echo) -> None:
    async def scene() -> None:
        _, broken = await asyncio.open_connection("127.0.0.1", site.port)
        broken.write(post("/echo", b"decision=app", "content-length: 16"))
        await broken.drain()
        broken.close()
        await broken.wait_closed()
        await site.get("/after")

    asyncio.run(scene())
    assert [request["PATH_INFO"] for request in echo.requests] == ["/after"]


def test_a_body_that_does_not_arrive_in_time_is_408(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.bridge.BODY_WITHIN_S", 0.2)
    reply = asyncio.run(site.send(post("/echo", b"hel", "content-length: 5")))
    assert reply.status == 408


def test_a_long_answer_is_sent_while_it_is_made(site: Site) -> None:
    reply = asyncio.run(site.get("/long"))
    assert reply.status == 200
    assert reply.body.count(b"x") == 20_000_000


def test_a_long_answer_ends_with_its_reader(site: Site, echo: Echo) -> None:
    async def scene() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"GET /long HTTP/1.1\r\nhost: test\r\n\r\n")
        await reader.read(1000)
        writer.transport.abort()
        await until(echo.closed.is_set)

    asyncio.run(scene())
    assert echo.parts < 2000


def test_a_fault_of_the_application_is_500_and_the_thread_lives_on(site: Site) -> None:
    async def scene() -> None:
        assert (await site.get("/fault")).status == 500
        assert (await site.get("/echo")).status == 200

    asyncio.run(scene())


def test_the_environ_holds_bytes_and_no_disguised_headers(site: Site, echo: Echo) -> None:
    request = (
        b"GET /a%20b%FF?q=%FF&r=%C3%A9 HTTP/1.1\r\nhost: test\r\nconnection: close\r\n"
        b"x_forwarded_proto: https\r\nx-a: 1\r\nx-a: 2\r\ncookie: a=1\r\ncookie: b=2\r\n\r\n"
    )
    asyncio.run(site.send(request))
    environ = echo.requests[0]

    assert environ["PATH_INFO"] == "/a b\xff"
    assert environ["QUERY_STRING"] == "q=%FF&r=%C3%A9"
    assert environ["HTTP_X_A"] == "1,2"
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert "HTTP_X_FORWARDED_PROTO" not in environ


def test_a_head_without_end_is_cut_off(site: Site) -> None:
    async def scene() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"GET / HTTP/1.1\r\nx-endless: " + b"x" * 200_000)
        try:
            return await asyncio.wait_for(reader.read(), 5)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    assert asyncio.run(scene()) == b""


def test_a_head_that_does_not_come_is_not_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.server.HEAD_WITHIN_S", 0.2)

    async def scene() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"GET / HT")
        read = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        return read

    assert asyncio.run(scene()) == b""


def test_the_signal_to_end_is_seen_by_readiness_and_ends_the_server(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.server._draining", threading.Event())
    assert not is_draining()

    site.server.handle_exit(signal.SIGTERM, None)

    assert is_draining()
    site.thread.join(5)
    assert not site.thread.is_alive()
    assert site.hub.is_draining
