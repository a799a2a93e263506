"""The feed under fire: writers that overlap, readers that wait, and numbering processes that die.

The worker that numbers is killed -9 again and again; what two readers were told over HTTP is then
compared with the record. One reads the whole tenant, one the runs of one of two agents.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles

import psycopg

import placet
from bench.followers import NONE, RECORD, Faults, Follower
from bench.numberers import Numberers, numbering, wait_for
from bench.people import People
from bench.report import Report
from bench.server import site_running, superuser
from bench.writers import Task, writing
from config.embedded import Cluster
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import DEFAULT_SCOPES, Scope

PORT = 8516
WORKERS = 3
WRITERS = 8
PROCESSES = 2
TAKEN_OVER_S = 5
UNHURT_S = 1.0, 4.0
HEARD_MS = 500

STANDING_BY = (
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory_lock%'"
)
WAITING = "SELECT count(*) FROM audit_unnumbered"


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print what the readers missed, heard twice or in the wrong order, and how long all took."""
    events, singles = (2000, 10) if is_quick else (20_000, 100)
    report = Report("events")
    people = People.make()
    watcher = _key(people, "watcher", Scope.EVENTS)
    neighbor = _key(people, "neighbor", *DEFAULT_SCOPES)
    url = f"http://127.0.0.1:{PORT}"
    with ExitStack() as stack:
        database = stack.enter_context(superuser(cluster))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(site_running(PORT))
        numberers = stack.enter_context(numbering(WORKERS, folder))
        readers = [Follower(url, watcher), Follower(url, people.key)]
        client = stack.enter_context(placet.Client(url, people.key))
        began = time.monotonic()
        tasks = [
            Task([people.key, neighbor], "owner", events // PROCESSES, WRITERS // PROCESSES, seed)
            for seed in range(PROCESSES)
        ]
        processes = [stack.enter_context(writing(task)) for task in tasks]
        took_over = _kill_while(
            numberers,
            lambda: any(process.poll() is None for process in processes),
            lambda: _number(database, STANDING_BY) > 0,
        )
        assert all(process.returncode == 0 for process in processes)
        took_s = time.monotonic() - began
        wait_for(lambda: _number(database, WAITING) == 0)
        heard = [_hear(client, readers) for _ in range(singles)]
        _end(client, readers)
        rows = database.execute(RECORD, [people.tenant.pk]).fetchall()
    own = [row[:3] for row in rows if row[1] is not None and row[3] == people.agent.pk]
    report.note(
        f"{len(rows)} events by {WRITERS} writers in {took_s:.0f} s,"
        f" the numbering process killed {len(took_over)} times"
    )
    for name, reader, right in (
        ("of the tenant", readers[0], [row[:3] for row in rows]),
        ("of one agent", readers[1], own),
    ):
        faults = Faults.of(reader.told, right)
        report.holds(
            f"the reader {name}, {len(reader.told)} events",
            faults == NONE,
            told=f"{faults.missing} missed, {faults.repeated} repeated,"
            f" {faults.reordered} reordered, {faults.strange} not in the record",
        )
    report.holds(
        "numbers without a gap",
        [row[0] for row in rows] == list(range(1, len(rows) + 1)),
        told=f"1 to {rows[-1][0]}",
    )
    report.at_most("s from a kill until another numbers, the longest", max(took_over), TAKEN_OVER_S)
    cuts = quantiles(heard, n=100)
    report.at_most(
        f"ms from the answer of a POST to its event at the reader, {singles} single ones, p50",
        cuts[49],
        HEARD_MS,
        told=f"p99 {cuts[98]:.0f}",
    )
    report.close()


def _key(people: People, name: str, *scopes: Scope) -> str:
    return Agent.create(name, tenant=people.tenant, any_owner=True, scopes=scopes, by=OPERATOR)[1]


def _kill_while(
    numberers: Numberers, goes_on: Callable[[], bool], is_ready: Callable[[], bool]
) -> list[float]:
    """Kill whoever numbers while events are written; the seconds of each take-over."""
    rng, took_s = random.Random(7), []
    while goes_on():
        wait_for(is_ready)
        took_s.append(numberers.kill_active())
        time.sleep(rng.uniform(*UNHURT_S))
    return took_s


def _hear(client: placet.Client, readers: Sequence[Follower]) -> float:
    """Begin a run; the milliseconds until the last reader heard of it."""
    counts = [len(reader.told_at) for reader in readers]
    client.create_run(title="Pay", owner="owner")
    answered_at = time.monotonic()
    for reader, count in zip(readers, counts, strict=True):
        wait_for(lambda reader=reader, count=count: len(reader.told_at) > count)  # type: ignore[misc]
    return 1000 * (max(reader.told_at[-1] for reader in readers) - answered_at)


def _end(client: placet.Client, readers: Sequence[Follower]) -> None:
    run = client.create_run(title="The last one", owner="owner")
    for reader in readers:
        reader.last_run = run.id
    run.finish("succeeded")
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive(), "A reader was not told of the end."


def _number(database: psycopg.Connection, sql: str, *values: int) -> int:
    row = database.execute(sql, values or None).fetchone()
    assert row is not None
    return int(row[0])
