"""A site as it looks from outside: processes, an agent with a key, a person with a browser."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from config.embedded import Cluster
from config.roles import DATABASE, OWNER, RUNTIME
from tests.cast import PASSWORD

CHECKOUT = Path(__file__).resolve().parents[2]
_FIRST_PORT = 8400 + 100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
PORTS = range(_FIRST_PORT, _FIRST_PORT + 100)
"""Others for each worker, and none that the system gives away while a server starts again."""
STARTED_WITHIN_S = 60.0
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
PANEL = re.compile(r'role="alert"[^>]* data-code="(\w+)"')
FILL = """
import django
django.setup()
from django.core.management import call_command
call_command("create_tenant", "acme")
call_command("create_user", "alice", tenant="acme", role="member")
call_command("create_user", "rae", tenant="acme", role="reviewer")
call_command("create_agent", "payer", tenant="acme", any_owner=True, json=True)
"""
LOST = (OSError, urllib.error.URLError)
"""How a dead server looks like to its clients."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: bytes
    headers: Message

    @property
    def value(self) -> Any:
        return json.loads(self.body)


def opened(opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> Reply:
    """The answer, whatever its status; one of LOST where there was none."""
    try:
        with opener.open(request, timeout=60) as response:
            return Reply(response.status, response.read(), response.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.read(), error.headers)


@dataclass(slots=True)
class Outside:
    """A site on a cluster of its own; its servers are processes."""

    cluster: Cluster
    key: str = ""
    free_ports: Iterator[int] = field(default_factory=lambda: iter(PORTS))

    def environment(self) -> dict[str, str]:
        """What every process of the site is given."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{CHECKOUT / 'client' / 'src'}",
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": self.cluster.url(user=RUNTIME, dbname=DATABASE),
            "DATABASE_OWNER_URL": self.cluster.url(user=OWNER, dbname=DATABASE),
            "PLACET_SECRET_KEY": "x" * 50,
            "PLACET_PASSWORD": PASSWORD,
            "PLACET_RATE_AGENT": "0",
            "PLACET_RATE_LOGIN": "0",
            "PLACET_MAX_PENDING_RUN": "0",
        }

    def manage(self, *command: str) -> str:
        """Run a command to its end; what it said."""
        return self.python("manage.py", *command)

    def python(self, *words: str) -> str:
        """Run a program to its end; what it said."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=CHECKOUT,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fill(self) -> None:
        """A tenant with Alice, Rae and an agent."""
        self.manage("migrate", "--verbosity", "0")
        *_, agent = self.python("-c", FILL).splitlines()
        self.key = json.loads(agent)["key"]

    @contextmanager
    def server(self, *, port: int | None = None) -> Iterator["Process"]:
        """A server that listens, killed at the end if it lives."""
        port = port or next(port for port in self.free_ports if _is_free(port))
        process = Process(self, port)
        process.start()
        try:
            yield process
        finally:
            process.kill()


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


@dataclass(slots=True)
class Process:
    """One server process, which may be started again."""

    site: Outside
    port: int
    running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.running = subprocess.Popen(
            [sys.executable, "-m", "tests.concurrency.dying_server", str(self.port)],
            cwd=CHECKOUT,
            env=self.site.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + STARTED_WITHIN_S
        while not self.is_ready():
            assert self.running.poll() is None, "the server did not start"
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether it says so."""
        try:
            return opened(_opener(), urllib.request.Request(self.at("/readyz"))).status == 200
        except LOST:
            return False

    def kill(self) -> int:
        """Kill -9, if it has not died before; how it died."""
        assert self.running is not None
        if self.running.poll() is None:
            self.running.send_signal(signal.SIGKILL)
        return self.running.wait(20)

    def at(self, path: str) -> str:
        """The address of a path."""
        return f"http://127.0.0.1:{self.port}{path}"

    def agent(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """One call of the agent."""
        request = urllib.request.Request(
            self.at(f"/api/v1{path}"),
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.site.key}",
                "Content-Type": "application/json",
                **{name.replace("_", "-"): text for name, text in headers.items()},
            },
        )
        return opened(_opener(), request)


def _opener(*handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers)


class Person:
    """Somebody who signed in, with a browser that sends the forms of the pages it got."""

    def __init__(self, process: Process, name: str) -> None:
        self._opener = _opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.process = process
        form = self.form("/login/") | {"login": name, "password": PASSWORD}
        assert self.post("/login/", form).status == 200

    def get(self, path: str) -> Reply:
        """A page."""
        return opened(self._opener, urllib.request.Request(self.process.at(path)))

    def form(self, path: str) -> dict[str, str]:
        """The hidden fields of a page's forms."""
        page = self.get(path).body.decode()
        return {name: unescape(value) for name, value in HIDDEN.findall(page)}

    def post(self, path: str, form: dict[str, str], **headers: str) -> Reply:
        """A form; the page that the answer leads to."""
        request = urllib.request.Request(
            self.process.at(path),
            data=urlencode(form).encode(),
            headers={name.replace("_", "-"): text for name, text in headers.items()},
        )
        return opened(self._opener, request)

    def answer_form(self, interrupt_id: str, decision: str = "approve") -> dict[str, str]:
        """What the button of the question's page sends."""
        return self.form(f"/interrupts/{interrupt_id}/") | {"decision": decision}

    def decide(self, interrupt_id: str, form: dict[str, str], **headers: str) -> Reply:
        """Press it."""
        return self.post(f"/interrupts/{interrupt_id}/decide/", form, **headers)


def told(reply: Reply) -> str | None:
    """The code in the panel of a page."""
    found = PANEL.search(reply.body.decode())
    return found[1] if found else None
