"""Real processes on a PostgreSQL that is durable, for tests that kill them."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from config.embedded import SUPERUSER, Cluster
from config.env import Env
from config.roles import create_roles
from tests.concurrency.outside import Outside, Process


@pytest.fixture(scope="package")
def site() -> Iterator[Outside]:
    """A durable PostgreSQL of its own with a tenant in it; gone with the last of these tests."""
    folder = Path(tempfile.mkdtemp(prefix="placet-crash-"))
    folder.chmod(0o755)
    cluster = Cluster(folder, Env(os.environ).path("PLACET_PG_BINDIR"))
    with cluster:
        address = cluster.url(user=SUPERUSER, dbname="postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            create_roles(connection)
        site = Outside(cluster)
        site.fill()
        yield site
    shutil.rmtree(folder)


@pytest.fixture
def server(site: Outside) -> Iterator[Process]:
    """A server of that site, which a test may kill and start again."""
    with site.server() as server:
        yield server
