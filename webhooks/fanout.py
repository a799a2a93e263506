"""From numbered events to deliveries, in transactions of their own.

The cursor moves with the deliveries that were made of what was read, so that a crash or a second
worker makes each once; a unique key holds it. Only committed events have a number, so nothing is
told that could still be undone.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from django.db import transaction

from audit.reading import RecordedEvent, events_after, newest_numbers
from placet.protocol.reading import JSONValue
from runs.clock import database_now
from webhooks.models import Cursor, Delivery, Endpoint
from webhooks.rules.bodies import body
from webhooks.rules.kinds import WebhookType

EVENTS: Final = 500


def fan_out() -> int:
    """Make the deliveries of what happened since the last time; how many."""
    read = dict(Cursor.objects.values_list("tenant_id", "n"))
    newest = newest_numbers(list(read)) if read else {}
    return sum(_of_tenant(tenant_id) for tenant_id, n in newest.items() if n > read[tenant_id])


def _of_tenant(tenant_id: int) -> int:
    with transaction.atomic():
        cursors = Cursor.objects.select_for_update(skip_locked=True)
        cursor = cursors.filter(tenant_id=tenant_id).first()
        if cursor is None:
            return 0  # another worker reads this tenant now
        feed = events_after(
            tenant_id=tenant_id,
            after=cursor.n,
            limit=EVENTS,
            types=[kind.value for kind in WebhookType],
        )
        made = list(_deliveries(tenant_id, feed.events, now=database_now()))
        Delivery.objects.bulk_create(made, ignore_conflicts=True)
        Cursor.objects.filter(tenant_id=tenant_id).update(n=feed.next)
    return len(made)


def _deliveries(
    tenant_id: int, events: Iterable[RecordedEvent], *, now: datetime
) -> Iterator[Delivery]:
    endpoints = list(Endpoint.objects.filter(tenant_id=tenant_id, is_active=True).order_by("pk"))
    for event in events:
        kind = WebhookType(event.type)
        whom = _for_whom(event, kind, endpoints)
        told = body(kind, at=event.at, data=_data(event, kind)) if whom else b""
        for endpoint in whom:
            yield Delivery(
                tenant_id=tenant_id,
                endpoint_id=endpoint.pk,
                n=event.numbered.n,
                type=kind.value,
                body=told,
                due_at=now,
                created_at=now,
            )


def _for_whom(
    event: RecordedEvent, kind: WebhookType, endpoints: Iterable[Endpoint]
) -> list[Endpoint]:
    if kind is WebhookType.TEST:
        tested = json.loads(event.detail)["endpoint"]
        return [endpoint for endpoint in endpoints if endpoint.pk == tested]
    return [endpoint for endpoint in endpoints if endpoint.wants(kind, event.at)]


def _data(event: RecordedEvent, kind: WebhookType) -> dict[str, JSONValue]:
    if kind is WebhookType.TEST:
        return {"endpoint_id": json.loads(event.detail)["endpoint"]}
    return {
        "n": event.numbered.n,
        "run_id": event.run_id,
        "run_seq": event.run_seq,
        "interrupt_id": event.interrupt_id,
        "action_id": event.action_id,
        "from": event.from_state,
        "to": event.to_state,
        "revision": event.revision,
        "digest": event.digest,
    }
