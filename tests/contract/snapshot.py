"""All that is stored, as one digest a table, to see that a request changed nothing."""

from django.db import connection
from psycopg import sql

RECORD = frozenset({"audit_event", "audit_unnumbered", "audit_tenantchain", "audit_refusalwindow"})
"""Where a refusal goes; a refused request changes nothing else."""

SHOWN = RECORD | {"approvals_showing"}


COUNTERS = frozenset({"server_cache"})
"""Where the sign-in page counts who asks for it how often."""


def snapshot(*, without: frozenset[str] = frozenset()) -> dict[str, str]:
    """The digest of every row of every table but these and the counters of requests."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
        )
        tables = [name for (name,) in cursor.fetchall() if name not in without | COUNTERS]
        found = {}
        for table in tables:
            cursor.execute(
                sql.SQL(
                    "SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {} t"
                ).format(sql.Identifier(table))
            )
            (found[table],) = cursor.fetchone()
    return found


def recorded_of(tenant_id: int) -> int:
    """How many events a tenant has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM audit_event WHERE tenant_id = %s", [tenant_id])
        (count,) = cursor.fetchone()
    return int(count)
