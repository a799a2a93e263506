"""The demo from its first start to its last: people, passwords, pages, and clean ends."""

import json
import re
import shutil
import signal
import socket
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from config.embedded import Cluster
from config.roles import DATABASE, RUNTIME
from tests.examples.browser import Browser
from tests.examples.program import Program, free_port, surroundings

WAITING = "agent │ Click Approve, Edit or Reject there; I wait."
AGAIN = "agent │ I was stopped while waiting, and wait again:"
NAMES = ["rae", "alice", "ada", "otto"]


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder for the demo with a short path that every account can pass through."""
    home = Path(tempfile.mkdtemp(prefix="placet-demo-"))
    home.chmod(0o755)
    yield home
    for process in processes(home):
        process.kill()
    shutil.rmtree(home)


@pytest.fixture
def demo(home: Path) -> Iterator[Callable[..., Program]]:
    """Starts the demo with that folder, at this port and with these variables."""
    started: list[Program] = []

    def demo(port: int, *words: str, **members: str) -> Program:
        env = surroundings(PLACET_DATA_DIR=str(home), **members)
        started.append(Program("manage.py", "demo", "--port", str(port), *words, env=env))
        return started[-1]

    yield demo
    for program in started:
        program.kill()


def processes(home: Path) -> list[psutil.Process]:
    """What runs on behalf of a demo with this folder: its own processes and the database's."""
    found = []
    for process in psutil.process_iter():
        try:
            places = [process.cwd(), process.environ().get("PLACET_DATA_DIR", "")]
        except psutil.Error:
            continue
        if any(place.startswith(str(home)) for place in places):
            found.append(process)
    return found


def passwords(said: str) -> dict[str, str]:
    """The passwords that the demo printed."""
    return dict(re.findall(rf"^    ({'|'.join(NAMES)}) +(\S+) ", said, re.MULTILINE))


def runs(site: str, home: Path) -> list[dict[str, Any]]:
    """The runs of the demo's agent, as its key shows them."""
    key = json.loads((home / "demo" / "credentials.json").read_text())["agent_key"]
    request = urllib.request.Request(
        f"{site}/api/v1/runs", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        return list(json.load(reply)["items"])


def test_the_demo_ends_cleanly_however_it_ends_and_finds_everything_again(
    home: Path, demo: Callable[..., Program], example_environment: None
) -> None:
    port = free_port()
    site = f"http://localhost:{port}"

    starting = demo(port)
    starting.says("Starting: the database, the server and the worker")
    assert starting.ended(signal.SIGTERM) == 0, starting.said
    assert ("Placet is at" in starting.said, processes(home)) == (False, [])

    first = demo(port)
    first.says(WAITING)
    known = passwords(first.said)
    assert (list(known), f"Placet is at  {site}" in first.said) == (NAMES, True)
    assert (home / "demo" / "credentials.json").stat().st_mode & 0o077 == 0
    assert Browser.of(site, "rae", known["rae"]).at == f"{site}/"
    [run] = runs(site, home)
    assert (run["state"], run["owner"]) == ("WAIT_USER", "alice")
    first.send(signal.SIGINT)
    first.says("Ending")
    assert first.ended(signal.SIGINT) == 0, first.said
    assert first.said.endswith("Ended. Starting again finds everything as it is.\n")
    assert processes(home) == []

    killed = demo(port)
    killed.says(AGAIN)
    assert passwords(killed.said) == known
    killed.kill()

    last = demo(port)
    last.says(AGAIN)
    assert "Ending what an earlier demo left running" in last.said
    assert [again["id"] for again in runs(site, home)] == [run["id"]]
    next(each for each in processes(home) if "serve" in each.cmdline()).kill()
    assert last.ended() == 1, last.said
    assert "The process “serve” ended by itself with code -9." in last.said
    assert processes(home) == []


def test_a_port_that_is_taken_is_said(demo: Callable[..., Program], cluster: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = demo(port, DATABASE_URL=cluster.url(user=RUNTIME, dbname=DATABASE))

        assert refused.ended() == 1
    assert f"Port {port} is taken by another program." in refused.said


def test_the_eight_checks_of_a_handover_hold(home: Path, demo: Callable[..., Program]) -> None:
    checking = demo(free_port(), "--checks")

    assert checking.ended() == 0, checking.said
    passed = re.findall(r"^PASS (\w+):", checking.said, re.MULTILINE)
    assert passed == [
        "persisted_wait",
        "wrong_owner",
        "page_unverified",
        "no_permission",
        "stale_callback",
        "expiry",
        "cancelled",
        "unknown",
    ]
    assert processes(home) == []
