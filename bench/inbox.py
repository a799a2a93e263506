"""The inbox of a reviewer for whom 500 questions wait, among many and among ten times as many.

Its very statements are repeated by pgbench on both databases in turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from django.db import connections
from django.test import Client
from psycopg.sql import SQL, Identifier

from approvals.models import Interrupt
from approvals.web.keyset import PAGE_ROWS
from bench.copies import Database, copy_question, copy_run
from bench.people import People
from bench.pgbench import pgbench
from bench.recorded import statements
from bench.report import Report
from bench.server import superuser
from config.embedded import Cluster
from config.roles import DATABASE, RUNTIME
from runs.waiting.notifier import NOTIFIER

PENDING = 500
TARGET = 0.7
CLIENTS = 2
MOST_SORTED = PAGE_ROWS + 2
"""A page, one more to know whether it is the last, and one that a sort by group looks ahead."""
LARGE = "placet_large"
SOONER_OR_LATER = SQL("now() + interval '1 hour' + (k % 500) * interval '1 minute'")


@dataclass(frozen=True, slots=True)
class Plan:
    """How many questions there are, and how often and how long pgbench asks."""

    few: int
    many: int
    rounds: int
    seconds: int


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print queries, plans and rates at both sizes."""
    plan = Plan(5000, 50_000, 1, 2) if is_quick else Plan(100_000, 1_000_000, 5, 5)
    report = Report("inbox")
    people = People.make()
    _fill(cluster, people, plan)
    sizes = {DATABASE: plan.few, LARGE: plan.many}
    looks = {dbname: _look(people, dbname) for dbname in sizes}
    counts = [len(look) for look in looks.values()]
    report.holds(
        f"queries of the page among {plan.few} and {plan.many}",
        counts[0] == counts[1],
        told=f"{counts[0]} and {counts[1]}",
    )
    for dbname, look in looks.items():
        most, plans = _sorts(cluster, dbname, look)
        for number, steps in enumerate(plans, 1):
            report.note(f"plan of query {number} among {sizes[dbname]}: {steps}")
        report.at_most(f"rows in the largest sort among {sizes[dbname]}", most, MOST_SORTED)
    script = cluster.data_dir / "inbox.sql"
    script.write_text(";\n".join(looks[DATABASE]) + ";\n")
    script.chmod(0o644)
    ratios = []
    for number in range(plan.rounds):
        few, many = (_rate(cluster, script, dbname, plan.seconds) for dbname in sizes)
        ratios.append(many / few)
        report.note(f"round {number + 1}: {few:.0f}/s and {many:.0f}/s: {ratios[-1]:.2f}")
    report.at_least("rate among many / among few, median", median(ratios), TARGET)
    report.close()


def _fill(cluster: Cluster, people: People, plan: Plan) -> None:
    """Fill both databases; the larger one begins as a copy of the other."""
    pending, ended = (people.ask(people.run()) for _ in range(2))
    people.approve(ended)
    _let_go()
    with superuser(cluster) as database:
        database.execute("SET session_replication_role = replica")
        copy_run(database, pending.run_id, first=0, count=PENDING)
        copy_question(
            database, pending.pk, first=0, count=PENDING, changed={"expires_at": SOONER_OR_LATER}
        )
        _fill_ended(database, ended, first=PENDING, count=plan.few - PENDING)
    with superuser(cluster, "postgres") as server:
        server.execute(
            SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(LARGE), Identifier(DATABASE))
        )
    with superuser(cluster, LARGE) as database:
        database.execute("SET session_replication_role = replica")
        _fill_ended(database, ended, first=plan.few, count=plan.many - plan.few)


def _fill_ended(database: Database, ended: Interrupt, *, first: int, count: int) -> None:
    copy_run(database, ended.run_id, first=first, count=count)
    copy_question(database, ended.pk, first=first, count=count)
    database.execute("VACUUM ANALYZE")


def _let_go() -> None:
    """Close every connection of this process to the database in use."""
    NOTIFIER.close()
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]


def _look(people: People, dbname: str) -> list[str]:
    """What one look at the inbox sends; the first look fills what a process keeps."""
    _let_go()
    connections["default"].settings_dict["NAME"] = dbname
    client = Client(headers={"host": "localhost"})
    client.force_login(people.reviewer, "django.contrib.auth.backends.ModelBackend")
    for _ in range(2):
        with statements() as sent:
            answer = client.get("/")
        assert answer.status_code == 200 and b"pay_vendor" in answer.content
    return [each.sql for each in sent]


def _sorts(cluster: Cluster, dbname: str, look: list[str]) -> tuple[int, list[str]]:
    """The most rows that any sort of these queries is given, and each query's plan in short."""
    most, plans = 0, []
    with superuser(cluster, dbname) as database:
        for sql in look:
            row = database.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}".encode()).fetchone()
            assert row is not None
            nodes = list(_nodes(row[0][0]["Plan"]))
            plans.append(" < ".join(_named(node) for node in nodes))
            given = [node["Plans"][0] for node in nodes if "Sort" in node["Node Type"]]
            most = max([most, *(int(each["Actual Rows"] * each["Actual Loops"]) for each in given)])
    return most, plans


def _named(node: dict[str, Any]) -> str:
    index = node.get("Index Name")
    return f"{node['Node Type']} ({index})" if index else str(node["Node Type"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from _nodes(below)


def _rate(cluster: Cluster, script: Path, dbname: str, seconds: int) -> float:
    address = cluster.url(user=RUNTIME, dbname=dbname)
    return pgbench(cluster, script, address=address, clients=CLIENTS, seconds=seconds).per_s
