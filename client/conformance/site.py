"""The server as a process of its own, with an agent's key and people who answer over HTTP."""

import json
import shutil
import socket
import subprocess
import tempfile
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


@contextmanager
def served() -> Iterator[Site]:
    """A site of its own, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="placet-conformance-"))
    folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    python = ROOT / ".venv" / "bin" / "python"
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [python, "client/conformance/serving.py", folder, str(port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "said").read_text()
        made = json.loads(line)
        url = f"http://127.0.0.1:{port}"
        _until_ready(url)
        with (
            Client(url, made["key"]) as client,
            Person(url, "alice", PASSWORD) as alice,
            Person(url, "rae", PASSWORD) as rae,
        ):
            yield Site(url, made["key"], made["checkpoints"], folder, alice, rae, client)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
        shutil.rmtree(folder)


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while True:
        try:
            if httpx.get(f"{url}/readyz").is_success:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.05)
