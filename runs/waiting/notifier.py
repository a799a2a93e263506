"""Sends wake-ups after commit, from a thread and a connection of its own.

NOTIFY inside a command's transaction would hold a lock of the whole cluster over the
flush to disk, so it is sent afterwards, and the ids of many commits in one statement. A
wake-up that is lost costs its waiter about a second (the hub looks by itself).
"""

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterable, Iterator

import psycopg
import structlog

from runs.waiting.connecting import CHANNEL, connection_parameters

PAUSE_S = 0.008
PAUSE_AFTER_LOSS_S = 0.5
PATIENCE_S = 1.0
MOST_IDS = 50_000
PAYLOAD_BYTES = 7_900  # PostgreSQL takes less than 8000

_FEED = "events_"

log = structlog.get_logger()


def tenant_key(tenant_id: int) -> str:
    """The id that is woken with any question of a tenant's, for whoever watches them all."""
    return f"tenant_{tenant_id}"


def feed_key(tenant_id: int) -> str:
    """The id that is woken when a tenant's events got numbers."""
    return f"{_FEED}{tenant_id}"


def feed_tenant_id(key: str) -> int | None:
    """The tenant of such an id; None where it is none."""
    return int(key.removeprefix(_FEED)) if key.startswith(_FEED) else None


class Notifier:
    """Collects ids and notifies at once when idle, else every `PAUSE_S`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sender: _Sender | None = None
        self._parents: _Sender | None = None

    def wake(self, ids: Iterable[str]) -> None:
        """Wake whoever waits for these ids, in any process; returns at once, never fails."""
        with self._lock:
            if self._sender is None or not self._sender.is_alive():
                self._sender = _Sender()
                with contextlib.suppress(RuntimeError):  # at exit no thread starts any more
                    self._sender.start()
            self._sender.add(ids)

    def close(self) -> None:
        """Send what was collected, for `PATIENCE_S` at most, and let the connection go."""
        with self._lock:
            sender, self._sender = self._sender, None
        if sender is not None and sender.is_alive():
            sender.end()
            sender.join(PATIENCE_S)

    def forget_parent(self) -> None:
        """Start afresh in a forked child; the connection stays the parent's, unclosed."""
        self._parents = self._sender
        self._lock = threading.Lock()
        self._sender = None


class _Sender(threading.Thread):
    """Sends the ids of one notifier; a daemon, so that it keeps no process alive."""

    def __init__(self) -> None:
        super().__init__(name="placet-notifier", daemon=True)
        self._changed = threading.Condition()
        self._ids: set[str] = set()
        self._is_ending = False
        self._connection: psycopg.Connection | None = None

    def add(self, ids: Iterable[str]) -> None:
        with self._changed:
            if len(self._ids) < MOST_IDS:
                self._ids.update(ids)
            self._changed.notify()

    def end(self) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify()

    def run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ids or self._is_ending)
                ids, self._ids = self._ids, set()
                is_ending = self._is_ending
            if ids:
                self._send(ids)
            if is_ending:
                self._disconnect()
                return
            time.sleep(PAUSE_S)

    def _send(self, ids: set[str]) -> None:
        payloads = list(_payloads(sorted(ids)))
        for _ in range(2):  # the first may only find out that the connection is dead
            try:
                self._connected().execute(
                    "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload",
                    [CHANNEL, payloads],
                )
                return
            except (psycopg.Error, OSError) as error:
                log.warning("notifier.lost", error=type(error).__name__, ids=len(ids))
                self._disconnect()
        time.sleep(PAUSE_AFTER_LOSS_S)

    def _connected(self) -> psycopg.Connection:
        if self._connection is None:
            self._connection = psycopg.connect(**connection_parameters())
            # A wake-up need not survive a crash: no flush under the lock of NOTIFY.
            self._connection.execute("SET synchronous_commit = off")
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _payloads(ids: Iterable[str]) -> Iterator[str]:
    payload = ""
    for each in ids:
        if payload and len(payload) + len(each) >= PAYLOAD_BYTES:
            yield payload
            payload = ""
        payload = f"{payload},{each}" if payload else each
    if payload:
        yield payload


NOTIFIER = Notifier()
wake = NOTIFIER.wake


def wake_feeds(tenant_ids: Iterable[int]) -> None:
    """Wake whoever waits for events of these tenants; returns at once, never fails."""
    wake(map(feed_key, tenant_ids))


os.register_at_fork(after_in_child=NOTIFIER.forget_parent)
atexit.register(NOTIFIER.close)
