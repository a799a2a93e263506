"""From a click to the agent that waits for it among 10,000, beside a hub that only wakes.

Both on the same database, one after the other, with the same clients. What is compared lasts
from the commit to the answer's last byte at the agent; the click itself is told too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import psycopg

from approvals.models import Interrupt
from bench.agents import Agents, agents_waiting
from bench.bare_hub import CHANNEL, FILL, bare_hub_running
from bench.decision import Browser
from bench.people import People
from bench.report import Report
from bench.server import site_running, superuser
from bench.talk import Line
from bench.waiting import PAUSE_S, decide, fill, percentiles, settle
from config.embedded import SUPERUSER, Cluster
from config.roles import DATABASE

PORT, BARE_PORT = 8511, 8512
SINGLE, BURST = 2, 3
WITH_EACH_NOTIFY = 200
CHANGE = "UPDATE bare_question SET state = 'DECIDED' WHERE id = ANY(%s)"


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print how much longer than on the bare hub one answer and a burst of them take."""
    count, singles, burst = (600, 30, 100) if is_quick else (10_000, 300, 1000)
    report = Report("click")
    people = People.make()
    ids = fill(cluster, people, count)
    parts = ids[:singles], ids[singles : singles + burst], ids[singles + burst :][:singles]
    address = cluster.url(user=SUPERUSER, dbname=DATABASE)
    with (
        superuser(cluster) as database,
        bare_hub_running(BARE_PORT, address),
        agents_waiting(BARE_PORT, "", ids) as agents,
    ):
        database.execute(FILL)
        bare_single, _ = percentiles([_tell(database, agents, [each])[0] for each in parts[0]])
        _, bare_burst = percentiles(_tell(database, agents, parts[1]))
    with site_running(PORT) as site, agents_waiting(PORT, people.key, ids) as agents:
        settle(site)
        single, _ = percentiles([decide(people, agents, [each])[0] for each in parts[0]])
        _, most = percentiles(decide(people, agents, parts[1]))
        clicked, _ = percentiles(_click(people, agents, parts[2]))
    report.note(f"{count} agents wait; a click until its agent knows, p50 {clicked:.1f} ms")
    report.at_most(
        f"commit to answer, {singles} single ones, p50, beside the bare hub",
        single / bare_single,
        SINGLE,
        told=f"{single:.2f} and {bare_single:.2f} ms",
    )
    report.at_most(
        f"commit to answer, {burst} in one commit, p99, beside the bare hub",
        most / bare_burst,
        BURST,
        told=f"{most:.0f} and {bare_burst:.0f} ms",
    )
    report.close()


def _tell(database: psycopg.Connection, agents: Agents, ids: Sequence[str]) -> list[float]:
    """Change and tell these in one commit; the milliseconds until each agent knew."""
    time.sleep(PAUSE_S)
    with database.transaction():
        database.execute(CHANGE, [list(ids)])
        for start in range(0, len(ids), WITH_EACH_NOTIFY):
            payload = ",".join(ids[start : start + WITH_EACH_NOTIFY])
            database.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])
    began = time.monotonic()
    told = agents.told(len(ids))
    assert {each.interrupt_id for each in told} == set(ids)
    return [1000 * (each.at - began) for each in told]


def _click(people: People, agents: Agents, ids: Sequence[str]) -> list[float]:
    """Approve one after another in a signed-in browser; the milliseconds until the agent knew."""
    browser = Browser.of(people.reviewer)
    requests = [browser.approval(Interrupt.objects.get(pk=each)) for each in ids]
    return asyncio.run(_click_each(requests, agents))


async def _click_each(requests: Sequence[bytes], agents: Agents) -> list[float]:
    line, took = await Line.open(PORT), []
    for request in requests:
        began = time.monotonic()
        reply = await line.ask(request)
        assert reply.status == 303, reply
        (told,) = agents.told(1)
        took.append(1000 * (told.at - began))
    line.close()
    return took
