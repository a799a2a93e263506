"""A dispatch and its result over HTTP, with an API key, beside the same statements by pgbench.

Both in turns, over the same number of connections, on approvals of their own. Then how many of
these transactions share one flush of the log, where many connections commit at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from django.test import Client

from approvals.models import Interrupt
from approvals.models.dispatching import Wanted, dispatch
from bench.copies import copy_question, copy_run
from bench.executors import LEASE, Use, let_act
from bench.flushes import flushes_so_far
from bench.people import PAYMENT, People
from bench.pgbench import pgbench
from bench.recorded import computed_id, recorded
from bench.report import Report
from bench.server import Site, site_running, superuser
from config.embedded import Cluster
from config.roles import DATABASE, RUNTIME
from placet.protocol.states import ActionState
from runs.models import Action, SigningKey
from runs.models.reporting import report as report_outcome
from runs.rules.actions import Report as Outcome
from runs.rules.lease import NewLease

PORT = 8501
CONNECTIONS = 8
TARGET = 0.30
TRANSACTIONS = 2
"""Of one dispatch and its result."""
FLUSHING = 32
PER_FLUSH = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, and how many approvals each connection uses over HTTP and by pgbench."""

    rounds: int
    over_http: int
    by_pgbench: int
    flushing: int

    @property
    def approvals(self) -> int:
        """How many are needed in all."""
        each_round = CONNECTIONS * (self.over_http + self.by_pgbench)
        return self.rounds * (each_round + FLUSHING * self.flushing)


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print the ratio of each round and of the rounds in the middle, and the flushes."""
    # Many short turns, so that whatever else the machine does meets both.
    plan = Plan(1, 30, 100, 20) if is_quick else Plan(15, 50, 160, 30)
    told = Report("dispatch")
    people = People.make()
    approved = _fill(cluster, people, plan.approvals)
    whole = recorded(lambda: _over_client(people, approved[0]), cluster.data_dir / "whole.sql")
    alone = recorded(lambda: _act(people, approved[1]), cluster.data_dir / "alone.sql")
    ratios, used = [], 0
    with site_running(PORT) as site:
        for number in range(plan.rounds):
            http, cpu_ms = _over_http(site, people.key, plan.over_http, first=used)
            used += CONNECTIONS * plan.over_http
            half = plan.by_pgbench // 2
            rates = []
            for script in (whole, alone):
                rates.append(_by_pgbench(cluster, script, half, first=used))
                used += CONNECTIONS * half
            ratios.append(http / rates[0])
            told.note(
                f"round {number + 1}: {http:.0f}/s over HTTP ({cpu_ms:.1f} ms of the server's"
                f" processor time each), {rates[0]:.0f}/s by pgbench: {ratios[-1]:.2f}"
                f" (the commands' own statements alone: {rates[1]:.0f}/s, {http / rates[1]:.2f})"
            )
    told.at_least(
        f"over HTTP / by pgbench, {CONNECTIONS} connections, median", median(ratios), TARGET
    )
    for number in range(plan.rounds):
        per_flush, rate = _per_flush(cluster, alone, plan.flushing, first=used)
        used += FLUSHING * plan.flushing
        what = f"transactions a flush, {FLUSHING} connections, round {number + 1}"
        told.at_least(what, per_flush, PER_FLUSH, told=f"{rate:.0f}/s")
    told.close()


def _fill(cluster: Cluster, people: People, count: int) -> list[Interrupt]:
    """Approvals enough; the first two are real ones, to be recorded, the others their copies."""
    SigningKey.in_use()  # made once, and not in the commands that are recorded
    approved = [people.ask(people.run()) for _ in range(2)]
    for question in approved:
        people.approve(question)
    with superuser(cluster) as database:
        database.execute("SET session_replication_role = replica")
        copy_run(database, approved[0].run_id, first=0, count=count)
        copy_question(database, approved[0].pk, first=0, count=count)
        database.execute("VACUUM ANALYZE")
    return approved


def _over_client(people: People, approved: Interrupt) -> None:
    """Use an approval through the whole of Django, and say that it was done."""
    headers = {"authorization": f"Bearer {people.key}", "host": "localhost"}

    def post(path: str, body: dict[str, Any]) -> Any:
        answer = Client().post(f"/api/v1{path}", body, "application/json", headers=headers)
        assert answer.status_code in (200, 201), answer.content
        return answer.json()

    body = {"interrupt_id": approved.pk, "args": PAYMENT, "lease": LEASE}
    action = post(f"/runs/{approved.run_id}/dispatch", body)
    done = {"fencing_token": 1, "outcome": "succeeded", "result": "paid"}
    post(f"/actions/{action['id']}/result", done)


def _act(people: People, approved: Interrupt) -> None:
    """The two commands alone."""
    lease = NewLease(str(LEASE["holder"]), 600)
    wanted = Wanted(interrupt_id=approved.pk, args=PAYMENT, lease=lease)
    action = dispatch(approved.run_id, wanted, agent=people.agent)
    assert isinstance(action, Action), action
    done = Outcome(state=ActionState.SUCCEEDED, fencing_token=1, result='"paid"')
    assert isinstance(report_outcome(action, done, agent=people.agent), Action)


def _over_http(site: Site, key: str, each: int, *, first: int) -> tuple[float, float]:
    """Pairs a second, and the server's processor time for one in milliseconds."""
    executors: list[list[Use]] = []
    for place in range(CONNECTIONS):
        numbers = range(first + place * each, first + (place + 1) * each)
        executors.append([(computed_id("run", n), computed_id("int", n)) for n in numbers])
    before_s = site.cpu_s()
    acted = let_act(site.port, key, executors, args=PAYMENT)
    count = each * CONNECTIONS
    assert acted.by_status == {"201": count, "200": count}, acted.by_status
    return count / acted.took_s, 1000 * (site.cpu_s() - before_s) / count


def _by_pgbench(cluster: Cluster, script: Path, each: int, *, first: int) -> float:
    address = cluster.url(user=RUNTIME, dbname=DATABASE)
    ran = pgbench(cluster, script, address=address, clients=CONNECTIONS, each=each, first=first)
    return ran.per_s


def _per_flush(cluster: Cluster, script: Path, each: int, *, first: int) -> tuple[float, float]:
    """Transactions a flush, and pairs a second."""
    address = cluster.url(user=RUNTIME, dbname=DATABASE)
    with superuser(cluster) as database:
        database.execute("CHECKPOINT")
        before = flushes_so_far(database)
        ran = pgbench(cluster, script, address=address, clients=FLUSHING, each=each, first=first)
        flushes = flushes_so_far(database) - before
    return TRANSACTIONS * ran.transactions / flushes, ran.per_s
