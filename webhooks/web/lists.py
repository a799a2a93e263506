"""What the pages of webhooks list: endpoints with how they fare, deliveries with their attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from identity.models import User
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.rules.kinds import DeliveryState

PAGE_ROWS: Final = 20
FAILED: Final = "failed"
COUNTED_MAX: Final = 100

FARES = """
SELECT e.id,
    (SELECT count(*) FROM (SELECT FROM webhooks_delivery d
        WHERE d.endpoint_id = e.id AND d.state = 'failed' LIMIT %(most)s) AS counted),
    (SELECT d.ended_at FROM webhooks_delivery d
        WHERE d.endpoint_id = e.id AND d.state = 'delivered' ORDER BY d.n DESC LIMIT 1)
FROM webhooks_endpoint e WHERE e.tenant_id = %(tenant)s
"""


@dataclass(frozen=True, slots=True)
class Fare:
    """One endpoint, how many of its deliveries failed, and when one arrived last."""

    endpoint: Endpoint
    failed: int
    last_at: datetime | None

    @property
    def has_more(self) -> bool:
        """Whether more failed than were counted."""
        return self.failed == COUNTED_MAX


@dataclass(frozen=True, slots=True)
class Sight:
    """One delivery with its last attempt, and how many there were."""

    delivery: Delivery
    last: Attempt | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A page of deliveries, the newest event first, and the numbers with which to go on."""

    rows: list[Sight]
    previous: str
    next: str


def fares(user: User) -> list[Fare]:
    """Every webhook of the tenant, those in use first, in two queries by index."""
    mine = {"tenant_id": user.tenant_id}
    endpoints = Endpoint.objects.filter(**mine).order_by("-is_active", "pk")
    with connection.cursor() as cursor:
        cursor.execute(FARES, {"tenant": user.tenant_id, "most": COUNTED_MAX})
        fare_of = {row[0]: row[1:] for row in cursor.fetchall()}
    return [Fare(row, *fare_of.get(row.pk, (0, None))) for row in endpoints]


def deliveries(endpoint: Endpoint, asked: Mapping[str, str]) -> Cut:
    """A page of an endpoint's deliveries in two queries; `state=failed` gives only those."""
    rows = Delivery.objects.filter(tenant_id=endpoint.tenant_id, endpoint=endpoint).defer("body")
    if asked.get("state") == FAILED:
        rows = rows.filter(state=DeliveryState.FAILED.value)
    before, after = _number(asked, "before"), _number(asked, "after")
    if before is not None:
        found = list(rows.filter(n__gt=before).order_by("n")[: PAGE_ROWS + 1])
        shown, is_more, is_less = found[:PAGE_ROWS][::-1], True, len(found) > PAGE_ROWS
    else:
        older = rows if after is None else rows.filter(n__lt=after)
        found = list(older.order_by("-n")[: PAGE_ROWS + 1])
        shown, is_more, is_less = found[:PAGE_ROWS], len(found) > PAGE_ROWS, after is not None
    return Cut(
        _with_attempts(endpoint, shown),
        previous=str(shown[0].n) if shown and is_less else "",
        next=str(shown[-1].n) if shown and is_more else "",
    )


def attempts(delivery: Delivery) -> list[Attempt]:
    """Every try at a delivery, the newest first."""
    return list(
        Attempt.objects.filter(tenant_id=delivery.tenant_id, delivery=delivery).order_by("-pk")
    )


def _with_attempts(endpoint: Endpoint, rows: list[Delivery]) -> list[Sight]:
    tried: dict[str, list[Attempt]] = {}
    found = Attempt.objects.filter(
        tenant_id=endpoint.tenant_id, delivery_id__in=[row.pk for row in rows]
    )
    for attempt in found.defer("answer").order_by("pk"):
        tried.setdefault(attempt.delivery_id, []).append(attempt)
    return [
        Sight(row, last=ones[-1] if ones else None, attempts=len(ones))
        for row in rows
        for ones in [tried.get(row.pk, [])]
    ]


def _number(asked: Mapping[str, str], name: str) -> int | None:
    text = asked.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
