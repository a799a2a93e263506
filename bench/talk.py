"""HTTP as a client of few instructions: the measurements count the server's cost, not its own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, and the instant when it was whole (`time.monotonic`)."""

    status: int
    body: bytes
    at: float


class Line:
    """A connection that is kept open; one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Line:
        """Connect to the server on this machine."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, request: bytes) -> Reply:
        """Send a whole request and wait for its answer."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode("latin1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await self._reader.readexactly(int(fields.get("content-length", "0")))
        return Reply(int(status.split(" ", 2)[1]), body, time.monotonic())

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def get(path: str, *, key: str) -> bytes:
    """The request of an agent."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n".encode()


def post(path: str, *, cookie: str, form: str) -> bytes:
    """The request of a browser that sends a form."""
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n"
        "content-type: application/x-www-form-urlencoded\r\n"
        f"content-length: {len(form.encode())}\r\n\r\n{form}"
    ).encode()


def post_json(path: str, *, key: str, body: object) -> bytes:
    """The request of an agent that sends a value."""
    text = json.dumps(body)
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(text.encode())}\r\n\r\n{text}"
    ).encode()


async def one_after_another(port: int, requests: Sequence[bytes]) -> list[Reply]:
    """Send requests over one connection, each when the one before it was answered."""
    line = await Line.open(port)
    try:
        return [await line.ask(request) for request in requests]
    finally:
        line.close()
