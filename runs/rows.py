"""Single rows on hot paths: the SQL that the ORM would send, without its work at each call.

Building a query costs Django more than PostgreSQL needs to answer it. Nothing here looks at
signals, converters, defaults of the database or inherited models; the models given have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Field, JSONField, Model

from runs.clock import READ_CLOCK

Row = TypeVar("Row", bound=Model)

PLAIN = frozenset({bool, datetime, int, str, type(None)})
"""The types of values that every field but JSON's stores as they are."""


@dataclass(frozen=True, slots=True)
class First(Generic[Row]):
    """A search for the first row of a condition written in SQL, an order after it included."""

    model: type[Row]
    condition: str
    values: Sequence[Any]
    is_locked: bool = False
    """Whether the row is held FOR UPDATE until the transaction ends, and has to be there."""

    @property
    def sql(self) -> str:
        """The statement; its values are still to be put in."""
        sql = f"{_from(self.model)[0]} WHERE {self.condition} LIMIT 1"
        return f"{sql} FOR UPDATE" if self.is_locked else sql

    def row(self, values: Sequence[Any] | None) -> Row | None:
        """The row that was read, None where none was; DoesNotExist where one was to be locked."""
        if values is not None:
            return self.model.from_db(connection.alias, _from(self.model)[1], values)
        if self.is_locked:
            raise self.model.DoesNotExist  # type: ignore[attr-defined]
        return None


def together(*searches: First[Any]) -> list[Any]:
    """The first row of each search, None where there is none, in one round trip.

    The statements run one after the other. At READ COMMITTED each sees what was committed before
    it began, so those behind one that waited for its lock see what others did meanwhile.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            ";\n".join(search.sql for search in searches),
            [value for search in searches for value in search.values],
        )
        rows = []
        for search in searches:
            rows.append(search.row(cursor.fetchone()))
            cursor.nextset()
    return rows


def first(model: type[Row], condition: str, *values: object) -> Row | None:
    """The first row of a condition that is written in SQL, an order after it included."""
    row: Row | None
    (row,) = together(First(model, condition, values))
    return row


def found(model: type[Row], pk: object) -> Row | None:
    """The row of this key."""
    return first(model, _has_key(model), pk)


def by_key(model: type[Row], pk: object) -> First[Row]:
    """The search for the row of this key, to be held."""
    return First(model, _has_key(model), [pk], is_locked=True)


def locked(model: type[Row], pk: object) -> Row:
    """The row of this key, held FOR UPDATE until the transaction ends; DoesNotExist without it."""
    row: Row
    (row,) = together(by_key(model, pk))
    return row


def locked_at(model: type[Row], pk: object) -> tuple[Row, datetime]:
    """The row of this key, held FOR UPDATE, and the database's clock read once it was held."""
    search = by_key(model, pk)
    with connection.cursor() as cursor:
        cursor.execute(f"{search.sql};\n{READ_CLOCK}", search.values)
        row = search.row(cursor.fetchone())
        assert row is not None
        cursor.nextset()
        return row, cursor.fetchone()[0]


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


@cache
def _has_key(model: type[Model]) -> str:
    assert model._meta.pk is not None
    return f'"{model._meta.pk.column}" = %s'


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
    value = getattr(row, field.attname)
    if type(value) in PLAIN and not isinstance(field, JSONField):
        return value
    value = field.get_db_prep_save(value, connection)
    return value.value if isinstance(value, Enum) else value  # psycopg would store its name
