"""Rows for pgbench to work on: runs, and questions that wait, copied from one real one each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal

from bench.recorded import BASE, DIGITS


def copy_run(database: psycopg.Connection[Any], run_id: str, *, first: int, count: int) -> None:
    """Copy a run so often, under the ids that scripts compute."""
    _copy(database, "runs_run", ("id", run_id), {"id": _id("run_")}, first=first, count=count)


def copy_question(
    database: psycopg.Connection[Any], interrupt_id: str, *, first: int, count: int
) -> None:
    """Copy a question with the right to decide it, under the ids that scripts compute."""
    content = {"id": _id("int_"), "run_id": _id("run_")}
    rights = {
        "id": SQL("nextval(pg_get_serial_sequence('approvals_groupgrant', 'id'))"),
        "content_object_id": _id("int_"),
    }
    for table, key, changed in (
        ("approvals_interrupt", "id", content),
        ("approvals_groupgrant", "content_object_id", rights),
    ):
        _copy(database, table, (key, interrupt_id), changed, first=first, count=count)


def _copy(
    database: psycopg.Connection[Any],
    table: str,
    original: tuple[str, str],
    changed: Mapping[str, Composable],
    *,
    first: int,
    count: int,
) -> None:
    members = SQL(", ").join(
        SQL("{}, {}").format(Literal(name), value) for name, value in changed.items()
    )
    database.execute(
        SQL(
            "INSERT INTO {table} SELECT (jsonb_populate_record(t, jsonb_build_object({members}))).*"
            " FROM {table} t, generate_series({low}::bigint, {high}) k WHERE t.{key} = {row}"
        ).format(
            table=Identifier(table),
            members=members,
            low=Literal(BASE + first),
            high=Literal(BASE + first + count - 1),
            key=Identifier(original[0]),
            row=Literal(original[1]),
        )
    )


def _id(prefix: str) -> Composable:
    return SQL("{} || lpad(k::text, {}, '0')").format(Literal(prefix), Literal(DIGITS))
