"""Giving committed events their tenant's number.

Invariant: a tenant's numbers are contiguous from 1 and nothing smaller ever appears later.
Ids of events are no such numbers: a transaction with a smaller id can commit later. So after
commit the visible rows of the queue are numbered in the order of their ids, all of one
snapshot, one transaction after the other. Of one chain no later event is visible before an
earlier one, because both were committed under one lock; so numbers follow every chain.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

_log = structlog.get_logger(__name__)

_ELECTION_KEY: Final = int.from_bytes(b"plc-elec")
_TURN_KEY: Final = int.from_bytes(b"plc-turn")

_NUMBER = """
    WITH taken AS (
        DELETE FROM audit_unnumbered WHERE event_id IN (
            SELECT event_id FROM audit_unnumbered ORDER BY event_id LIMIT %s
        ) RETURNING event_id, tenant_id
    ), last AS (
        SELECT tenant_id, coalesce(
            (SELECT max(n) FROM audit_numbered WHERE tenant_id = tenant.tenant_id), 0
        ) AS n
        FROM (SELECT DISTINCT tenant_id FROM taken) AS tenant
    ), given AS (
        INSERT INTO audit_numbered (tenant_id, n, event_id)
        SELECT tenant_id,
            last.n + row_number() OVER (PARTITION BY tenant_id ORDER BY taken.event_id),
            taken.event_id
        FROM taken JOIN last USING (tenant_id)
        RETURNING tenant_id
    )
    SELECT tenant_id, count(*) FROM given GROUP BY tenant_id
"""

Tell = Callable[[Iterable[int]], object]


def number_events(limit: int = 1000, *, tell: Tell | None = None) -> int:
    """Number up to `limit` waiting events and give how many were numbered.

    Two that run at once take turns: the second waits for the first's commit. `tell` is called
    after the commit, with the tenants that have new numbers.
    """
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        # A statement of its own, so that the snapshot of the next is taken with the turn.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_TURN_KEY])
        cursor.execute(_NUMBER, [limit])
        counts: dict[int, int] = dict(cursor.fetchall())
    if tell is not None and counts:
        tell(counts)
    return sum(counts.values())


class Numberer:
    """The one active numbering process, elected by a lock that dies with its holder.

    Election keeps standbys quiet; `number_events` is right without it. The lock lives on a
    connection of its own, outside any pool, and only the thread that acquired may use it.
    """

    def __init__(self, *, tell: Tell | None = None) -> None:
        self._tell = tell
        self._elector: BaseDatabaseWrapper | None = None
        self._is_elected = False

    @property
    def is_elected(self) -> bool:
        """Whether this was the active one when it last looked."""
        return self._is_elected

    def acquire(self) -> bool:
        """Try to become the active one without waiting; True while this one is.

        Raises the database's error, as not elected, when the connection is lost.
        """
        try:
            was_elected, self._is_elected = self._is_elected, self._is_lock_held()
        except (DatabaseError, InterfaceError):
            self.release()
            raise
        if self._is_elected and not was_elected:
            _log.info("audit.numbering_taken")
        return self._is_elected

    def step(self, limit: int = 1000) -> int:
        """Number a batch if this is, or can become, the active one; give how many."""
        return number_events(limit, tell=self._tell) if self.acquire() else 0

    def release(self) -> None:
        """Let another take over; harmless when not elected."""
        elector, was_elected = self._elector, self._is_elected
        self._elector, self._is_elected = None, False
        if elector is None:
            return
        if was_elected:
            # A closed session ends a moment later; another may take over at once.
            with suppress(DatabaseError, InterfaceError), elector.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_ELECTION_KEY])
        elector.close()

    def _is_lock_held(self) -> bool:
        if self._elector is None:
            self._elector = _own_connection()
        # Asked again even when elected: a session that is gone has lost its lock.
        sql = "SELECT true" if self._is_elected else "SELECT pg_try_advisory_lock(%s)"
        with self._elector.cursor() as cursor:
            cursor.execute(sql, None if self._is_elected else [_ELECTION_KEY])
            (row,) = cursor.fetchall()
        return bool(row[0])


def _own_connection() -> BaseDatabaseWrapper:
    # A pool would hand the session, lock included, to somebody else.
    own = connection.copy()
    own.settings_dict["OPTIONS"].pop("pool", None)
    return own
