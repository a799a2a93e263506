"""The leases that this process holds, shared by all calls of a run that are under way in it."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from placet.client import Run
from placet.lease import Lease

HOLDER = f"{socket.gethostname()[:100]}:{os.getpid()}"
LEASE_S = 60


@dataclass
class _Held:
    """A run under one lease, for as long as somebody uses it."""

    run: Run
    users: int = 0
    lease: Lease | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Holdings:
    """Leases by run, taken with the first call and given back with the last.

    LangGraph runs the calls of one turn side by side, and a run has one lease.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def handle(self, run: Run) -> Run:
        """The handle that carries the lease's token, if this process holds one."""
        with self._lock:
            held = self._held.get(run.id)
        return held.run if held is not None and held.lease is not None else run

    @contextmanager
    def lease(self, run: Run) -> Iterator[Lease]:
        """The lease; raises Refused, `lease_held` where another process has it."""
        with self._lock:
            held = self._held.setdefault(run.id, _Held(run))
            held.users += 1
        try:
            with held.lock:
                lease = held.lease = held.lease or _taken(held.run)
            yield lease
        finally:
            self._leave(held)

    def _leave(self, held: _Held) -> None:
        """Give the lease back with the last user; who comes meanwhile waits and takes it anew."""
        with held.lock:
            with self._lock:
                held.users -= 1
            if held.users == 0 and held.lease is not None:
                held.lease.__exit__(None, None, None)
                held.lease = None
            with self._lock:
                if held.users == 0:
                    self._held.pop(held.run.id, None)


def _taken(run: Run) -> Lease:
    return run.lease(holder=HOLDER, ttl_s=LEASE_S).__enter__()


HOLDINGS = Holdings()
