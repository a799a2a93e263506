"""The least that lets agents wait and wakes them: what the product's hub is measured beside.

A server of its own process that listens to PostgreSQL, reads the rows whose ids are told there,
and answers who waits for them. It checks nobody and looks for nothing by itself.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import uvicorn

from bench.server import wait_until_ready

CHANNEL = "bare_wake"
READ = "SELECT id, state FROM bare_question WHERE id = ANY(%s)"
FILL = """
CREATE TABLE bare_question AS SELECT id, 'PENDING' AS state FROM approvals_interrupt;
ALTER TABLE bare_question ADD PRIMARY KEY (id);
"""
HEADERS = [(b"content-type", b"application/json")]


class BareHub:
    """An ASGI application of one dictionary."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Wait until the id at the path's end is told; `healthz` is answered at once."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        interrupt_id, state = scope["path"].rpartition("/")[2], ""
        if interrupt_id != "healthz":
            told = self._waiting[interrupt_id] = asyncio.get_running_loop().create_future()
            state = await told
        body = json.dumps({"id": interrupt_id, "state": state}).encode()
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, length]})
        await send({"type": "http.response.body", "body": body})

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        listening = asyncio.create_task(self._listen())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        listening.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _listen(self) -> None:
        connect = psycopg.AsyncConnection.connect
        async with (
            await connect(self._address, autocommit=True) as line,
            await connect(self._address, autocommit=True) as database,
        ):
            await line.execute(f"LISTEN {CHANNEL}")
            async for notify in line.notifies():
                rows = await database.execute(READ, [notify.payload.split(",")])
                for interrupt_id, state in await rows.fetchall():
                    if told := self._waiting.pop(interrupt_id, None):
                        told.set_result(state)


@contextmanager
def bare_hub_running(port: int, address: str) -> Iterator[None]:
    """Serve the bare hub on a port until the block ends."""
    process = subprocess.Popen([sys.executable, "-m", "bench.bare_hub", str(port), address])
    try:
        wait_until_ready(process, port)
        yield
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Be the other process."""
    port, address = sys.argv[1:]
    uvicorn.run(
        BareHub(address),
        host="127.0.0.1",
        port=int(port),
        loop="uvloop",
        http="httptools",
        log_level="critical",
        access_log=False,
        backlog=4096,
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
