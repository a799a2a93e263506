"""The server as a process of its own, with an agent's key and people who answer over HTTP."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from conformance.person import Person
from placet import Client

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery staple"
STARTED_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """A server that listens, what an agent needs of it, and two people.

    Alice owns every run, Rae reviews. `checkpoints` is a PostgreSQL database for frameworks,
    `folder` a place for their files.
    """

    url: str
    key: str
    checkpoints: str
    folder: Path
    alice: Person
    rae: Person
    client: Client


def start(folder: Path) -> subprocess.Popen[str]:
    """Begin to fill and serve a site whose files are in this folder; to be ended by `end`."""
    folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    python = ROOT / ".venv" / "bin" / "python"
    with (folder / "said").open("w") as said:
        return subprocess.Popen(
            [python, "client/conformance/serving.py", folder, str(port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            text=True,
        )


def end(process: subprocess.Popen[str], folder: Path) -> None:
    """End it, and remove its folder."""
    assert process.stdin is not None
    process.stdin.close()
    process.wait(60)
    shutil.rmtree(folder)


@contextmanager
def reached(folder: Path) -> Iterator[Site]:
    """The site of this folder once it serves, with people who signed in."""
    deadline = time.monotonic() + STARTED_WITHIN_S
    made = folder / "site.json"
    while not made.exists() or not _is_ready(json.loads(made.read_text())["url"]):
        assert time.monotonic() < deadline, (folder / "said").read_text()
        time.sleep(0.05)
    told = json.loads(made.read_text())
    with (
        Client(told["url"], told["key"]) as client,
        Person(told["url"], "alice", PASSWORD) as alice,
        Person(told["url"], "rae", PASSWORD) as rae,
    ):
        yield Site(**told, folder=folder, alice=alice, rae=rae, client=client)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").is_success
    except httpx.TransportError:
        return False
