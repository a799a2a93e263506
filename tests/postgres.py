"""pytest plugin: one throw-away PostgreSQL server for the whole run, gone at its end.

Loaded with `-p tests.postgres`, before Django's settings are read. It sets DATABASE_URL and
DATABASE_OWNER_URL, whatever they were: tests never touch an operator's database. Workers of
pytest-xdist inherit them and make databases of their own on the one server. A run that was
killed leaves a server behind; the next run stops it and removes its folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from django.db import connections

from config.embedded import SUPERUSER, Cluster
from config.env import Env
from config.roles import DATABASE, OWNER, RUNTIME, create_roles

_FOLDER = "PLACET_TEST_SERVER"
_PREFIX = "placet-test-"
_ROOMS_OF_SQL = frozenset(
    {
        "approvals",
        "audit",
        "concurrency",
        "identity",
        "notices",
        "runs",
        "test_database_guards.py",
        "test_repository.py",
        "waiting",
        "webhooks",
    }
)
_DATABASE_FIXTURES = frozenset({"db", "transactional_db", "django_db_setup", "cluster"})


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """Name the server before any other plugin or conftest reads the settings."""
    if not _is_worker():
        folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(6)}"
        os.environ[_FOLDER] = str(folder)
        cluster = _cluster(folder)
        os.environ["DATABASE_URL"] = cluster.url(user=RUNTIME, dbname=DATABASE)
        os.environ["DATABASE_OWNER_URL"] = cluster.url(user=OWNER, dbname=DATABASE)
    return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--database`."""
    parser.addoption(
        "--database", action="store_true", help="run only what says something of PostgreSQL"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart() -> None:
    """Start the server before the workers start."""
    if not _is_worker():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)  # the run then ends as by Ctrl-C
        _remove_leftovers()
        cluster = _cluster(Path(os.environ[_FOLDER]))
        cluster.start()
        _running.append(cluster)
        _prepare(cluster)


def pytest_unconfigure() -> None:
    """Stop the server and remove its folder, also when the run was interrupted."""
    if not _is_worker():
        for cluster in _running:
            cluster.stop()
            shutil.rmtree(cluster.data_dir)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--database`, leave out what says nothing of PostgreSQL."""
    if config.getoption("--database"):
        kept = [item for item in items if _uses_database(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Give the run's server, for addresses of any role and database; leave it running."""
    return _cluster(Path(os.environ[_FOLDER]))


def connect_as(role: str) -> None:
    """Let Django's connections of this process be those of `role` from now on."""
    django = connections["default"]
    django.close()
    django.close_pool()  # type: ignore[attr-defined]
    django.settings_dict["USER"] = role


_running: list[Cluster] = []


def _is_worker() -> bool:
    return "PYTEST_XDIST_WORKER" in os.environ


def _cluster(folder: Path) -> Cluster:
    return Cluster(folder, Env(os.environ).path("PLACET_PG_BINDIR"), durable=False)


def _prepare(cluster: Cluster) -> None:
    """Make the roles; tests' owner also makes databases, and empties guarded tables."""
    address = cluster.url(user=SUPERUSER, dbname="postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        create_roles(connection, can_create_databases=True)
        connection.execute(f"GRANT SET ON PARAMETER session_replication_role TO {OWNER}".encode())


def _remove_leftovers() -> None:
    """Stop the servers of killed runs; one still in use, or not yet started, is left alone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if folder.lstat().st_uid != os.geteuid() or not (folder / "postgres.users").exists():
            continue
        if _cluster(folder).stop():
            shutil.rmtree(folder, ignore_errors=True)


def _uses_database(item: pytest.Item) -> bool:
    """Whether a test runs statements that other versions of PostgreSQL could take otherwise.

    Pages, documents and clients send the same ones through the same roads.
    """
    if not {part.name for part in item.listchain()} & _ROOMS_OF_SQL:
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & _DATABASE_FIXTURES)
