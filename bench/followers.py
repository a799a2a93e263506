"""Readers of the feed over HTTP, and what is wrong with what they were told."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import placet

AT_A_TIME = 500
ENDED = "DONE"

Row = tuple[int, str | None, int]
"""An event: the tenant's number, its run, and the run's number."""


class Follower(threading.Thread):
    """Follows with `wait_s` until it is told that the run `last_run` is done.

    It lets its connection go from time to time, and goes on from the last number that it was told.
    """

    def __init__(self, url: str, key: str) -> None:
        super().__init__(name="follower", daemon=True)
        self._url, self._key = url, key
        self.last_run = ""
        self.told: list[placet.Event] = []
        self.told_at: list[float] = []
        self.start()

    def run(self) -> None:
        while not self._follow_some():
            pass

    def _follow_some(self) -> bool:
        after = self.told[-1].n if self.told else 0
        with placet.Client(self._url, self._key) as client:
            for count, event in enumerate(client.events(after=after), 1):
                self.told_at.append(time.monotonic())
                self.told.append(event)
                if (event.run_id, event.data["to"]) == (self.last_run, ENDED):
                    return True
                if count == AT_A_TIME:
                    return False
        return False


@dataclass(frozen=True, slots=True)
class Faults:
    """How often a reader was told wrongly."""

    missing: int
    repeated: int
    reordered: int
    strange: int

    @classmethod
    def of(cls, told: Sequence[placet.Event], right: Sequence[Row]) -> Faults:
        """Compare what was told with the rows of the record, in order of their numbers."""
        rows = [(event.n, event.run_id, event.run_seq) for event in told]
        return cls(
            missing=len(set(right) - set(rows)),
            repeated=len(rows) - len(set(rows)),
            reordered=sum(one[0] > other[0] for one, other in pairwise(rows)),
            strange=len(set(rows) - set(right)),
        )


NONE = Faults(missing=0, repeated=0, reordered=0, strange=0)

RECORD = """
    SELECT numbered.n, event.run_id, event.run_seq, event.agent_id
    FROM audit_event event JOIN audit_numbered numbered ON numbered.event_id = event.id
    WHERE event.tenant_id = %s ORDER BY numbered.n
"""
"""The events of a tenant as they should be told."""
