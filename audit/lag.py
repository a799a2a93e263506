"""How far numbering and sealing are behind what was committed.

Events have their number within a second and their seal within minutes while a worker runs.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from audit.models import Seal
from audit.sealing import BEHIND

LATE: Final = timedelta(seconds=30)
"""An event that waits longer for its number shows that no worker runs."""

_WAITING = """
    SELECT count(*), min(event.at), coalesce(statement_timestamp() - min(event.at), '0')
    FROM audit_unnumbered waiting JOIN audit_event event ON event.id = waiting.event_id
"""
_UNSEALED = f"SELECT coalesce(sum(newest.n - coalesce(seal.last_n, 0)), 0) {BEHIND}"


@dataclass(frozen=True, slots=True)
class NumberLag:
    """How many committed events wait for their number, since when, and for how long."""

    count: int
    since: datetime | None
    age: timedelta

    @property
    def is_late(self) -> bool:
        """Whether they wait longer than they do while a worker runs."""
        return self.age > LATE


def number_lag(tenant_id: int) -> NumberLag:
    """Give what of a tenant's record waits for its number."""
    return _number_lag(f"{_WAITING} WHERE waiting.tenant_id = %s", tenant_id)


def whole_number_lag() -> NumberLag:
    """Give what of all tenants' records waits for its number, for the operator."""
    return _number_lag(_WAITING)


def _number_lag(sql: str, *given: int) -> NumberLag:
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        ((count, since, age),) = cursor.fetchall()
    return NumberLag(count, since, age)


def unsealed_count() -> int:
    """Give how many numbered events of all tenants have no seal yet, for the operator."""
    with connection.cursor() as cursor:
        cursor.execute(_UNSEALED)
        ((count,),) = cursor.fetchall()
    return int(count)


def last_seal(tenant_id: int) -> Seal | None:
    """Give the newest seal of a tenant's record, None before the first."""
    return Seal.objects.filter(tenant_id=tenant_id).order_by("-seq").first()
