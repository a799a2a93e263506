"""Rows to work on: runs and questions, copied by the thousand from a real one each.

The copies have the ids that scripts of pgbench compute (`bench.recorded`), numbered from `first`.
Their runs' records are empty, which no command looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal

from bench.recorded import BASE, DIGITS

Database = psycopg.Connection[Any]


def copy_run(database: Database, run_id: str, *, first: int, count: int) -> None:
    """Copy a run so often."""
    _copy(database, "runs_run", {"id": run_id}, {"id": _id("run_")}, range(first, first + count))


def copy_question(
    database: Database,
    interrupt_id: str,
    *,
    first: int,
    count: int,
    changed: Mapping[str, Composable] | None = None,
) -> None:
    """Copy a question of a copied run, with the rights to decide it, and an answer it has.

    `changed` gives SQL for columns of the question; `k` in it is the copy's number.
    """
    of_it = {"interrupt_id": interrupt_id}
    refers = {"interrupt_id": _id("int_")}
    granted = {"content_object_id": interrupt_id}
    grants = {"content_object_id": _id("int_")}
    content = {"id": _id("int_"), "run_id": _id("run_"), **(changed or {})}
    for table, found, anew in (
        ("approvals_interrupt", {"id": interrupt_id}, content),
        ("approvals_usergrant", granted, grants | _drawn("approvals_usergrant")),
        ("approvals_groupgrant", granted, grants | _drawn("approvals_groupgrant")),
        ("approvals_approval", of_it, refers | _drawn("approvals_approval")),
        ("approvals_decision", of_it, refers | {"id": _id("dec_")}),
    ):
        _copy(database, table, found, anew, range(first, first + count))


def _copy(
    database: Database,
    table: str,
    original: Mapping[str, str],
    changed: Mapping[str, Composable],
    numbers: range,
) -> None:
    members = SQL(", ").join(
        SQL("{}, {}").format(Literal(name), value) for name, value in changed.items()
    )
    ((key, row),) = original.items()
    database.execute(
        SQL(
            "INSERT INTO {table} SELECT anew.* FROM {table} t,"
            " generate_series({low}::bigint, {high}) k,"
            " LATERAL jsonb_populate_record(t, jsonb_build_object({members})) anew"
            " WHERE t.{key} = {row}"
        ).format(
            table=Identifier(table),
            members=members,
            low=Literal(BASE + numbers[0]),
            high=Literal(BASE + numbers[-1]),
            key=Identifier(key),
            row=Literal(row),
        )
    )


def _id(prefix: str) -> Composable:
    return SQL("{} || lpad(k::text, {}, '0')").format(Literal(prefix), Literal(DIGITS))


def _drawn(table: str) -> dict[str, Composable]:
    return {"id": SQL("nextval(pg_get_serial_sequence({}, 'id'))").format(Literal(table))}
