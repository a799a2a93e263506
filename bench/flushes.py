"""How many decisions, and how many questions asked, share one flush of the log to disk.

The very statements of one decision and one asking are repeated by pgbench, on rows of their own.
Commands share a flush only where one commits while another's flush is under way, so the figures
hang on how long a flush lasts beside a command's other work. Two more tell what this machine
gives: a plain INSERT, and the same commands where `commit_delay` makes each flush wait for others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from bench.copies import Database, copy_question, copy_run
from bench.people import People
from bench.pgbench import pgbench
from bench.recorded import COUNT, recorded
from bench.report import Report
from bench.server import superuser
from config.embedded import Cluster
from config.roles import DATABASE, RUNTIME

TARGETS = {("decide", 8): 2.0, ("decide", 32): 4.0, ("ask", 8): 1.5, ("ask", 32): 2.5}
CONNECTIONS = (8, 32)
DELAY_US = 2000
FLUSHES = {
    True: "SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal'",
    False: "SELECT wal_sync FROM pg_stat_wal",
}
IO_STATISTICS_SINCE = 180_000
STATISTICS_SETTLE_S = 1.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, and how many transactions in all each time."""

    rounds: int
    transactions: int


@dataclass(slots=True)
class Bench:
    """The scripts, the rows copied for them, and how many of those are used up."""

    cluster: Cluster
    plan: Plan
    scripts: dict[str, Path]
    used: int = 0

    def per_flush(self, name: str, clients: int) -> tuple[float, str]:
        """Transactions a flush, and in words how many a second."""
        address = self.cluster.url(user=RUNTIME, dbname=DATABASE)
        each = self.plan.transactions // clients
        with superuser(self.cluster) as database:
            database.execute("CHECKPOINT")
            before = flushes_so_far(database)
            ran = pgbench(
                self.cluster,
                self.scripts[name],
                address=address,
                clients=clients,
                each=each,
                first=self.used,
            )
            flushes = flushes_so_far(database) - before
        self.used += self.plan.transactions
        return ran.transactions / flushes, f"{ran.per_s:.0f}/s"


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print each number of commands a flush beside what it should be."""
    plan = Plan(1, 640) if is_quick else Plan(3, 3200)
    report = Report("flushes")
    bench = _prepare(cluster, plan)
    for clients in CONNECTIONS:
        figure, told = bench.per_flush("plain", clients)
        report.note(f"plain INSERTs a flush, {clients} connections: {figure:.2f} ({told})")
    for number, (name, clients) in product(range(plan.rounds), TARGETS):
        figure, told = bench.per_flush(name, clients)
        what = f"{name}, {clients} connections, round {number + 1}"
        report.at_least(f"commands a flush: {what}", figure, TARGETS[name, clients], told=told)
    with superuser(cluster) as database:
        database.execute(f"ALTER SYSTEM SET commit_delay = {DELAY_US}".encode())
        database.execute("SELECT pg_reload_conf()")
    for name, clients in TARGETS:
        figure, told = bench.per_flush(name, clients)
        what = f"{name}, {clients} connections, commit_delay {DELAY_US} µs"
        report.note(f"commands a flush: {what}: {figure:.2f} ({told})")
    report.close()


def _prepare(cluster: Cluster, plan: Plan) -> Bench:
    """Record both commands; rows are copied before the originals are worked on."""
    people = People.make()
    fresh, waiting = people.run(), people.ask(people.run())
    plain = cluster.data_dir / "plain.sql"
    with superuser(cluster) as database:
        database.execute("CREATE TABLE bench_plain (k bigint PRIMARY KEY, body text)")
        database.execute(f"GRANT INSERT ON bench_plain TO {RUNTIME}".encode())
        database.execute("SET session_replication_role = replica")
        used = len(CONNECTIONS) * plan.transactions
        for name, _ in [*TARGETS] * (plan.rounds + 1):
            original = fresh.pk if name == "ask" else waiting.run_id
            copy_run(database, original, first=used, count=plan.transactions)
            if name == "decide":
                copy_question(database, waiting.pk, first=used, count=plan.transactions)
            used += plan.transactions
        database.execute("VACUUM ANALYZE")
    plain.write_text(f"{COUNT}INSERT INTO bench_plain VALUES (:k, repeat('x', 200));\n")
    plain.chmod(0o644)
    scripts = {
        "plain": plain,
        "ask": recorded(lambda: people.ask(fresh), cluster.data_dir / "ask.sql"),
        "decide": recorded(lambda: people.approve(waiting), cluster.data_dir / "decide.sql"),
    }
    return Bench(cluster, plan, scripts)


def flushes_so_far(database: Database) -> int:
    """The flushes of the log so far; the server tells of them with a delay."""
    time.sleep(STATISTICS_SETTLE_S)
    sql = FLUSHES[database.info.server_version >= IO_STATISTICS_SINCE]
    row = database.execute(sql.encode()).fetchone()
    assert row is not None
    return int(row[0])
