"""From numbered events to messages in the outbox, in transactions of their own.

Each step can be repeated: the cursor moves with what was read, what falls due is removed with
what it became, and unique keys hold what two workers or a restart would do twice.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import transaction

from audit.reading import RecordedEvent, events_after, newest_numbers, tenant_events
from audit.record import ActorKind
from identity.access import people
from identity.models import Tenant
from identity.roles import Role
from notices.models import Address, Browser, Choice, Cursor, Due, Notice
from notices.rules.channels import WEBPUSH
from notices.rules.kinds import Kind
from notices.rules.timing import reminder_at
from notices.wording import Disabled
from runs.asked import Waiting, questions
from runs.clock import database_now
from runs.models import Action

DISABLED = "endpoint.disabled"
BEGINNING = ("interrupt.asked", "interrupt.reopened", "action.unknown", DISABLED)
"""The events of which people are told."""

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
            tenant_id=tenant_id, after=cursor.n, limit=EVENTS, types=list(BEGINNING)
        )
        _plan(tenant_id, feed.events)
        Cursor.objects.filter(tenant_id=tenant_id).update(n=feed.next)
    return len(feed.events)


def _plan(tenant_id: int, events: Sequence[RecordedEvent]) -> None:
    """What was answered, ended or found out in the meantime needs no message."""
    begun: dict[str, list[str]] = {name: [] for name in BEGINNING}
    for event in events:
        if event.interrupt_id:
            begun[event.type].append(event.interrupt_id)
    asked, reopened, lost, _none = begun.values()
    now, open_now = database_now(), questions().waiting(tenant_id, {*asked, *reopened})
    planned = [
        Due(tenant_id=tenant_id, interrupt_id=question.id, kind=kind.value, due_at=max(at, now))
        for question in open_now.values()
        if question.id in asked
        for kind, at in _times(question).items()
    ]
    planned += [
        Due(
            tenant_id=tenant_id,
            interrupt_id=question.id,
            kind=Kind.REOPENED.value,
            occasion=question.reopened,
            due_at=now,
        )
        for question in open_now.values()
        if question.id in reopened and question.reopened
    ]
    planned += [
        Due(tenant_id=tenant_id, interrupt_id=pk, kind=Kind.UNKNOWN.value, due_at=now)
        for pk in Action.unknown_of(tenant_id, lost)
    ]
    planned += [
        Due(
            tenant_id=tenant_id,
            interrupt_id=json.loads(event.detail)["endpoint"],
            kind=Kind.WEBHOOK.value,
            occasion=event.run_seq,
            due_at=now,
        )
        for event in events
        if event.type == DISABLED and event.actor_kind == ActorKind.SYSTEM
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
    open_now = subjects(tenant_id, rows)
    ways = ways_to_people(tenant_id) if open_now else {}
    now = database_now()
    notices = []
    for row in rows:
        if (subject := open_now.get(row.pk)) is None:
            continue
        kind = Kind(row.kind)
        willing = _willing(tenant_id, ways, kind)
        for user_id in sorted(concerned(kind, subject, willing)):
            notices += [
                Notice(
                    tenant_id=tenant_id,
                    user_id=user_id,
                    channel=channel,
                    kind=kind.value,
                    interrupt_id=row.interrupt_id,
                    occasion=row.occasion,
                    due_at=now,
                )
                for channel in ways[user_id]
            ]
    Notice.objects.bulk_create(notices, ignore_conflicts=True)


Subject = Waiting | Action | Disabled
"""What a message is about: a question that waits, an action of unknown outcome, a webhook."""


def subjects(tenant_id: int, rows: Collection[Due | Notice]) -> dict[int, Subject]:
    """Give what these are about, by their keys, as far as it is still so."""
    given = [row for row in rows if row.kind != Kind.WEBHOOK]
    lost = {row.interrupt_id or "" for row in given if row.kind == Kind.UNKNOWN}
    asked = {row.interrupt_id or "" for row in given if row.kind != Kind.UNKNOWN}
    open_now = questions().waiting(tenant_id, asked) if asked else {}
    unknown = Action.unknown_of(tenant_id, lost) if lost else {}
    found = _disabled(tenant_id, [row for row in rows if row.kind == Kind.WEBHOOK])
    for row in given:
        pk = row.interrupt_id or ""
        if row.kind == Kind.UNKNOWN and pk in unknown:
            found[row.pk] = unknown[pk]
        elif row.kind != Kind.UNKNOWN and pk in open_now and _is_still(row, open_now[pk]):
            found[row.pk] = open_now[pk]
    return found


def _disabled(tenant_id: int, rows: Sequence[Due | Notice]) -> dict[int, Subject]:
    """What the record tells of the webhooks that were disabled."""
    if not rows:
        return {}
    told = tenant_events(tenant_id=tenant_id, seqs=[row.occasion for row in rows])
    details = {seq: json.loads(event.detail) for seq, event in told.items()}
    return {
        row.pk: Disabled(tenant_id, detail["endpoint"], detail["name"])
        for row in rows
        if (detail := details.get(row.occasion))
    }


def _is_still(row: Due | Notice, question: Waiting) -> bool:
    """Whether a question that was opened again still waits because of that."""
    return row.kind != Kind.REOPENED or question.reopened == row.occasion


def concerned(kind: Kind, subject: Subject, among: Collection[int]) -> frozenset[int]:
    """Give those of these people whom this is for: whose answer would count now.

    An unknown outcome is for the run's owner and the admins, a page that was not accepted for
    who handed it back, a webhook for the admins.
    """
    if not among:
        return frozenset()
    if isinstance(subject, Action | Disabled):
        return _to_look_into(subject, among)
    question = subject
    first = questions().first_asked
    match kind:
        case Kind.ESCALATION:
            return questions().escalated_to(question, among)
        case Kind.REOPENED:
            return first(question, among) & {question.handed_back_by}
        case Kind.REMINDER if question.escalate_at and question.escalate_at <= database_now():
            return first(question, among) | questions().escalated_to(question, among)
        case _other:
            return first(question, among)


def _to_look_into(subject: Action | Disabled, among: Collection[int]) -> frozenset[int]:
    owner_id = subject.run.owner_id if isinstance(subject, Action) else None
    return frozenset(
        person.id
        for person in people(subject.tenant_id, among).values()
        if person.is_active and (person.role == Role.ADMIN or person.id == owner_id)
    )


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
    if kind is Kind.WEBHOOK:
        return set(user_ids)
    wish = Kind.ASKED if kind is Kind.REOPENED else kind
    unwilling = Choice.objects.filter(tenant_id=tenant_id, **{wish.value: False})
    return set(user_ids) - set(unwilling.values_list("user_id", flat=True))


def forget_old() -> None:
    """Remove messages that ended long ago; no question waits for that long."""
    old = database_now() - timedelta(days=KEPT_DAYS)
    Notice.objects.filter(ended_at__lt=old).delete()
