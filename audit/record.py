"""Writing the record.

Invariant: events of a chain are appended only by whoever holds its lock (the run's row, or
the tenant's chain row), in the transaction of the change that they tell. Hence within a
chain `run_seq`, `id` and commit order agree, and nothing is told that a crash could undo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db import connection, transaction

from audit.chain import EMPTY_HEAD, Head
from audit.models import Event, TenantChain
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue


class ActorKind(StrEnum):
    """Who can be the cause of an event."""

    USER = "user"
    AGENT = "agent"
    POLICY = "policy"
    STANDING = "standing"
    SYSTEM = "system"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Actor:
    """The cause of an event, with id and name as they were then."""

    kind: ActorKind
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a command was refused; `given` and `current` hold no argument values."""

    code: str
    given: Mapping[str, JSONValue] = field(default_factory=dict)
    current: Mapping[str, JSONValue] = field(default_factory=dict)

    def text(self) -> str:
        """Give the canonical JSON that is stored."""
        return canonical(
            {"code": str(self.code), "given": dict(self.given), "current": dict(self.current)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event to be recorded; chain, number, time and hashes are added by recording it.

    `content_sha256` is the digest of the whole immutable content that the event speaks of.
    `detail` is small and holds no argument values.
    """

    type: str
    actor: Actor
    interrupt_id: str | None = None
    action_id: str | None = None
    agent_id: int | None = None
    tool: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    revision: int | None = None
    digest: str | None = None
    content_sha256: str | None = None
    refused: Refused | None = None
    detail: Mapping[str, JSONValue] = field(default_factory=dict)


def record(
    *, tenant_id: int, run_id: str, head: Head, at: datetime, drafts: Sequence[Draft]
) -> Head:
    """Append `drafts` to the run's chain in their order and give the new head.

    One SQL statement. The caller holds the run's lock, gives its stored head and stores the
    one returned in the same transaction. A head that is not the newest is an
    `IntegrityError`. `at` is the clock as read under that lock.
    """
    return _append(tenant_id=tenant_id, run_id=run_id, head=head, at=at, drafts=drafts)


def record_for_tenant(*, tenant_id: int, drafts: Sequence[Draft]) -> None:
    """Append `drafts` to the tenant's own chain, for events without a run.

    Locks the tenant's chain row, so call it last in the transaction, and never in a command
    that has found its run. The time of the events is the database clock under that lock.
    """
    with transaction.atomic(savepoint=False):
        head, at = _lock_tenant_chain(tenant_id)
        head = _append(tenant_id=tenant_id, run_id=None, head=head, at=at, drafts=drafts)
        TenantChain.objects.filter(tenant_id=tenant_id).update(seq=head.seq, hash=head.hash)


def _lock_tenant_chain(tenant_id: int) -> tuple[Head, datetime]:
    # The clock is read outside the materialized part, hence after the lock is granted; in
    # the locking SELECT itself it would be read before the wait.
    sql = """
        WITH locked AS MATERIALIZED (
            SELECT seq, hash FROM audit_tenantchain WHERE tenant_id = %s FOR UPDATE
        )
        SELECT seq, hash, clock_timestamp() FROM locked
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [tenant_id])
        row = cursor.fetchone()
        if row is None:
            # Of two that create the row at once, one waits here and then locks the other's.
            cursor.execute(
                "INSERT INTO audit_tenantchain (tenant_id, seq, hash) VALUES (%s, %s, %s)"
                " ON CONFLICT (tenant_id) DO NOTHING",
                [tenant_id, EMPTY_HEAD.seq, EMPTY_HEAD.hash],
            )
            cursor.execute(sql, [tenant_id])
            row = cursor.fetchone()
    seq, last_hash, at = row
    return Head(seq, last_hash), at


def _append(
    *, tenant_id: int, run_id: str | None, head: Head, at: datetime, drafts: Sequence[Draft]
) -> Head:
    if not drafts:
        return head
    events = []
    for draft in drafts:
        event = _chained(draft, tenant_id=tenant_id, run_id=run_id, head=head, at=at)
        events.append(event)
        head = Head(event.run_seq, event.hash)
    _insert(events)
    return head


def _chained(
    draft: Draft, *, tenant_id: int, run_id: str | None, head: Head, at: datetime
) -> Event:
    refused = draft.refused
    event = Event(
        tenant_id=tenant_id,
        run_id=run_id,
        run_seq=head.seq + 1,
        type=str(draft.type),
        at=at,
        actor_kind=str(draft.actor.kind),
        actor_id=draft.actor.id,
        actor_name=draft.actor.name,
        interrupt_id=draft.interrupt_id,
        action_id=draft.action_id,
        agent_id=draft.agent_id,
        tool=draft.tool,
        from_state=_text(draft.from_state),
        to_state=_text(draft.to_state),
        revision=draft.revision,
        digest=draft.digest,
        content_sha256=draft.content_sha256,
        code=None if refused is None else str(refused.code),
        refused=None if refused is None else refused.text(),
        detail=canonical(dict(draft.detail)),
        previous_hash=head.hash,
    )
    event.hash = event.computed_hash()
    return event


def _text(value: str | None) -> str | None:
    """Give a plain string; psycopg would store the name of an enum's member."""
    return None if value is None else str(value)


def _insert(events: Sequence[Event]) -> None:
    # PostgreSQL evaluates VALUES row by row, so identities are drawn in this order.
    fields = [field for field in Event._meta.concrete_fields if field.attname != "id"]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    row = "(" + ", ".join(["%s"] * len(fields)) + ")"
    values = [getattr(event, field.attname) for event in events for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH added AS (INSERT INTO audit_event ({columns})"
            f" VALUES {', '.join([row] * len(events))} RETURNING id, tenant_id)"
            " INSERT INTO audit_unnumbered (event_id, tenant_id) SELECT id, tenant_id FROM added",
            values,
        )
