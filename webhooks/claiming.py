"""Deliveries claimed in batches, and what became of them written in batches.

Guards that of any number of workers one holds a delivery at a time, and that an attempt which
took longer than its claim ends nothing: it is noted as an attempt and no more.
"""

import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection

from audit.record import Actor, ActorKind
from runs.sealing import Unreadable, unseal
from webhooks.models import Endpoint
from webhooks.models.endpoint import PURPOSE
from webhooks.rules.kinds import DeliveryState, DisabledBecause
from webhooks.rules.retrying import GONE, disabled_because, retry_in_s
from webhooks.rules.signing import key_of
from webhooks.sending import Parcel, Tried

BATCH: Final = 100
CLAIM_S: Final = 120
"""How long a claim holds; longer than any attempt, also one that waits for its turn."""

START_WITHIN_S: Final = 60.0

CLAIM = """
WITH taken AS (
    SELECT d.id FROM webhooks_delivery d JOIN webhooks_endpoint e ON e.id = d.endpoint_id
    WHERE d.due_at <= statement_timestamp() AND e.is_active
      AND (d.claimed_until IS NULL OR d.claimed_until < statement_timestamp())
      AND d.endpoint_id <> ALL(%(full)s::text[])
    ORDER BY d.due_at LIMIT %(most)s FOR UPDATE OF d SKIP LOCKED
)
UPDATE webhooks_delivery d
SET claimed_until = statement_timestamp() + make_interval(secs => %(claim_s)s)
FROM taken, webhooks_endpoint e WHERE d.id = taken.id AND e.id = d.endpoint_id
RETURNING d.id, d.tenant_id, d.body, d.tries, d.claimed_until, e.id, e.url, e.sealed,
    CASE WHEN e.before_until > statement_timestamp() THEN e.sealed_before END, e.failures > 0
"""

RELEASE = """
UPDATE webhooks_delivery d SET claimed_until = NULL
FROM unnest(%(ids)s::text[], %(claims)s::timestamptz[]) AS held (id, claimed_until)
WHERE d.id = held.id AND d.claimed_until = held.claimed_until
"""

FINISH = """
WITH tried AS (
    SELECT * FROM unnest(
        %(ids)s::text[], %(claims)s::timestamptz[], %(tenants)s::bigint[], %(at)s::timestamptz[],
        %(took)s::integer[], %(status)s::integer[], %(failures)s::text[], %(answers)s::bytea[],
        %(states)s::text[], %(waits)s::float8[]
    ) AS tried (id, claimed_until, tenant_id, at, took_ms, status, failure, answer, state, wait_s)
), noted AS (
    INSERT INTO webhooks_attempt (tenant_id, delivery_id, at, took_ms, status, failure, answer)
    SELECT tenant_id, id, at, took_ms, status, failure, answer FROM tried
)
UPDATE webhooks_delivery d SET
    tries = d.tries + 1, claimed_until = NULL,
    state = CASE WHEN goes_on.is_so THEN 'waiting'
                 WHEN tried.state = 'waiting' THEN 'failed' ELSE tried.state END,
    due_at = CASE WHEN goes_on.is_so
                  THEN statement_timestamp() + make_interval(secs => tried.wait_s) END,
    ended_at = CASE WHEN NOT goes_on.is_so THEN statement_timestamp() END
FROM tried, webhooks_endpoint e,
    LATERAL (SELECT tried.state = 'waiting' AND e.is_active AS is_so) AS goes_on
WHERE d.id = tried.id AND d.claimed_until = tried.claimed_until AND e.id = d.endpoint_id
"""

RECOVERED = """
UPDATE webhooks_endpoint SET failures = 0, failing_since = NULL
WHERE id = ANY(%(ids)s) AND failures > 0
"""

FAILED = """
UPDATE webhooks_endpoint e
SET failures = e.failures + failed.count, failing_since = coalesce(e.failing_since, failed.at)
FROM unnest(%(ids)s::text[], %(counts)s::integer[], %(at)s::timestamptz[])
    AS failed (id, count, at)
WHERE e.id = failed.id AND e.is_active
RETURNING e.id, e.failures, e.failing_since, statement_timestamp()
"""

SYSTEM = Actor(kind=ActorKind.SYSTEM, id="placet", name="Placet")

log = structlog.get_logger(__name__)


