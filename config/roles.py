"""The two database roles: the owner migrates, the runtime role serves.

The runtime role can add audit rows and read them, and nothing else with them: no UPDATE, no
DELETE, no TRUNCATE, and no ownership with which it could give itself these rights. It gets
its rights table by table after each migration and none in advance, so that a table that was
made in another way is closed to it rather than open.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import psycopg
from psycopg.sql import SQL, Composed, Identifier

OWNER = "placet_owner"
RUNTIME = "placet"
DATABASE = "placet"
APPEND_ONLY = (
    "audit_event",
    "audit_numbered",
    "audit_seal",
    "approvals_decision",
    "approvals_approval",
    "approvals_policyversion",
    "approvals_displayversion",
)
"""Tables of evidence: the runtime role adds rows and never changes them."""

_LOCK = 0x706C6163
_READ_ONLY = frozenset({"django_migrations"})
_FORBIDDEN = ("UPDATE", "DELETE", "TRUNCATE", "TRIGGER")
_OWN_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
      AND pg_get_userbyid(relowner) = current_user
    ORDER BY relname
"""


class HasCursor(Protocol):
    """A connection of psycopg, or Django's wrapper of one."""

    def cursor(self) -> Any:
        """Give a cursor, which is a context manager."""


def create_roles(
    connection: psycopg.Connection[Any], *, can_create_databases: bool = False
) -> None:
    """Make both roles and the database where they are missing.

    `connection` is a superuser's, in autocommit mode. `can_create_databases` is for tests,
    whose owner makes databases. Several starters at once wait for each other.
    """
    connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    roles = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles")}
    databases = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
    database, owner, runtime = Identifier(DATABASE), Identifier(OWNER), Identifier(RUNTIME)
    if OWNER not in roles:
        extra = SQL("CREATEDB" if can_create_databases else "NOCREATEDB")
        connection.execute(SQL("CREATE ROLE {} LOGIN {}").format(owner, extra))
    if RUNTIME not in roles:
        connection.execute(SQL("CREATE ROLE {} LOGIN").format(runtime))
    if DATABASE not in databases:
        connection.execute(SQL("CREATE DATABASE {} OWNER {}").format(database, owner))
    connection.execute(SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    connection.execute(SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, runtime))
    connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def apply_grants(connection: HasCursor, runtime_role: str, *, append_only: Collection[str]) -> None:
    """Give `runtime_role` its rights on the owner's tables in the schema, and take all others.

    `connection` is the owner's, after migrating. On the tables `append_only` the role may
    SELECT and INSERT, on the list of migrations SELECT, elsewhere also UPDATE and DELETE. All
    in one step, so that a server at work never meets a table without rights. Where one role
    is owner and runtime nothing changes; weaknesses() says what that costs.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_schema()")
        current_user, schema = cursor.fetchone()
        if current_user == runtime_role:
            return
        cursor.execute(_OWN_TABLES)
        tables = [name for (name,) in cursor.fetchall()]
        role, place = Identifier(runtime_role), Identifier(schema)
        steps = [SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, role)]
        if tables:
            names = SQL(", ").join(Identifier(schema, table) for table in tables)
            steps.append(SQL("REVOKE ALL ON {} FROM PUBLIC, {}").format(names, role))
            steps += [_grant(schema, table, role, append_only) for table in tables]
        sequences = SQL("ALL SEQUENCES IN SCHEMA {}").format(place)
        steps.append(SQL("REVOKE ALL ON {} FROM PUBLIC, {}").format(sequences, role))
        steps.append(SQL("GRANT USAGE ON {} TO {}").format(sequences, role))
        cursor.execute(SQL("; ").join(steps).as_string())


def weaknesses(connection: HasCursor, *, append_only: Collection[str]) -> tuple[str, ...]:
    """Say, a sentence each, what the connected role could do to the record, but should not."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_schema()")
        role, schema = cursor.fetchone()
        for table in sorted(append_only):
            name = Identifier(schema, table).as_string()
            cursor.execute(
                "SELECT to_regclass(%s) IS NOT NULL, pg_has_role(relowner, 'USAGE')"
                " FROM (SELECT 1) one LEFT JOIN pg_class ON pg_class.oid = to_regclass(%s)",
                [name, name],
            )
            exists, is_owner = cursor.fetchone()
            if not exists:
                found.append(f"The table {table} is missing.")
            elif is_owner:
                found.append(f"The role {role} owns {table} and can switch its guards off.")
            else:
                cursor.execute(
                    "SELECT right_name FROM unnest(%s::text[]) right_name"
                    " WHERE has_table_privilege(%s, right_name)"
                    " OR right_name = 'UPDATE' AND has_any_column_privilege(%s, right_name)",
                    [list(_FORBIDDEN), name, name],
                )
                rights = [right for (right,) in cursor.fetchall()]
                if rights:
                    found.append(f"The role {role} has {', '.join(rights)} on {table}.")
    return tuple(found)


def _grant(schema: str, table: str, role: Identifier, append_only: Collection[str]) -> Composed:
    rights = "SELECT, INSERT, UPDATE, DELETE"
    if table in append_only:
        rights = "SELECT, INSERT"
    elif table in _READ_ONLY:
        rights = "SELECT"
    return SQL("GRANT {} ON {} TO {}").format(SQL(rights), Identifier(schema, table), role)
