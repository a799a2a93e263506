"""Receivers of messages as real servers: a mail server, and one for HTTP."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Mailbox:
    """Mails that came, each with the recipients of its envelope; `refuse` answers 451."""

    port: int = 0
    refuse: bool = False
    mails: list[tuple[list[str], EmailMessage]] = field(default_factory=list)

    def take(self, recipients: list[str], raw: bytes) -> None:
        mail = message_from_bytes(raw, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append((recipients, mail))

    @property
    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for _, mail in self.mails]

    @property
    def bodies(self) -> list[str]:
        return [mail.get_content().replace("\r\n", "\n") for _, mail in self.mails]


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """An SMTP server (RFC 5321, as much of it as one sender needs) on a port of its own."""
    box = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            recipients: list[str] = []
            while line := self.rfile.readline().decode().rstrip("\r\n"):
                verb = line[:4].upper()
                if verb == "QUIT":
                    self._say("221 bye")
                    return
                if verb == "RCPT":
                    recipients.append(line.partition("<")[2].partition(">")[0])
                if verb == "DATA":
                    self._data(recipients)
                else:
                    self._say("451 not now" if box.refuse and verb == "MAIL" else "250 ok")

        def _data(self, recipients: list[str]) -> None:
            self._say("354 go on")
            lines = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
            box.take(list(recipients), b"".join(lines))
            recipients.clear()
            self._say("250 taken")

        def _say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    socketserver.ThreadingTCPServer.allow_reuse_address = True
    with _running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        box.port = port
        yield box


@dataclass(frozen=True)
class Posted:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Hook:
    """Requests that came; each is answered with `status`, after `gate` where it is set."""

    port: int = 0
    status: int = 201
    gate: threading.Event | None = None
    posts: list[Posted] = field(default_factory=list)


@contextmanager
def http_server() -> Iterator[Hook]:
    """A server that takes POST on a port of its own."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.posts.append(Posted(self.path, dict(self.headers), body))
            if hook.gate:
                hook.gate.wait(20)
            self.send_response(hook.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    with _running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        hook.port = port
        yield hook


@contextmanager
def _running(server: socketserver.TCPServer) -> Iterator[int]:
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
