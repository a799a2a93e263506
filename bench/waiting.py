"""Thousands of agents that wait on one server process: its threads, memory and wake-ups.

A wake-up lasts from the commit of the decision to the answer's last byte at the agent; the
decision is made by another process than the one that serves.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import quantiles

from django.db import transaction

from approvals.models import Interrupt
from bench.agents import Agents, agents_waiting
from bench.copies import copy_question, copy_run
from bench.people import People
from bench.recorded import computed_id
from bench.report import Report
from bench.server import Site, site_running, superuser
from config.embedded import Cluster

PORT = 8510
BYTES_EACH = 25_000
WAKE_UP_MS = 10
CALM_S = 2.0
CALM_WITHIN_S = 120
PAUSE_S = 0.02


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print threads, bytes for each agent, and how long single and many wake-ups take."""
    count, singles, burst = (500, 30, 100) if is_quick else (5000, 300, 1000)
    warm = 100
    report = Report("waiting")
    people = People.make()
    ids = fill(cluster, people, warm + count)
    with site_running(PORT) as site:
        with agents_waiting(PORT, people.key, ids[:warm]) as agents:
            settle(site)
            decide(people, agents, ids[:warm])
        settle(site)
        threads, memory = site.threads(), site.resident_bytes()
        with agents_waiting(PORT, people.key, ids[warm:]) as agents:
            settle(site)
            now, each = site.threads(), (site.resident_bytes() - memory) / count
            report.holds(
                f"threads with nobody and with {count} waiting",
                now == threads,
                told=f"{threads} and {now}",
            )
            report.at_most("kB of memory for each agent", each / 1000, BYTES_EACH / 1000)
            report.note(f"{_idle_load(site):.0%} of a processor while everybody waits")
            took = [decide(people, agents, [each])[0] for each in ids[warm : warm + singles]]
            half, most = percentiles(took)
            report.at_most(
                f"ms from commit to answer, {singles} single ones, p50",
                half,
                WAKE_UP_MS,
                told=f"p99 {most:.1f}",
            )
            took = decide(people, agents, ids[warm + singles : warm + singles + burst])
            half, most = percentiles(took)
            report.note(f"{burst} decided in one commit: p50 {half:.0f} ms, p99 {most:.0f} ms")
            report.note(f"threads after that: {site.threads()}")
    report.close()


def fill(cluster: Cluster, people: People, count: int) -> list[str]:
    """The ids of so many open questions, copies of one."""
    original = people.ask(people.run())
    with superuser(cluster) as database:
        database.execute("SET session_replication_role = replica")
        copy_run(database, original.run_id, first=0, count=count)
        copy_question(database, original.pk, first=0, count=count)
        database.execute("VACUUM ANALYZE")
    return [computed_id("int", number) for number in range(count)]


def settle(site: Site) -> None:
    """Wait until the server has dealt with all who came: it then uses little of a processor."""
    deadline = time.monotonic() + CALM_WITHIN_S
    while _idle_load(site) > 0.3 and time.monotonic() < deadline:
        pass


def _idle_load(site: Site) -> float:
    before_s = site.cpu_s()
    time.sleep(CALM_S)
    return (site.cpu_s() - before_s) / CALM_S


def decide(people: People, agents: Agents, ids: Sequence[str]) -> list[float]:
    """Decide these in one commit; the milliseconds until each agent knew."""
    time.sleep(PAUSE_S)
    rows = [Interrupt.objects.get(pk=each) for each in ids]
    committed: list[float] = []
    with transaction.atomic():
        transaction.on_commit(lambda: committed.append(time.monotonic()))
        for row in rows:
            people.approve(row)
    told = agents.told(len(ids))
    assert {each.interrupt_id for each in told} == set(ids)
    return [1000 * (each.at - committed[0]) for each in told]


def percentiles(took: Sequence[float]) -> tuple[float, float]:
    """The median, and what 99 of 100 are below."""
    cuts = quantiles(took, n=100)
    return cuts[49], cuts[98]
