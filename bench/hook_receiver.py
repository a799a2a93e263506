"""The receiver of webhooks: takes everything, answers at once, and knows when.

A process of its own. `POST` anywhere is counted; `GET` gives `{count, first_at, last_at}` on the
machine's monotonic clock and begins anew.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

import uvloop

TAKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

times: list[float] = []


class Hook(asyncio.Protocol):
    """One connection, kept alive where the sender wants that."""

    def __init__(self) -> None:
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to read."""
        self._line = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._read += data
        while True:
            head, end, rest = self._read.partition(b"\r\n\r\n")
            lower = head.lower()
            length = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if not end or len(rest) < length:
                return
            self._read = rest[length:]
            if head.startswith(b"GET"):
                self._tell()
            else:
                times.append(time.monotonic())
                self._line.write(TAKEN)
            if b"connection: close" in lower:
                self._line.close()
                return

    def _tell(self) -> None:
        told = {
            "count": len(times),
            "first_at": times[0] if times else 0,
            "last_at": times[-1] if times else 0,
        }
        times.clear()
        body = json.dumps(told).encode()
        self._line.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Hook, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
