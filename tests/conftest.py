"""What all tests share: the two database roles, and the cast.

The schema is made by the owner and the tests run as the runtime role, as in production. Tables
are emptied by the owner with triggers off, since nobody else can.
"""

import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from psycopg import sql

from config.roles import APPEND_ONLY, OWNER, RUNTIME, apply_grants
from runs.waiting.notifier import NOTIFIER
from tests.cast import Cast, Template
from tests.owner import KEPT, owner_connection
from tests.postgres import connect_as

LONG = ("tests/examples/", "tests/docs/test_tutorial.py", "tests/e2e/test_pages_for_everybody.py")


def pytest_configure() -> None:
    """Hash passwords cheaply: what they are hashed with is not tested here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that at the end no worker waits for another."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_blocker: "pytest_django.DjangoDbBlocker",  # type: ignore[name-defined]  # noqa: F821
) -> Iterator[None]:
    """A database of this worker, migrated by the owner, then used as the runtime role."""
    from django.core.management import call_command
    from django.test.utils import setup_databases, teardown_databases

    suffix = os.environ.get("PYTEST_XDIST_WORKER")
    with django_db_blocker.unblock():
        connect_as(OWNER)
        if suffix:
            connection.settings_dict["TEST"]["NAME"] = f"test_placet_{suffix}"
        made = setup_databases(verbosity=0, interactive=False)
        call_command("createcachetable", verbosity=0)
        apply_grants(connection, RUNTIME, append_only=APPEND_ONLY)
        connect_as(RUNTIME)
    yield
    NOTIFIER.close()
    with django_db_blocker.unblock():
        connect_as(OWNER)
        teardown_databases(made, verbosity=0)


def empty_tables(_case: TransactionTestCase) -> None:
    """Empty every table but those that the schema itself fills."""
    connection.close()
    with owner_connection() as owner:
        tables = owner.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
        ).fetchall()
        emptied = [sql.Identifier(table) for (table,) in tables if table not in KEPT]
        owner.execute(sql.SQL("; ").join(map(sql.SQL("DELETE FROM {}").format, emptied)))


TransactionTestCase._fixture_teardown = empty_tables  # type: ignore[method-assign]


@pytest.fixture(scope="session")
def template() -> Template:
    """The cast as it was made last by this worker."""
    return Template()


@pytest.fixture
def cast(template: Template, db: None) -> Cast:
    """Alice, Rae, Bob, Ada, Otto and their agent in one tenant, Mallory and hers in another."""
    return template.make()
