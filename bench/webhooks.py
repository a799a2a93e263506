"""Webhooks of one worker a second, job table included, beside a bare aiohttp sender with HMAC.

Both in turns to one receiver on loopback. The worker is the real one: it claims each delivery,
signs and sends it through the guarded sender, each over a connection of its own, and writes the
attempt and the outcome. The bare one keeps its connections and writes nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from django.db import connection

from bench.people import People
from bench.report import Report
from bench.server import MANAGE
from config.embedded import Cluster
from identity.management.reporting import OPERATOR
from runs.clock import database_now
from runs.ids import new_id
from webhooks.lanes import SENDERS
from webhooks.models import Delivery, Endpoint
from webhooks.rules.bodies import body
from webhooks.rules.kinds import WebhookType

PORT = 8515
URL = f"http://127.0.0.1:{PORT}/hook"
TARGET = 0.5
PEERS = Path(__file__).parent / "peers"
WITHIN_S = 120


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, and how many each time."""

    rounds: int
    deliveries: int


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print the ratio of each round and of the rounds in the middle."""
    plan = Plan(1, 500) if is_quick else Plan(3, 6_000)
    report = Report("webhooks")
    python = _with_aiohttp(cluster.data_dir / "aiohttp")
    told = cluster.data_dir / "body.json"
    told.write_bytes(_body(database_now()))
    endpoint, _ = Endpoint.add(People.make().tenant, url=URL, by=OPERATOR)
    ratios = []
    with _receiving(), _working():
        for number in range(plan.rounds):
            own = _own(endpoint, plan.deliveries, first=number * plan.deliveries)
            if python is None:
                report.note(f"round {number + 1}: {own:.0f}/s; aiohttp cannot be installed")
                continue
            bare = _bare(python, plan.deliveries, told)
            ratios.append(own / bare)
            report.note(
                f"round {number + 1}: {own:.0f}/s of one worker, {bare:.0f}/s by bare aiohttp:"
                f" {ratios[-1]:.2f}"
            )
    if ratios:
        report.at_least("one worker / bare aiohttp with HMAC, median", median(ratios), TARGET)
    report.close()


def _own(endpoint: Endpoint, count: int, *, first: int) -> float:
    """How many a second, from the first that arrives until all are written down as delivered."""
    now, told = database_now(), _body(database_now())
    _count()
    Delivery.objects.bulk_create(
        Delivery(
            id=new_id("dlv"),
            tenant_id=endpoint.tenant_id,
            endpoint=endpoint,
            n=first + number,
            type=WebhookType.DECIDED.value,
            body=told,
            due_at=now,
            created_at=now,
        )
        for number in range(count)
    )
    _wait_until_noted()
    ended_at = time.monotonic()
    arrived = _count()
    assert arrived["count"] == count, arrived
    return count / (ended_at - arrived["first_at"])


def _bare(python: Path, count: int, told: Path) -> float:
    """How many a second, from the first that arrives to the last."""
    _count()
    sender = str(PEERS / "aiohttp_sender.py")
    subprocess.run([python, sender, URL, str(count), str(SENDERS), str(told)], check=True)
    arrived = _count()
    assert arrived["count"] == count, arrived
    return count / (arrived["last_at"] - arrived["first_at"])


def _body(at: datetime) -> bytes:
    """What a decision is told with."""
    return body(
        WebhookType.DECIDED,
        at=at,
        data={
            "n": 9,
            "run_id": new_id("run"),
            "run_seq": 4,
            "interrupt_id": new_id("int"),
            "action_id": None,
            "from": "PENDING",
            "to": "DECIDED",
            "revision": 1,
            "digest": "8f15543ca205b50288d669a6087b5b06fcfca5fd8ba8a52f67069b5a363d1b15",
        },
    )


def _wait_until_noted() -> None:
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute("SELECT EXISTS (SELECT FROM webhooks_delivery WHERE due_at IS NOT NULL)")
            (is_waiting,) = cursor.fetchone()
        if not is_waiting:
            assert not Delivery.objects.exclude(state="delivered").exists()
            return
        time.sleep(0.01)
    raise TimeoutError(f"not delivered within {WITHIN_S} s")


def _count() -> dict[str, float]:
    """What arrived since the last time."""
    with urllib.request.urlopen(URL, timeout=10) as answer:
        told: dict[str, float] = json.load(answer)
    return told


def _with_aiohttp(folder: Path) -> Path | None:
    """A Python that has aiohttp, None where it cannot be installed."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = ("-m", "pip", "install", "-q", "-r", str(PEERS / "webhooks.txt"))
    return python if subprocess.run([python, *install], check=False).returncode == 0 else None


@contextmanager
def _receiving() -> Iterator[None]:
    with _running([sys.executable, "-m", "bench.hook_receiver", str(PORT)], os.environ):
        until = time.monotonic() + 10
        while True:
            try:
                _count()
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.05)
            else:
                yield
                return


@contextmanager
def _working() -> Iterator[None]:
    allowed = {"PLACET_WEBHOOK_ALLOW": "127.0.0.0/8", "PLACET_WEBHOOK_ALLOW_HTTP": "true"}
    with _running([*MANAGE, "worker"], os.environ | allowed):
        yield


@contextmanager
def _running(command: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)
