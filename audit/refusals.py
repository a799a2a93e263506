"""Recording refusals without letting repetition fill the record.

Invariant: no refusal is lost. The first of equal refusals is an event at once; equal ones
within a minute raise a counter, and each counter becomes one more `command.refused` when
the next different refusal is recorded or when the sweeper flushes it.

Equal means the same tenant, run, caller, command, object, code and given digest (the
draft's `digest`). A run's windows change only under the run's lock. The tenant's are taken
row by row, before the tenant's chain is locked; rows that another transaction holds are
left to that one, or to the sweeper.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from audit.chain import Head
from audit.record import Actor, ActorKind, Draft, Refused, record, record_for_tenant
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex

WINDOW_S: Final = 60

_WINDOW: Final = f"interval '{WINDOW_S} seconds'"


def note_refusal(
    *,
    tenant_id: int,
    run_id: str,
    head: Head,
    at: datetime,
    draft: Draft,
    command: str,
    object_id: str | None,
) -> Head:
    """Record a refusal of a command that holds the run's lock, and give the run's new head.

    `draft.refused` is required; `command` and `object_id` are added to its detail. One
    statement for a repetition, two for a first refusal, three when counters are waiting.
    """
    scope = _Scope.of_run(tenant_id, run_id)
    draft = _with_object(draft, command=command, object_id=object_id)
    opened = _open(scope, draft, at)
    if not opened.is_first:
        return head
    waiting = _take_waiting(scope) if opened.is_waiting else []
    drafts = [*waiting, draft]
    return record(tenant_id=tenant_id, run_id=run_id, head=head, at=at, drafts=drafts)


def note_refusal_for_tenant(
    *, tenant_id: int, draft: Draft, command: str, object_id: str | None
) -> None:
    """Record a refusal of a command that found no run, on the tenant's own chain.

    Only a first refusal locks the tenant's chain. Counters of the same caller are flushed
    with it. Call it last in the transaction.
    """
    scope = _Scope.of_caller(tenant_id, draft.actor)
    draft = _with_object(draft, command=command, object_id=object_id)
    with transaction.atomic(savepoint=False):
        opened = _open(scope, draft, None)
        if opened.is_first:
            waiting = _take_waiting(scope) if opened.is_waiting else []
            record_for_tenant(tenant_id=tenant_id, drafts=[*waiting, draft])


def flush(*, tenant_id: int, run_id: str, head: Head, at: datetime) -> Head:
    """Close the run's windows that are over, record their counters, give the new head.

    The caller holds the run's lock and stores the head.
    """
    drafts = _close_due(_Scope.of_run(tenant_id, run_id), at)
    return record(tenant_id=tenant_id, run_id=run_id, head=head, at=at, drafts=drafts)


def flush_for_tenant(tenant_id: int) -> None:
    """Close the windows without a run that are over and record their counters."""
    with transaction.atomic(savepoint=False):
        drafts = _close_due(_Scope.of_tenant(tenant_id), None)
        if drafts:
            record_for_tenant(tenant_id=tenant_id, drafts=drafts)


def due_flushes(limit: int) -> list[tuple[int, str | None]]:
    """Give up to `limit` tenants and runs (None: the tenant's chain) to flush now.

    Windows that are over without a repetition are removed on the way.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM audit_refusalwindow WHERE fingerprint IN ("
            " SELECT fingerprint FROM audit_refusalwindow"
            f" WHERE count = 0 AND opened_at <= statement_timestamp() - {_WINDOW}"
            " FOR UPDATE SKIP LOCKED)"
        )
        cursor.execute(
            "SELECT tenant_id, run_id FROM audit_refusalwindow"
            f" WHERE count > 0 AND opened_at <= statement_timestamp() - {_WINDOW}"
            " GROUP BY tenant_id, run_id ORDER BY min(opened_at) LIMIT %s",
            [limit],
        )
        return [(tenant_id, run_id) for tenant_id, run_id in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Which windows are flushed together, as a condition of SQL and its values."""

    tenant_id: int
    run_id: str | None
    condition: str
    values: tuple[int | str, ...]

    @classmethod
    def of_run(cls, tenant_id: int, run_id: str) -> "_Scope":
        return cls(tenant_id, run_id, "tenant_id = %s AND run_id = %s", (tenant_id, run_id))

    @classmethod
    def of_tenant(cls, tenant_id: int) -> "_Scope":
        return cls(tenant_id, None, "tenant_id = %s AND run_id IS NULL", (tenant_id,))

    @classmethod
    def of_caller(cls, tenant_id: int, actor: Actor) -> "_Scope":
        whole = cls.of_tenant(tenant_id)
        condition = f"{whole.condition} AND actor_kind = %s AND actor_id = %s"
        return replace(whole, condition=condition, values=(tenant_id, str(actor.kind), actor.id))


@dataclass(frozen=True, slots=True)
class _Opened:
    """What became of a refusal's window, and whether counters of its scope are waiting."""

    is_first: bool
    is_waiting: bool


def _open(scope: _Scope, draft: Draft, at: datetime | None) -> _Opened:
    """Open the window of this refusal, or count a repetition in the one that is open.

    One statement decides, so of equal refusals at the same time exactly one is the first. A
    window that is over opens anew and keeps the count that still waits in it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO audit_refusalwindow AS held
                (fingerprint, tenant_id, run_id, actor_kind, actor_id, opened_at, count, draft)
            VALUES (%s, %s, %s, %s, %s, coalesce(%s, statement_timestamp()), 0, %s)
            ON CONFLICT (fingerprint) DO UPDATE SET
                opened_at = CASE WHEN held.opened_at > excluded.opened_at - {_WINDOW}
                    THEN held.opened_at ELSE excluded.opened_at END,
                count = CASE WHEN held.opened_at > excluded.opened_at - {_WINDOW}
                    THEN held.count + 1 ELSE held.count END
            RETURNING held.opened_at = coalesce(%s, statement_timestamp()),
                EXISTS (SELECT FROM audit_refusalwindow WHERE {scope.condition} AND count > 0)
            """,
            [
                _fingerprint(scope, draft),
                scope.tenant_id,
                scope.run_id,
                str(draft.actor.kind),
                draft.actor.id,
                at,
                _packed(draft),
                at,
                *scope.values,
            ],
        )
        (row,) = cursor.fetchall()
    return _Opened(is_first=row[0], is_waiting=row[1])


def _take_waiting(scope: _Scope) -> list[Draft]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH waiting AS (
                SELECT fingerprint, opened_at, count, draft FROM audit_refusalwindow
                WHERE {scope.condition} AND count > 0
                FOR UPDATE SKIP LOCKED
            ), emptied AS (
                UPDATE audit_refusalwindow SET count = 0 FROM waiting
                WHERE audit_refusalwindow.fingerprint = waiting.fingerprint
            )
            SELECT count, draft FROM waiting ORDER BY opened_at, fingerprint
            """,
            scope.values,
        )
        return _repetitions(cursor.fetchall())


def _close_due(scope: _Scope, at: datetime | None) -> list[Draft]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH closed AS (
                DELETE FROM audit_refusalwindow WHERE fingerprint IN (
                    SELECT fingerprint FROM audit_refusalwindow
                    WHERE {scope.condition}
                    AND opened_at <= coalesce(%s, statement_timestamp()) - {_WINDOW}
                    FOR UPDATE SKIP LOCKED
                ) RETURNING fingerprint, opened_at, count, draft
            )
            SELECT count, draft FROM closed WHERE count > 0 ORDER BY opened_at, fingerprint
            """,
            [*scope.values, at],
        )
        return _repetitions(cursor.fetchall())


def _repetitions(rows: Iterable[tuple[int, str]]) -> list[Draft]:
    drafts = []
    for count, packed in rows:
        draft = _unpacked(packed)
        drafts.append(replace(draft, detail={**draft.detail, "repeated": count}))
    return drafts


def _with_object(draft: Draft, *, command: str, object_id: str | None) -> Draft:
    return replace(draft, detail={**draft.detail, "command": command, "object": object_id})


def _fingerprint(scope: _Scope, draft: Draft) -> str:
    if draft.refused is None:
        raise ValueError("the draft of a refusal says what was refused")
    actor, detail = draft.actor, draft.detail
    caller = [str(actor.kind), actor.id]
    wanted = [detail["command"], detail["object"], str(draft.refused.code), draft.digest]
    return sha256_hex(canonical([scope.tenant_id, scope.run_id, *caller, *wanted]))


def _packed(draft: Draft) -> str:
    return canonical(asdict(draft))


def _unpacked(text: str) -> Draft:
    members: Mapping[str, Any] = json.loads(text)
    actor, refused = members["actor"], members["refused"]
    return Draft(
        **{
            **members,
            "actor": Actor(ActorKind(actor["kind"]), actor["id"], actor["name"]),
            "refused": Refused(**refused),
        }
    )
