"""From numbered events to messages in the outbox, in transactions of their own.

Each step can be repeated: the cursor moves with what was read, what falls due is removed with
what it became, and unique keys hold what two workers or a restart would do twice.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction

from audit.reading import events_after, newest_numbers
from identity.models import Tenant
from notices.models import Address, Browser, Choice, Cursor, Due, Notice
from notices.rules.channels import WEBPUSH
from notices.rules.kinds import Kind
from notices.rules.timing import reminder_at
from runs.asked import Waiting, questions
from runs.clock import database_now

EVENTS = 500
DUE = 100
KEPT_DAYS = 90


def read_events() -> int:
    """Plan what people will be told of questions asked since the last time; how many events."""
    tenant_ids = list(Tenant.objects.order_by("pk").values_list("pk", flat=True))
    read = dict(Cursor.objects.values_list("tenant_id", "n"))
    newest = newest_numbers(tenant_ids)
    return sum(
        _read_tenant(tenant_id) for tenant_id, n in newest.items() if n > read.get(tenant_id, 0)
    )


def _read_tenant(tenant_id: int) -> int:
    Cursor.objects.bulk_create([Cursor(tenant_id=tenant_id, n=0)], ignore_conflicts=True)
    with transaction.atomic():
        cursors = Cursor.objects.select_for_update(skip_locked=True)
        cursor = cursors.filter(tenant_id=tenant_id).first()
        if cursor is None:
            return 0  # another worker reads this tenant now
        feed = events_after(
            tenant_id=tenant_id, after=cursor.n, limit=EVENTS, type_="interrupt.asked"
        )
        asked = [event.interrupt_id for event in feed.events if event.interrupt_id]
        _plan(tenant_id, asked)
        Cursor.objects.filter(tenant_id=tenant_id).update(n=feed.next)
    return len(feed.events)


def _plan(tenant_id: int, interrupt_ids: Collection[str]) -> None:
    """What was answered or ended in the meantime needs no message."""
    if not interrupt_ids:
        return
    now = database_now()
    planned = [
        Due(tenant_id=tenant_id, interrupt_id=question.id, kind=kind.value, due_at=max(at, now))
        for question in questions().waiting(tenant_id, interrupt_ids).values()
        for kind, at in _times(question).items()
    ]
    Due.objects.bulk_create(planned, ignore_conflicts=True)


def _times(question: Waiting) -> dict[Kind, datetime]:
    times = {
        Kind.ASKED: question.created_at,
        Kind.REMINDER: reminder_at(
            question.created_at, question.expires_at, question.remind_before_s
        ),
        Kind.ESCALATION: question.escalate_at,
    }
    return {kind: at for kind, at in times.items() if at is not None}


def fan_out() -> int:
    """Put into the outbox what fell due, for whom it concerns now; how many fell due."""
    with transaction.atomic():
        rows = list(
            Due.objects.select_for_update(skip_locked=True)
            .filter(due_at__lte=database_now())
            .order_by("due_at")[:DUE]
        )
        by_tenant: dict[int, list[Due]] = {}
        for row in rows:
            by_tenant.setdefault(row.tenant_id, []).append(row)
        for tenant_id, due in by_tenant.items():
            _fan_out(tenant_id, due)
        Due.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _fan_out(tenant_id: int, rows: Collection[Due]) -> None:
    open_now = questions().waiting(tenant_id, {row.interrupt_id for row in rows})
    ways = ways_to_people(tenant_id) if open_now else {}
    now = database_now()
    notices = []
    for row in rows:
        if (question := open_now.get(row.interrupt_id)) is None:
            continue
        kind = Kind(row.kind)
        willing = _willing(tenant_id, ways, kind)
        for user_id in sorted(concerned(kind, question, willing)):
            notices += [
                Notice(
                    tenant_id=tenant_id,
                    user_id=user_id,
                    channel=channel,
                    kind=kind.value,
                    interrupt_id=question.id,
                    due_at=now,
                )
                for channel in ways[user_id]
            ]
    Notice.objects.bulk_create(notices, ignore_conflicts=True)


def concerned(kind: Kind, question: Waiting, among: Collection[int]) -> frozenset[int]:
    """Give those of these people whom this is for: whose answer would count now."""
    if not among:
        return frozenset()
    first = questions().first_asked
    match kind:
        case Kind.ESCALATION:
            return questions().escalated_to(question, among)
        case Kind.REMINDER if question.escalate_at and question.escalate_at <= database_now():
            return first(question, among) | questions().escalated_to(question, among)
        case _other:
            return first(question, among)


def ways_to_people(tenant_id: int) -> dict[int, list[str]]:
    """Give the channels by which each person of a tenant can be told, by the person's id."""
    ways: dict[int, list[str]] = {}
    addresses = Address.objects.filter(tenant_id=tenant_id, is_on=True, confirmed_at__isnull=False)
    for user_id, channel in addresses.order_by("pk").values_list("user_id", "channel"):
        ways.setdefault(user_id, []).append(channel)
    browsers = Browser.objects.filter(tenant_id=tenant_id).order_by("pk")
    for user_id, browser_id in browsers.values_list("user_id", "pk"):
        ways.setdefault(user_id, []).append(f"{WEBPUSH}:{browser_id}")
    return ways


def _willing(tenant_id: int, user_ids: Collection[int], kind: Kind) -> set[int]:
    unwilling = Choice.objects.filter(tenant_id=tenant_id, **{kind.value: False})
    return set(user_ids) - set(unwilling.values_list("user_id", flat=True))


def forget_old() -> None:
    """Remove messages that ended long ago; no question waits for that long."""
    old = database_now() - timedelta(days=KEPT_DAYS)
    Notice.objects.filter(ended_at__lt=old).delete()
