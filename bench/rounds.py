"""Ask, answer, go on: whole round trips, beside DBOS and LangGraph's development server.

Placet's go over HTTP: the agent asks and waits, a signed-in person approves by the form of the
page. The peers are installed into a throw-away environment; where that fails, nothing is
compared. DBOS uses the same PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from approvals.models import Interrupt
from bench.decision import Browser
from bench.people import PAYMENT, People
from bench.report import Report
from bench.server import site_running, superuser, wait_until_ready
from bench.talk import Line, get, post_json
from config.embedded import SUPERUSER, Cluster

PORT, PEER_PORT = 8513, 8514
TOGETHER = 8
PEERS = Path(__file__).parent / "peers"
PEER_DATABASE = "bench_dbos"


@dataclass(frozen=True, slots=True)
class Rounds:
    """How long each round trip took in milliseconds, and all of them in seconds."""

    took_ms: Sequence[float]
    took_s: float

    @property
    def per_s(self) -> float:
        """Round trips in a second."""
        return len(self.took_ms) / self.took_s


@dataclass(frozen=True, slots=True)
class Peers:
    """An environment with the peers, and a copy of their scripts where they may leave files."""

    python: Path
    scripts: Path

    @classmethod
    def installed(cls, folder: Path) -> Peers | None:
        """Make both, None where the peers cannot be installed."""
        venv.create(folder / "venv", with_pip=True)
        made = cls(folder / "venv" / "bin" / "python", folder / "peers")
        shutil.copytree(PEERS, made.scripts)
        install = ("-m", "pip", "install", "-q", "-r", str(PEERS / "requirements.txt"))
        return (
            made if subprocess.run([made.python, *install], check=False).returncode == 0 else None
        )

    def rounds(self, script: str, *given: object) -> Rounds:
        """What a script measured."""
        said = subprocess.run(
            [self.python, str(self.scripts / script), *(str(each) for each in given)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        (line,) = (line for line in said.stdout.splitlines() if line.startswith("rounds:"))
        return Rounds(**json.loads(line.removeprefix("rounds:")))


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print rates beside DBOS and times beside LangGraph."""
    count, slow_count = (80, 8) if is_quick else (2000, 80)
    report = Report("rounds")
    people = People.make()
    browser = Browser.of(people.reviewer)
    with site_running(PORT):
        asyncio.run(_rounds(people, browser, 2 * TOGETHER, TOGETHER))
        ours = asyncio.run(_rounds(people, browser, count, TOGETHER))
        alone = asyncio.run(_rounds(people, browser, slow_count, 1))
    report.note(f"{ours.per_s:.0f}/s with {TOGETHER} at once, {median(alone.took_ms):.1f} ms alone")
    peers = Peers.installed(cluster.data_dir / "peers")
    if peers is None:
        report.note("the peers cannot be installed here, so nothing is compared")
        report.close()
        return
    with superuser(cluster, "postgres") as database:
        database.execute(f"CREATE DATABASE {PEER_DATABASE}")
    address = cluster.url(user=SUPERUSER, dbname=PEER_DATABASE)
    dbos = peers.rounds("dbos_rounds.py", address, count, TOGETHER)
    report.at_least(
        f"round trips a second beside DBOS send and recv, {TOGETHER} at once",
        ours.per_s / dbos.per_s,
        3,
        told=f"{ours.per_s:.0f} and {dbos.per_s:.0f} a second",
    )
    with _langgraph_running(peers):
        graph = peers.rounds("langgraph_rounds.py", PEER_PORT, slow_count, 1)
    report.at_most(
        "median time of one beside LangGraph's development server",
        median(alone.took_ms) / median(graph.took_ms),
        1 / 20,
        told=f"{median(alone.took_ms):.1f} and {median(graph.took_ms):.1f} ms",
    )
    report.close()


async def _rounds(people: People, browser: Browser, count: int, together: int) -> Rounds:
    async def some(each: int) -> list[float]:
        agent, person = await Line.open(PORT), await Line.open(PORT)
        took = [await _round_trip(people, browser, agent, person) for _ in range(each)]
        agent.close()
        person.close()
        return took

    began = time.monotonic()
    took = await asyncio.gather(*(some(count // together) for _ in range(together)))
    return Rounds([one for mine in took for one in mine], time.monotonic() - began)


async def _round_trip(people: People, browser: Browser, agent: Line, person: Line) -> float:
    began = time.monotonic()
    question = {"call_id": "call-1", "tool": "pay_vendor", "args": PAYMENT}
    run = {"title": "Pay the vendor", "owner": people.owner.username, "interrupts": [question]}
    asked = await agent.ask(post_json("/api/v1/runs", key=people.key, body=run))
    assert asked.status == 201, asked
    (told,) = json.loads(asked.body)["interrupts"]
    waiting = asyncio.ensure_future(
        agent.ask(get(f"/api/v1/interrupts/{told['id']}?wait_s=55", key=people.key))
    )
    shown = Interrupt(
        id=told["id"], round=told["round"], asked_sha256=told["asked_sha256"], handback=0
    )
    clicked = await person.ask(browser.approval(shown))
    assert clicked.status == 303, clicked
    answered = await waiting
    assert json.loads(answered.body)["state"] == "DECIDED", answered
    return 1000 * (time.monotonic() - began)


@contextmanager
def _langgraph_running(peers: Peers) -> Iterator[None]:
    process = subprocess.Popen(
        [
            *(str(peers.python.with_name("langgraph")), "dev", "--no-browser", "--no-reload"),
            *("--port", str(PEER_PORT), "--n-jobs-per-worker", str(TOGETHER)),
        ],
        cwd=peers.scripts,
        env=os.environ | {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_ready(process, PEER_PORT, path="/ok")
        yield
    finally:
        process.terminate()
        process.wait()
