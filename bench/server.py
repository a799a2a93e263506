"""A throw-away database with production durability, and the real server over it.

Everything is in a temporary folder and gone at the end. Settings are read from the environment,
so `database_running` comes before anything of Django is imported.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from config.embedded import SUPERUSER, Cluster
from config.env import Env
from config.roles import DATABASE, OWNER, RUNTIME, create_roles

ROOT = Path(__file__).resolve().parent.parent
MANAGE = (sys.executable, str(ROOT / "manage.py"))
STARTED_WITHIN_S = 60


@contextmanager
def database_running() -> Iterator[Cluster]:
    """A migrated cluster of its own, which the environment names; both roles are there."""
    folder = Path(tempfile.gettempdir()) / f"placet-bench-{secrets.token_hex(6)}"
    cluster = Cluster(folder, Env(os.environ).path("PLACET_PG_BINDIR"))
    os.environ |= {
        "DATABASE_URL": cluster.url(user=RUNTIME, dbname=DATABASE),
        "DATABASE_OWNER_URL": cluster.url(user=OWNER, dbname=DATABASE),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PLACET_DATA_DIR": str(folder),
        "PLACET_SECRET_KEY": secrets.token_urlsafe(48),
        "PLACET_RATE_AGENT": "0",
        "PLACET_RATE_LOGIN": "0",
        "PLACET_MAX_PENDING_AGENT": "0",
    }
    try:
        with cluster:
            with superuser(cluster, "postgres") as connection:
                create_roles(connection)
            subprocess.run([*MANAGE, "migrate", "--verbosity", "0"], check=True)
            yield cluster
    finally:
        shutil.rmtree(folder)


@contextmanager
def superuser(cluster: Cluster, dbname: str = DATABASE) -> Iterator[psycopg.Connection[Any]]:
    """A connection that may do everything, in autocommit mode, for filling and for statistics."""
    address = cluster.url(user=SUPERUSER, dbname=dbname)
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


@dataclass(frozen=True, slots=True)
class Site:
    """A server process of its own, as an operator starts it."""

    pid: int
    port: int

    def threads(self) -> int:
        """How many threads it has now."""
        return int(self._status("Threads").split()[0])

    def resident_bytes(self) -> int:
        """How much memory it holds now."""
        return int(self._status("VmRSS").split()[0]) * 1024

    def cpu_s(self) -> float:
        """How much processor time it has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _status(self, name: str) -> str:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(line.split(":", 1)[1] for line in lines if line.startswith(f"{name}:"))


@contextmanager
def site_running(port: int) -> Iterator[Site]:
    """The server of `manage.py serve` on the database of the environment."""
    process = subprocess.Popen([*MANAGE, "serve", "--port", str(port)])
    try:
        wait_until_ready(process, port)
        yield Site(process.pid, port)
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(
    process: subprocess.Popen[bytes], port: int, *, path: str = "/healthz"
) -> None:
    """Return once a server says that it lives; ends the measurement where it does not."""
    deadline = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise SystemExit("The server did not start.")
