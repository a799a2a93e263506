"""Seals: each commits to the numbered events since the one before it, and to that one.

Invariant: seals only grow, like the events. The root of a seal is the Merkle tree hash over the
hashes of its events in the order of their numbers; its own hash covers the hash of the seal
before. So one seal commits to everything that was numbered until then, and each is written to
the log as it is made: who keeps logs elsewhere keeps a witness that no database role can change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import IntegrityError, connection, transaction

from audit.merkle import merkle_root
from audit.models import Event, Seal
from placet.protocol.reading import JSONValue

SEAL_EVENTS: Final = 1000
"""The most events of one seal; what is beyond goes into the next."""

BEHIND: Final = """
    FROM audit_tenantchain chain
    LEFT JOIN LATERAL (
        SELECT seq, last_n, hash FROM audit_seal
        WHERE tenant_id = chain.tenant_id ORDER BY seq DESC LIMIT 1
    ) seal ON true
    CROSS JOIN LATERAL (
        SELECT n FROM audit_numbered
        WHERE tenant_id = chain.tenant_id ORDER BY n DESC LIMIT 1
    ) newest
    WHERE newest.n > coalesce(seal.last_n, 0)
"""
"""Tenants with numbered events that have no seal yet: their last `seal` and `newest` number."""

_UNSEALED = f"""
    SELECT chain.tenant_id, coalesce(seal.seq, 0), coalesce(seal.last_n, 0),
        coalesce(seal.hash, ''), statement_timestamp() {BEHIND}
"""

_log = structlog.get_logger(__name__)


def seal_events() -> int:
    """Seal what is numbered and not sealed yet, `SEAL_EVENTS` a tenant, and give how many.

    Numbers become visible in their order, so all below the newest are there. Of two that seal
    at once the second finds its place taken and adds nothing.
    """
    with connection.cursor() as cursor:
        cursor.execute(_UNSEALED)
        rows = cursor.fetchall()
    return sum(_seal(Seal(tenant_id=t, seq=s, last_n=n, hash=h, at=at)) for t, s, n, h, at in rows)


def _seal(last: Seal) -> int:
    """Make the seal after this one; `at` is that of the new one."""
    hashes = _hashes(last.tenant_id, last.last_n)
    seal = Seal(
        tenant_id=last.tenant_id,
        seq=last.seq + 1,
        last_n=last.last_n + len(hashes),
        root=_root(hashes),
        previous_hash=last.hash,
        at=last.at,
    )
    seal.hash = seal.computed_hash()
    try:
        with transaction.atomic():
            seal.save(force_insert=True)
    except IntegrityError:
        return 0  # somebody else was faster
    _log.info(
        "audit.sealed", tenant=seal.tenant_id, seal=seal.seq, last_n=seal.last_n, hash=seal.hash
    )
    return len(hashes)


def _hashes(tenant_id: int, after: int) -> list[str]:
    events = Event.objects.filter(
        tenant_id=tenant_id,
        numbered__tenant_id=tenant_id,
        numbered__n__gt=after,
        numbered__n__lte=after + SEAL_EVENTS,
    )
    return list(events.order_by("numbered__n").values_list("hash", flat=True))


def _root(hashes: list[str]) -> str:
    return merkle_root([text.encode() for text in hashes])


@dataclass(frozen=True, slots=True)
class LastSeal:
    """What the newest seal says, to be compared with what the log said."""

    seq: int
    last_n: int
    hash: str

    def shape(self) -> dict[str, JSONValue]:
        """Give it as JSON members."""
        return {"seq": self.seq, "last_n": self.last_n, "hash": self.hash}


class SealCheck:
    """Compares a tenant's seals with its events, which are given in the order of their numbers."""

    def __init__(self, tenant_id: int) -> None:
        seals = Seal.objects.filter(tenant_id=tenant_id).order_by("seq")
        self._seals: Iterator[Seal] = seals.iterator(chunk_size=SEAL_EVENTS)
        self._ahead = next(self._seals, None)
        self._hashes: list[str] = []
        self.last: LastSeal | None = None

    @property
    def is_reached(self) -> bool:
        """Whether the events that were given go as far as the seals."""
        return self._ahead is None

    def fits(self, n: int, event_hash: str) -> bool:
        """Whether no seal contradicts the events up to this one."""
        if self._ahead is None:
            return True
        self._hashes.append(event_hash)
        if n < self._ahead.last_n:
            return len(self._hashes) < SEAL_EVENTS
        seal, self._ahead = self._ahead, next(self._seals, None)
        root, self._hashes = _root(self._hashes), []
        before = self.last or LastSeal(0, 0, "")
        self.last = LastSeal(seal.seq, seal.last_n, seal.hash)
        return (
            (seal.seq, seal.last_n, seal.root) == (before.seq + 1, n, root)
            and seal.previous_hash == before.hash
            and seal.hash == seal.computed_hash()
        )
