"""The feed while writers overlap and the worker that numbers is killed: nothing missed or repeated.

The small version of `bench/events.py`: real processes, two readers over HTTP that wait.
"""

import json
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

import placet
from bench.followers import NONE, RECORD, Faults, Follower
from bench.numberers import Numberers, numbering, wait_for
from bench.writers import Task, writing
from config.embedded import SUPERUSER
from config.roles import DATABASE
from tests.concurrency.outside import Outside, Process

EVENTS, WRITERS, KILLS = 800, 8, 3
TAKEN_OVER_S = 10.0
"""Another takes over in well under a second; the rest is a busy machine."""


@pytest.fixture
def numberers(site: Outside, server: Process, tmp_path: Path) -> Iterator[Numberers]:
    """Two workers, of which one numbers."""
    with numbering(2, tmp_path, environment=site.environment()) as numberers:
        yield numberers


def key(site: Outside, name: str, *scopes: str) -> str:
    named = [part for scope in scopes for part in ("--scope", scope)]
    command = ("create_agent", name, "--tenant", "acme", "--any-owner", "--json", *named)
    return str(json.loads(site.manage(*command))["key"])


def test_every_event_is_told_once_in_order_while_numbering_processes_die(
    site: Outside, server: Process, numberers: Numberers
) -> None:
    rng = random.Random(1)
    neighbor, watcher = key(site, "neighbor"), key(site, "watcher", "events")
    task = Task([site.key, neighbor], "alice", EVENTS, WRITERS, seed=1)
    took_over = []
    with ExitStack() as stack:
        readers = [Follower(server.at(""), each) for each in (watcher, site.key)]
        database = stack.enter_context(
            psycopg.connect(site.cluster.url(user=SUPERUSER, dbname=DATABASE), autocommit=True)
        )
        writers = stack.enter_context(writing(task, environment=site.environment()))
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.2, 1.0))
            took_over.append(numberers.kill_active())
            assert len(numberers.active()) == 1
        assert writers.wait(60) == 0
        client = stack.enter_context(placet.Client(server.at(""), site.key))
        last = client.create_run(title="The last one", owner="alice")
        for reader in readers:
            reader.last_run = last.id
        last.finish("succeeded")
        for reader in readers:
            reader.join(30)
            assert not reader.is_alive()
        wait_for(lambda: not database.execute("SELECT 1 FROM audit_unnumbered").fetchall())
        tenant_id, agent_id = _ids(database)
        rows = database.execute(RECORD, [tenant_id]).fetchall()

    own = [row[:3] for row in rows if row[1] is not None and row[3] == agent_id]
    assert len(rows) >= EVENTS
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert Faults.of(readers[0].told, [row[:3] for row in rows]) == NONE
    assert Faults.of(readers[1].told, own) == NONE
    assert max(took_over) < TAKEN_OVER_S


def _ids(database: psycopg.Connection) -> tuple[int, int]:
    row = database.execute(
        "SELECT tenant_id, id FROM identity_agent WHERE name = 'payer'"
    ).fetchone()
    assert row is not None
    return row[0], row[1]
