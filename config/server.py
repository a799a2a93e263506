"""The one process that serves people and agents: long polls in front, Django behind.

On SIGTERM and SIGINT whoever waits is answered first, then what is under way ends.
"""

import asyncio
import resource
import signal
import threading
from types import FrameType

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from runs.waiting.hub import Hub
from runs.waiting.route import App

BACKLOG = 4096
DRAIN_WITHIN_S = 15
HEAD_BYTES = 64 * 1024
HEAD_WITHIN_S = 30
KEEP_ALIVE_S = 75

_draining = threading.Event()


def serve(app: App, *, hub: Hub, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; returns once everything under way is answered."""
    _allow_many_files()
    Server(server_config(app, host=host, port=port), hub=hub).run()


def is_draining() -> bool:
    """Whether this process has been told to end; readiness is then false."""
    return _draining.is_set()


def server_config(app: App, *, host: str, port: int) -> uvicorn.Config:
    """Give the settings that every server of ours runs with; logging is left alone."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=BoundedHead,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=DRAIN_WITHIN_S,
    )


class Server(uvicorn.Server):
    """A server that sends the waiting home before it waits for them."""

    def __init__(self, config: uvicorn.Config, *, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; a second Ctrl-C ends at once.

        The signal is not raised again afterwards, so the process ends in the ordinary way
        and whatever runs at exit runs.
        """
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
        _draining.set()

    async def on_tick(self, counter: int) -> bool:
        """Let nobody begin to wait once the end has begun."""
        should_exit = await super().on_tick(counter)
        if should_exit:
            self._hub.drain()
        return should_exit


class BoundedHead(HttpToolsProtocol):
    """HTTP/1.1 whose request head is bounded in size and time; the parser bounds neither."""

    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first request from now on."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the timer go with the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what arrives while a head is not whole."""
        super().data_received(data)
        if self._head_timer is None:
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Expect a whole head from now on."""
        self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Give the request itself all the time it needs."""
        self._stop_timer()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._stop_timer()
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(HEAD_WITHIN_S, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _allow_many_files() -> None:
    """Raise the soft limit of open files: each waiting agent is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
