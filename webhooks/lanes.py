"""What is claimed and not yet sent, handed to senders so that no receiver keeps them all.

One that takes what it gets has up to `PER_ENDPOINT` senders, one whose last attempt failed a
single one, and all that fail together at most half: a receiver that hangs holds up itself alone.
"""

import threading
import time
from collections import Counter, deque
from typing import Final

from webhooks.sending import Parcel, Tried

SENDERS: Final = 32
PER_ENDPOINT: Final = 8
ENOUGH: Final = 100
"""So many parcels of one endpoint are claimed ahead; other endpoints still get theirs."""


class Lanes:
    """Claimed parcels by endpoint; senders take from them, one thread fills them."""

    def __init__(self, senders: int = SENDERS) -> None:
        self._changed = threading.Condition()
        self._ready: dict[str, deque[Parcel]] = {}
        self._count = 0
        self._busy: Counter[str] = Counter()
        self._failing: set[str] = set()
        self._most_failing = max(1, senders // 2)
        self._is_closed = False

    def put(self, parcels: list[Parcel]) -> None:
        """Add what was claimed."""
        with self._changed:
            self._failing |= {parcel.endpoint_id for parcel in parcels if parcel.is_failing}
            for parcel in parcels:
                self._ready.setdefault(parcel.endpoint_id, deque()).append(parcel)
            self._count += len(parcels)
            self._changed.notify()  # whoever takes one wakes the next while there is more to take

    def take(self, done: Tried | None = None) -> Parcel | None:
        """Give back what is done and wait for the next parcel; None when the lanes are closed."""
        with self._changed:
            if done is not None:
                self._give_back(done)
            while True:
                if self._is_closed:
                    return None
                if (parcel := self._next()) is not None:
                    if not all(self._waits(lane) for lane in self._ready.values()):
                        self._changed.notify()
                    return parcel
                self._changed.wait()

    def ready(self) -> int:
        """How many wait for a sender."""
        with self._changed:
            return self._count

    def under_way(self) -> int:
        """How many senders are at work."""
        with self._changed:
            return self._busy.total()

    def full(self) -> list[str]:
        """The endpoints of which no more need be claimed now."""
        with self._changed:
            return [
                endpoint_id
                for endpoint_id, lane in self._ready.items()
                if len(lane) >= ENOUGH or endpoint_id in self._failing
            ]

    def is_flowing(self) -> bool:
        """Whether an endpoint that takes what it gets has so much ready that more may be due."""
        with self._changed:
            return any(
                len(lane) >= ENOUGH and endpoint_id not in self._failing
                for endpoint_id, lane in self._ready.items()
            )

    def close(self) -> list[Parcel]:
        """Let no sender begin anew; gives what nobody began."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            return [parcel for lane in self._ready.values() for parcel in lane]

    def _give_back(self, done: Tried) -> None:
        endpoint_id = done.parcel.endpoint_id
        self._busy[endpoint_id] -= 1
        if not self._busy[endpoint_id]:
            del self._busy[endpoint_id]
        if done.is_taken:
            self._failing.discard(endpoint_id)
        else:
            self._failing.add(endpoint_id)

    def _next(self) -> Parcel | None:
        for endpoint_id, lane in self._ready.items():
            if self._waits(lane):
                continue
            parcel = lane.popleft()
            self._count -= 1
            # The endpoint goes behind the others, so that each has its turn.
            del self._ready[endpoint_id]
            if lane:
                self._ready[endpoint_id] = lane
            if parcel.start_by < time.monotonic():
                return self._next()
            self._busy[endpoint_id] += 1
            return parcel
        return None

    def _waits(self, lane: "deque[Parcel]") -> bool:
        endpoint_id = lane[0].endpoint_id
        if endpoint_id not in self._failing:
            return self._busy[endpoint_id] >= PER_ENDPOINT
        at_failing = sum(self._busy[failing] for failing in self._failing)
        return self._busy[endpoint_id] >= 1 or at_failing >= self._most_failing
