"""The courier: makes deliveries of events, claims and sends them, in threads of the worker.

One thread does all that touches the database, in batches; the senders touch none, so a receiver
that hangs holds neither a connection nor a transaction.
"""

import queue
import threading
import time
from contextlib import suppress
from typing import Final

import structlog
from django.db import DatabaseError, InterfaceError, close_old_connections

from webhooks.claiming import BATCH, claim, finish, release
from webhooks.fanout import fan_out
from webhooks.forgetting import forget_old
from webhooks.lanes import SENDERS, Lanes
from webhooks.sending import TIMEOUT_S, Tried, attempt, broken

EVERY_S: Final = 0.25
AT_WORK_S: Final = 0.01
READY: Final = 10 * BATCH
"""So many are claimed ahead at most, of all endpoints together."""

FORGET_EVERY_S: Final = 3600.0

log = structlog.get_logger(__name__)


class Courier:
    """Sends what is due with a number of senders at once; one thread calls it."""

    def __init__(self, *, senders: int = SENDERS, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._lanes = Lanes(senders)
        self._arrived: queue.SimpleQueue[Tried] = queue.SimpleQueue()
        self._told: list[Tried] = []
        self._read_at = 0.0
        self.is_more_due = True
        self._senders = [
            threading.Thread(target=self._send, name=f"webhooks-{number}", daemon=True)
            for number in range(senders)
        ]
        for sender in self._senders:
            sender.start()

    def step(self) -> bool:
        """Do what can be done now without waiting for a receiver; whether more is under way."""
        self._note()
        if time.monotonic() - self._read_at >= EVERY_S:
            self._read_at = time.monotonic()
            fan_out()
            self.is_more_due = True
        while self.is_more_due and self._lanes.ready() < READY:
            is_flowing = self._lanes.is_flowing()
            claimed = claim(full=self._lanes.full())
            self._lanes.put(claimed)
            self.is_more_due = len(claimed) == BATCH or is_flowing
            if not claimed:
                break
        return self.is_at_work

    @property
    def is_at_work(self) -> bool:
        """Whether anything is due, or claimed and not noted yet."""
        at_work = self._lanes.ready() + self._lanes.under_way()
        return bool(self.is_more_due or at_work or self._told or not self._arrived.empty())

    def close(self) -> None:
        """Take up nothing more; what is under way is finished, what is ready left to others."""
        left = self._lanes.close()
        for sender in self._senders:
            sender.join()
        self._note(is_ending=True)
        release(left)

    def _note(self, *, is_ending: bool = False) -> None:
        """Write what became of attempts, those that must look alike not before their time."""
        with suppress(queue.Empty):
            while True:
                self._told.append(self._arrived.get_nowait())
        now = time.monotonic()
        due = [one for one in self._told if is_ending or one.tell_at <= now]
        held = [one for one in self._told if not is_ending and one.tell_at > now]
        while due:
            # Where the database is lost the outcomes are kept, and noted another time.
            finish(due[:BATCH])
            due = due[BATCH:]
            self._told = held + due

    def _send(self) -> None:
        parcel = self._lanes.take()
        while parcel is not None:
            try:
                tried = attempt(parcel, timeout_s=self._timeout_s)
            except Exception:  # whatever the sender does not know must not stop the others
                log.exception("webhooks.sender_failed", endpoint=parcel.endpoint_id)
                tried = broken(parcel)
            self._arrived.put(tried)
            parcel = self._lanes.take(done=tried)


def run(ending: threading.Event) -> None:
    """Deliver until `ending` is set; a lost database is waited for, a fault logged."""
    courier = Courier()
    forgot_at = 0.0
    while not ending.is_set():
        is_at_work = False
        try:
            is_at_work = courier.step()
            if time.monotonic() - forgot_at >= FORGET_EVERY_S:
                forgot_at = time.monotonic()
                forget_old()
        except (DatabaseError, InterfaceError) as error:
            log.warning("webhooks.database_unreachable", error=type(error).__name__)
        except Exception:  # a fault of ours must not end the sending of all webhooks
            log.exception("webhooks.failed")
        if not is_at_work:
            close_old_connections()
        ending.wait(AT_WORK_S if is_at_work else EVERY_S)
    _end(courier)


def _end(courier: Courier) -> None:
    try:
        courier.close()
    except (DatabaseError, InterfaceError) as error:
        log.warning("webhooks.database_unreachable", error=type(error).__name__)
    close_old_connections()
