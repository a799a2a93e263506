"""Pages of a list by the key of a row instead of its place: nothing is skipped or told twice.

A key is the sort value and the id together, since rows made in one transaction share their time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Literal, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.dateparse import parse_datetime

from runs.ids import is_id

PAGE_ROWS = 20

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Cut(Generic[Row]):
    """One page of rows in the list's order, and the keys with which to go on, "" at an end."""

    rows: list[Row]
    previous: str
    next: str


def by_deadline(rows: "QuerySet[Row]", asked: Mapping[str, str]) -> Cut[Row]:
    """A page by `expires_at` and id, the earliest first."""

    def beyond(key: str, way: Literal["gt", "lt"]) -> Q | None:
        at_text, _, row_id = key.partition("~")
        at = _instant(at_text)
        if at is None or not is_id(row_id):
            return None
        tie = Q(**{"expires_at": at, f"pk__{way}": row_id})
        return Q(**{f"expires_at__{way}e": at}) & (Q(**{f"expires_at__{way}": at}) | tie)

    def key(row: Row) -> str:
        return f"{row.expires_at.isoformat()}~{row.pk}"  # type: ignore[attr-defined]

    return _cut(rows, asked, order=("expires_at", "pk"), beyond=beyond, key=key)


def newest_first(rows: "QuerySet[Row]", asked: Mapping[str, str]) -> Cut[Row]:
    """A page by id, the newest first; ids sort by the time they were made."""

    def beyond(key: str, way: Literal["gt", "lt"]) -> Q | None:
        other = "lt" if way == "gt" else "gt"
        return Q(**{f"pk__{other}": key}) if is_id(key) else None

    return _cut(rows, asked, order=("-pk",), beyond=beyond, key=lambda row: str(row.pk))


def _cut(
    rows: "QuerySet[Row]",
    asked: Mapping[str, str],
    *,
    order: tuple[str, ...],
    beyond: Callable[[str, Literal["gt", "lt"]], Q | None],
    key: Callable[[Row], str],
) -> Cut[Row]:
    """The page after `after` or before `before`; a key that nobody gave out gives the first."""
    if (before := beyond(asked.get("before", ""), "lt")) is not None:
        found = list(rows.filter(before).order_by(*order).reverse()[: PAGE_ROWS + 1])
        shown = found[:PAGE_ROWS][::-1]
        has_previous, has_next = len(found) > PAGE_ROWS, True
    else:
        after = beyond(asked.get("after", ""), "gt")
        chosen = rows if after is None else rows.filter(after)
        found = list(chosen.order_by(*order)[: PAGE_ROWS + 1])
        shown = found[:PAGE_ROWS]
        has_previous, has_next = after is not None, len(found) > PAGE_ROWS
    return Cut(
        shown,
        previous=key(shown[0]) if shown and has_previous else "",
        next=key(shown[-1]) if shown and has_next else "",
    )


def _instant(text: str) -> datetime | None:
    try:
        at = parse_datetime(text)
        return at.astimezone(UTC) if at is not None and at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