def claim(most: int = BATCH, *, full: Collection[str] = ()) -> list[Parcel]:
    """Take up to so many deliveries that are due, except of endpoints that are `full`.

    An endpoint whose secret cannot be read any more is disabled, since it can be sent nothing.
    """
    given: dict[str, Any] = {"most": most, "full": list(full), "claim_s": CLAIM_S}
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, given)
        rows = cursor.fetchall()
    start_by = time.monotonic() + START_WITHIN_S
    parcels, unsendable, unreadable = [], {}, {}
    for row in rows:
        id_, tenant_id, body, tries, claimed_until, endpoint_id, url, *sealed, is_failing = row
        keys = _keys(*sealed, settings.SECRET_KEY)
        if not keys:
            unsendable[id_], unreadable[endpoint_id] = claimed_until, tenant_id
            continue
        parcels.append(
            Parcel(
                id=id_,
                tenant_id=tenant_id,
                endpoint_id=endpoint_id,
                url=url,
                keys=keys,
                body=bytes(body),
                tries=tries,
                claimed_until=claimed_until,
                is_failing=is_failing,
                start_by=start_by,
            )
        )
    _let_go(unsendable)  # so that they are given up with their endpoint
    for endpoint_id, tenant_id in unreadable.items():
        _disable(tenant_id, endpoint_id, DisabledBecause.UNREADABLE)
    return parcels


def release(parcels: Sequence[Parcel]) -> None:
    """Let others take at once what was claimed and not begun."""
    _let_go({parcel.id: parcel.claimed_until for parcel in parcels})


def _let_go(claims: Mapping[str, datetime]) -> None:
    if claims:
        with connection.cursor() as cursor:
            cursor.execute(RELEASE, {"ids": [*claims], "claims": [*claims.values()]})


def finish(tried: Sequence[Tried]) -> None:
    """Write what became of these attempts, when they are tried again, and how endpoints fare."""
    waits = [None if one.is_taken else _wait_s(one) for one in tried]
    states = [_state(one, wait_s) for one, wait_s in zip(tried, waits, strict=True)]
    given: dict[str, Any] = {
        "ids": [one.parcel.id for one in tried],
        "claims": [one.parcel.claimed_until for one in tried],
        "tenants": [one.parcel.tenant_id for one in tried],
        "at": [one.at for one in tried],
        "took": [one.took_ms for one in tried],
        "status": [one.status for one in tried],
        "failures": [one.failure.value if one.failure else None for one in tried],
        "answers": [one.answer for one in tried],
        "states": [state.value for state in states],
        "waits": waits,
    }
    with connection.cursor() as cursor:
        cursor.execute(FINISH, given)
    _note_health(tried)


def _wait_s(one: Tried) -> float | None:
    return retry_in_s(one.parcel.tries + 1, random.random())


def _state(one: Tried, wait_s: float | None) -> DeliveryState:
    if one.is_taken:
        return DeliveryState.DELIVERED
    return DeliveryState.FAILED if wait_s is None else DeliveryState.WAITING


def _note_health(tried: Iterable[Tried]) -> None:
    """Count failures in a row; nothing is written of an endpoint that works as before."""
    taken = {one.parcel.endpoint_id for one in tried if one.is_taken}
    recovered = {one.parcel.endpoint_id for one in tried if one.is_taken and one.parcel.is_failing}
    failed: dict[str, list[Tried]] = {}
    for one in tried:
        if not one.is_taken and (one.parcel.endpoint_id not in taken or one.status == GONE):
            failed.setdefault(one.parcel.endpoint_id, []).append(one)
    if recovered:
        with connection.cursor() as cursor:
            cursor.execute(RECOVERED, {"ids": list(recovered)})
    if failed:
        _note_failures(failed)


def _note_failures(failed: dict[str, list[Tried]]) -> None:
    given: dict[str, Any] = {
        "ids": list(failed),
        "counts": [len(ones) for ones in failed.values()],
        "at": [min(one.at for one in ones) for ones in failed.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(FAILED, given)
        rows: list[tuple[str, int, datetime, datetime]] = cursor.fetchall()
    for endpoint_id, failures, failing_since, now in rows:
        for one in failed[endpoint_id]:
            because = disabled_because(
                status=one.status, failures=failures, failing_since=failing_since, now=now
            )
            if because is not None:
                _disable(one.parcel.tenant_id, endpoint_id, because)
                break


def _disable(tenant_id: int, endpoint_id: str, because: DisabledBecause) -> None:
    endpoint = Endpoint.objects.get(tenant_id=tenant_id, pk=endpoint_id)
    if endpoint.disable(because, by=SYSTEM):
        log.warning("webhooks.endpoint_disabled", endpoint=endpoint_id, because=because.value)


@lru_cache(maxsize=1_000)
def _keys(sealed: str, sealed_before: str | None, _secret: str) -> tuple[bytes, ...]:
    """The keys that sign now, none where the endpoint's own cannot be read."""
    try:
        keys = [key_of(unseal(sealed, PURPOSE))]
    except Unreadable:
        return ()
    with suppress(Unreadable):
        keys += [key_of(unseal(sealed_before, PURPOSE))] if sealed_before else []
    return tuple(keys)
