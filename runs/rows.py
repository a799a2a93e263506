"""Single rows on hot paths: the SQL that the ORM would send, without its work at each call.

Building a query costs Django more than PostgreSQL needs to answer it. Nothing here looks at
signals, converters, defaults of the database or inherited models; the models given have none.
"""

from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Field, Model

Row = TypeVar("Row", bound=Model)


def found(model: type[Row], pk: object) -> Row | None:
    """The row of this key."""
    return _row(model, pk, "")


def first(model: type[Row], condition: str, *values: object) -> Row | None:
    """The first row of a condition that is written in SQL, an order after it included."""
    sql, names = _from(model)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} WHERE {condition} LIMIT 1", values)  # type: ignore[arg-type]
        found = cursor.fetchone()
    return None if found is None else model.from_db(connection.alias, names, found)


def locked(model: type[Row], pk: object) -> Row:
    """The row of this key, held FOR UPDATE until the transaction ends; DoesNotExist without it."""
    row = _row(model, pk, " FOR UPDATE")
    if row is None:
        raise model.DoesNotExist  # type: ignore[attr-defined]
    return row


def insert(rows: Sequence[Model]) -> None:
    """Insert new rows of one model in one statement; an id that the database draws is not read."""
    if not rows:
        return
    model = type(rows[0])
    columns, fields = _inserted(model)
    places = ", ".join(["(" + ", ".join(["%s"] * len(fields)) + ")"] * len(rows))
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES {places}',
            [_value(row, field) for row in rows for field in fields],
        )
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias


def update(row: Model, *names: str, **held: int | str) -> None:
    """Write these fields of a row that is locked and hence exists, and still holds these values."""
    sql, fields = _updated(type(row), names)
    sql += "".join(f' AND "{column}" = %s' for column in held)
    with connection.cursor() as cursor:
        cursor.execute(sql, [*(_value(row, field) for field in fields), row.pk, *held.values()])
        assert cursor.rowcount == 1


def _row(model: type[Row], pk: object, lock: str) -> Row | None:
    sql, names = _selected(model)
    with connection.cursor() as cursor:
        cursor.execute(sql + lock, [pk])  # type: ignore[list-item]
        values = cursor.fetchone()
    return None if values is None else model.from_db(connection.alias, names, values)


@cache
def _selected(model: type[Model]) -> tuple[str, list[str]]:
    sql, names = _from(model)
    assert model._meta.pk is not None
    return f'{sql} WHERE "{model._meta.pk.column}" = %s', names


@cache
def _from(model: type[Model]) -> tuple[str, list[str]]:
    meta = model._meta
    columns = ", ".join(f'"{field.column}"' for field in meta.concrete_fields)
    return f'SELECT {columns} FROM "{meta.db_table}"', [
        field.attname for field in meta.concrete_fields
    ]


@cache
def _inserted(model: type[Model]) -> tuple[str, list["Field[Any, Any]"]]:
    fields = [field for field in model._meta.concrete_fields if not field.db_returning]
    return ", ".join(f'"{field.column}"' for field in fields), fields


@cache
def _updated(model: type[Model], names: tuple[str, ...]) -> tuple[str, list["Field[Any, Any]"]]:
    meta = model._meta
    fields = [field for field in meta.concrete_fields if {field.name, field.attname} & {*names}]
    assert len(fields) == len(names)
    changes = ", ".join(f'"{field.column}" = %s' for field in fields)
    assert meta.pk is not None
    return f'UPDATE "{meta.db_table}" SET {changes} WHERE "{meta.pk.column}" = %s', fields


def _value(row: Model, field: "Field[Any, Any]") -> Any:
    value = field.get_db_prep_save(getattr(row, field.attname), connection)
    return value.value if isinstance(value, Enum) else value  # psycopg would store its name
