"""The courier: reads events, fills the outbox and sends, in a thread of its own of the worker.

A receiver that hangs holds one of a few senders for as long as its time-outs allow, and never
more than half of them; nothing else of the worker waits for it.
"""

import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections

from notices.fanout import fan_out, forget_old, read_events
from notices.jobs import Parcel, claim, finish, parcels
from notices.senders.outcome import Failed, Outcome

EVERY_S: Final = 1.0
FORGET_EVERY_S: Final = 3600.0
SENDERS: Final = 8
PER_CHANNEL: Final = SENDERS // 2
START_WITHIN_S: Final = 60.0
"""A message that no sender took up in this time is left to its next claim."""

log = structlog.get_logger(__name__)


class Courier:
    """Sends what is due with a few senders at once; one thread calls it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(SENDERS, thread_name_prefix="notices")
        self._ready: list[tuple[Parcel, float]] = []
        self._under_way: dict[Future[Outcome | None], Parcel] = {}

    def step(self) -> None:
        """Do what can be done now without waiting for a receiver."""
        self._collect()
        read_events()
        fan_out()
        self._claim()
        self._launch()

    def settle(self) -> None:
        """Wait until what was claimed is sent or not, and note what became of it."""
        while self._ready or self._under_way:
            wait(self._under_way)
            self._collect()
            self._launch()

    def close(self) -> None:
        """Take up nothing more; what is under way is finished, what is ready left to others."""
        self._ready.clear()
        self._pool.shutdown(wait=True)
        self._collect()

    def _collect(self) -> None:
        for future in [future for future in self._under_way if future.done()]:
            outcome = future.result()
            if outcome is not None:
                # Where the database is lost the outcome is kept, and noted another time.
                finish(self._under_way[future], outcome)
            del self._under_way[future]

    def _claim(self) -> None:
        counts = self._counts()
        counts.update(parcel.channel for parcel, _ in self._ready)
        busy = [channel for channel, count in counts.items() if count >= PER_CHANNEL]
        free = SENDERS - counts.total()
        if free > 0:
            until = time.monotonic() + START_WITHIN_S
            self._ready += [(parcel, until) for parcel in parcels(claim(free, busy))]

    def _launch(self) -> None:
        waiting, counts = [], self._counts()
        for parcel, until in self._ready:
            if counts.total() < SENDERS and counts[parcel.channel] < PER_CHANNEL:
                self._under_way[self._pool.submit(_attempt, parcel, until)] = parcel
                counts[parcel.channel] += 1
            else:
                waiting.append((parcel, until))
        self._ready = waiting

    def _counts(self) -> Counter[str]:
        return Counter(parcel.channel for parcel in self._under_way.values())


def _attempt(parcel: Parcel, until: float) -> Outcome | None:
    """The outcome of sending, None where it came too late to be tried."""
    if time.monotonic() > until:
        return None
    try:
        return parcel.send()
    except Exception as error:  # whatever a sender does not know must not stop the others
        log.exception("notices.sender_failed", channel=parcel.channel)
        return Failed(type(error).__name__)


def is_configured() -> bool:
    """Whether the operator gave any way to reach people."""
    return bool(settings.PLACET_NOTICE_CHANNELS) or settings.PLACET_WEBPUSH_KEY is not None


def run(ending: threading.Event) -> None:
    """Carry messages until `ending` is set; a lost database is waited for, a fault logged."""
    if not is_configured():
        return
    courier = Courier()
    forgot_at = 0.0
    while not ending.is_set():
        try:
            courier.step()
            if time.monotonic() - forgot_at >= FORGET_EVERY_S:
                forgot_at = time.monotonic()
                forget_old()
        except (DatabaseError, InterfaceError) as error:
            log.warning("notices.database_unreachable", error=type(error).__name__)
        except Exception:  # a fault of ours must not end the sending of all messages
            log.exception("notices.failed")
        close_old_connections()
        ending.wait(EVERY_S)
    _end(courier)


def _end(courier: Courier) -> None:
    try:
        courier.close()
    except (DatabaseError, InterfaceError) as error:
        log.warning("notices.database_unreachable", error=type(error).__name__)
    close_old_connections()
