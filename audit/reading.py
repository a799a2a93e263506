"""Reading the record for pages, the feed and webhooks.

Every query names its tenant. The page and the feed show numbered events only; a run's own
history does not wait for the number.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from django.db import connection
from django.db.models import Max, Q, QuerySet

from audit.chain import instant
from audit.models import Event, Numbered, Verification
from placet.protocol.reading import JSONValue

RecordedEvent: TypeAlias = Event
"""The rows given here, by the name under which other apps may speak of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """What the audit page can look for; members that are None do not restrict.

    `since_at` is included, `until_at` is not.
    """

    run_id: str | None = None
    interrupt_id: str | None = None
    action_id: str | None = None
    agent_id: int | None = None
    actor_kind: str | None = None
    actor_id: str | None = None
    type: str | None = None
    tool: str | None = None
    digest: str | None = None
    code: str | None = None
    since_at: datetime | None = None
    until_at: datetime | None = None

    def condition(self) -> Q:
        """Give the filter as a condition on `Event`."""
        wanted = {
            "run_id": self.run_id,
            "interrupt_id": self.interrupt_id,
            "action_id": self.action_id,
            "agent_id": self.agent_id,
            "actor_kind": self.actor_kind,
            "actor_id": self.actor_id,
            "type": self.type,
            "tool": self.tool,
            "digest": self.digest,
            "code": self.code,
            "at__gte": self.since_at,
            "at__lt": self.until_at,
        }
        return Q(**{name: value for name, value in wanted.items() if value is not None})


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events newest first, each with its number `n`, and what lies beyond them."""

    events: tuple[Event, ...]
    has_newer: bool
    has_older: bool


def events_page(
    *,
    tenant_id: int,
    filters: EventFilter,
    before_id: int | None = None,
    after_id: int | None = None,
    limit: int = 50,
) -> EventPage:
    """Give a page of a tenant's numbered events by event id, in one query.

    `before_id` gives the next older ones, `after_id` the next newer ones, neither the
    newest; at most one of the two is given.
    """
    events = _numbered(Event.objects.filter(filters.condition(), tenant_id=tenant_id))
    if after_id is not None:
        found = list(events.filter(id__gt=after_id).order_by("id")[: limit + 1])
        shown = tuple(reversed(found[:limit]))
        return EventPage(shown, has_newer=len(found) > limit, has_older=True)
    if before_id is not None:
        events = events.filter(id__lt=before_id)
    found = list(events.order_by("-id")[: limit + 1])
    shown = tuple(found[:limit])
    return EventPage(shown, has_newer=before_id is not None, has_older=len(found) > limit)


def run_events(
    *,
    tenant_id: int,
    run_id: str,
    after_seq: int = 0,
    interrupt_ids: Sequence[str] | None = None,
    limit: int = 200,
) -> list[Event]:
    """Give a run's events in order of `run_seq`, numbered or not.

    `interrupt_ids` restricts them to those of some interrupts and their actions.
    """
    events = Event.objects.filter(tenant_id=tenant_id, run_id=run_id, run_seq__gt=after_seq)
    if interrupt_ids is not None:
        events = events.filter(interrupt_id__in=interrupt_ids)
    return list(events.select_related("numbered").order_by("run_seq")[:limit])


def tenant_events(*, tenant_id: int, seqs: Iterable[int]) -> dict[int, Event]:
    """Give those events of the tenant's own chain, by their `run_seq`."""
    found = Event.objects.filter(tenant_id=tenant_id, run_id=None, run_seq__in=list(seqs))
    return {event.run_seq: event for event in found}


def showings(*, tenant_id: int, interrupt_ids: Sequence[str], limit: int = 500) -> list[Event]:
    """Give the events that tell to whom these interrupts were shown, in their order."""
    shown = Event.objects.filter(
        tenant_id=tenant_id, type="interrupt.shown", interrupt_id__in=interrupt_ids
    )
    return list(shown.order_by("id")[:limit])


def last_verification(tenant_id: int) -> Verification | None:
    """Give the result of the tenant's last verification, None where there was none."""
    return Verification.objects.filter(tenant_id=tenant_id).first()


@dataclass(frozen=True, slots=True)
class Feed:
    """Events in order of their numbers, and the `after` with which to go on.

    `next` also passes over events that were not asked for, so nobody reads those twice.
    """

    events: tuple[Event, ...]
    next: int

    @classmethod
    def of(cls, events: tuple[Event, ...], *, limit: int, last: int) -> "Feed":
        """Give the feed of these events, the first up to `limit` of those up to number `last`."""
        return cls(events, _n(events[-1]) if events and len(events) == limit else last)


def events_after(
    *,
    tenant_id: int,
    after: int,
    limit: int,
    run_id: str | None = None,
    agent_id: int | None = None,
    types: Sequence[str] = (),
    newest: int | None = None,
) -> Feed:
    """Give the tenant's events with numbers above `after`, each once, in two queries.

    `agent_id` restricts them to runs of one agent, `run_id` to one run, `types` to some types.
    Given the tenant's `newest` number it takes one query.
    """
    newest = newest_n(tenant_id) if newest is None else newest
    wanted = EventFilter(run_id=run_id, agent_id=agent_id).condition()
    if agent_id is not None:
        wanted &= Q(run_id__isnull=False)
    if types:
        wanted &= Q(type__in=types)
    events = Event.objects.filter(
        wanted, tenant_id=tenant_id, numbered__tenant_id=tenant_id
    ).filter(numbered__n__gt=after, numbered__n__lte=newest)
    found = tuple(_numbered(events).order_by("numbered__n")[:limit])
    return Feed.of(found, limit=limit, last=max(after, newest))


def newest_n(tenant_id: int) -> int:
    """Give the tenant's last number, 0 before the first."""
    newest = Numbered.objects.filter(tenant_id=tenant_id).aggregate(newest=Max("n"))["newest"]
    return newest or 0


NEWEST = """
SELECT tenant_id, coalesce(
    (SELECT max(n) FROM audit_numbered numbered WHERE numbered.tenant_id = asked.tenant_id), 0
) FROM unnest(%s::bigint[]) AS asked (tenant_id)
"""


def newest_numbers(tenant_ids: Sequence[int]) -> dict[int, int]:
    """Give the last number of each of these tenants, 0 before the first, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [list(tenant_ids)])
        return dict(cursor.fetchall())


def event_shape(event: Event, n: int | None) -> dict[str, JSONValue]:
    """Give an event as the API tells it (contract §6); `n` is null before numbering."""
    return {
        "n": n,
        "run_seq": event.run_seq,
        "type": event.type,
        "at": instant(event.at),
        "actor": {
            "kind": event.actor_kind,
            "id": event.actor_id,
            "name": event.actor_name,
        },
        "run_id": event.run_id,
        "interrupt_id": event.interrupt_id,
        "action_id": event.action_id,
        "from": event.from_state,
        "to": event.to_state,
        "revision": event.revision,
        "digest": event.digest,
        "refused": None if event.refused is None else json.loads(event.refused),
    }


def _numbered(events: QuerySet[Event]) -> QuerySet[Event]:
    return events.filter(numbered__n__isnull=False).select_related("numbered")


def _n(event: Event) -> int:
    return event.numbered.n
