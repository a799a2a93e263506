"""What only the owner of the tables can do, for tests: empty them, and move a deadline."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

from config.roles import OWNER

KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission"})
"""Tables that the schema itself fills."""


@contextmanager
def owner_connection() -> Iterator[psycopg.Connection[Any]]:
    """A transaction of the owner on the test database, the guards' triggers off."""
    settings = connection.settings_dict
    with psycopg.connect(
        host=settings["HOST"], port=settings["PORT"] or None, dbname=settings["NAME"], user=OWNER
    ) as owner:
        owner.execute("SET session_replication_role = replica")
        yield owner


def fall_due(interrupt_id: str, *, in_s: float = -0.001) -> None:
    """Let a committed question's deadline be so many seconds from now, by the database's clock."""
    with owner_connection() as owner:
        owner.execute(
            "UPDATE approvals_interrupt"
            " SET expires_at = clock_timestamp() + make_interval(secs => %s) WHERE id = %s",
            [in_s, interrupt_id],
        )
