"""The table, its reader, and a server over both."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from config.roles import OWNER, RUNTIME
from runs.waiting.connecting import connection_parameters
from runs.waiting.hub import Hub
from runs.waiting.notifier import NOTIFIER
from tests.waiting.site import Serve, Site, ThingReader, Things, running, until


@pytest.fixture
def things(transactional_db: None) -> Iterator[Things]:
    ours = connection_parameters()
    with psycopg.connect(**{**ours, "user": OWNER}) as owner, psycopg.connect(**ours) as database:
        owner.execute("DROP TABLE IF EXISTS waiting_thing")
        owner.execute("CREATE TABLE waiting_thing (id text PRIMARY KEY, state text, seq int)")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE ON waiting_thing TO {RUNTIME}")
        try:
            yield Things(database)
        finally:
            NOTIFIER.close()
            owner.execute("DROP TABLE waiting_thing")


@pytest.fixture
def reader() -> ThingReader:
    return ThingReader()


@pytest.fixture
def serve(things: Things, reader: ThingReader) -> Serve:
    """Give a function that runs a server over the table and waits until it listens."""

    @contextmanager
    def serve(*, look_every_s: float = 60.0, readers: Any = None) -> Iterator[Site]:
        hub = Hub(
            readers or {"interrupt": reader, "run": reader, "events": reader},
            look_every_s=look_every_s,
        )
        passed: list[str] = []

        def django(environ: dict[str, Any], start_response: Any) -> list[bytes]:
            passed.append(f"{environ['REQUEST_METHOD']} {environ['QUERY_STRING']}")
            body = b'{"code":"invalid_request"}'
            headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
            start_response("422 Unprocessable Content", headers)
            return [body]

        with running(django, hub=hub) as site:
            site.passed = passed
            asyncio.run(until(lambda: things.count_listeners() == 1))
            yield site

    return serve
