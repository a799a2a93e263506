"""A receiver on loopback that keeps every webhook and answers as the test says, in many threads."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Callable[[int], int]
"""The status for the first, second … request; 0 closes the line without an answer."""


@dataclass(frozen=True)
class Webhook:
    """One request: where it went, its headers in lower case, its bytes."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """What came in, and how it is answered; `hang` holds every answer until it is set free."""

    port: int = 0
    status: Answers = lambda _number: 200
    headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b"thanks"
    got: list[Webhook] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)
    on_request: Callable[[Webhook], None] = lambda _webhook: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [webhook.id for webhook in self.got]


@contextmanager
def receiver() -> Iterator[Receiver]:
    kept = Receiver()
    kept.free.set()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            webhook = Webhook(
                self.path, {name.lower(): text for name, text in self.headers.items()}, body
            )
            with lock:
                kept.got.append(webhook)
                number = len(kept.got)
            kept.on_request(webhook)
            kept.free.wait(20)
            status = kept.status(number)
            if status == 0:
                self.close_connection = True
                return
            try:
                self.send_response(status)
                for name, text in kept.headers.items():
                    self.send_header(name, text)
                self.send_header("content-length", str(len(kept.answer)))
                self.end_headers()
                self.wfile.write(kept.answer)
            except OSError:
                pass  # the sender did not wait for it

        def log_request(self, *_args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        kept.port = server.server_address[1]
        serving = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        serving.start()
        try:
            yield kept
        finally:
            kept.free.set()
            server.shutdown()
            serving.join()
