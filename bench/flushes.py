"""How many decisions, and how many questions asked, share one flush of the log to disk.

The very statements of one decision and one asking are repeated by pgbench, on rows of their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.copies import copy_question, copy_run
from bench.people import People
from bench.pgbench import pgbench
from bench.recorded import recorded
from bench.report import Report
from bench.server import superuser
from config.embedded import Cluster
from config.roles import DATABASE, RUNTIME

TARGETS = {("decide", 8): 2.0, ("decide", 32): 4.0, ("ask", 8): 1.5, ("ask", 32): 2.5}
FLUSHES = {
    True: "SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal'",
    False: "SELECT wal_sync FROM pg_stat_wal",
}
STATISTICS_SETTLE_S = 1.5
IO_STATISTICS_SINCE = 180_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, and how many transactions in all at each number of connections."""

    rounds: int
    transactions: int


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print each number of commands a flush beside what it should be."""
    plan = Plan(1, 640) if is_quick else Plan(3, 6400)
    report = Report("flushes")
    people = People.make()
    scripts = _scripts(cluster, people, plan)
    used = 0
    for number in range(plan.rounds):
        for (command, clients), target in TARGETS.items():
            each = plan.transactions // clients
            ratio, per_s = _ratio(cluster, scripts[command], clients, each, first=used)
            report.at_least(
                f"{command}s a flush, {clients:2} connections, round {number + 1}",
                ratio,
                target,
                told=f"{per_s:.0f}/s",
            )
            used += plan.transactions
    report.close()


def _scripts(cluster: Cluster, people: People, plan: Plan) -> dict[str, Path]:
    """One script a command; rows are copied before the original is worked on."""
    count = plan.rounds * plan.transactions * len(TARGETS)
    fresh = people.run()
    waiting = people.ask(people.run())
    with superuser(cluster) as database:
        database.execute("SET session_replication_role = replica")
        for first in range(0, count, plan.transactions):
            command = list(TARGETS)[first // plan.transactions % len(TARGETS)][0]
            original = fresh.pk if command == "ask" else waiting.run_id
            copy_run(database, original, first=first, count=plan.transactions)
            if command == "decide":
                copy_question(database, waiting.pk, first=first, count=plan.transactions)
        database.execute("VACUUM ANALYZE")
    return {
        "ask": recorded(lambda: people.ask(fresh), cluster.data_dir / "ask.sql"),
        "decide": recorded(lambda: people.approve(waiting), cluster.data_dir / "decide.sql"),
    }


def _ratio(
    cluster: Cluster, script: Path, clients: int, each: int, *, first: int
) -> tuple[float, float]:
    address = cluster.url(user=RUNTIME, dbname=DATABASE)
    with superuser(cluster) as database:
        database.execute("CHECKPOINT")
        before = _flushes(database)
        ran = pgbench(cluster, script, address=address, clients=clients, each=each, first=first)
        flushes = _flushes(database) - before
    return ran.transactions / flushes, ran.per_s


def _flushes(database: psycopg.Connection[Any]) -> int:
    """The flushes of the log so far; the server tells of them with a delay."""
    time.sleep(STATISTICS_SETTLE_S)
    sql = FLUSHES[database.info.server_version >= IO_STATISTICS_SINCE]
    row = database.execute(sql.encode()).fetchone()
    assert row is not None
    return int(row[0])
