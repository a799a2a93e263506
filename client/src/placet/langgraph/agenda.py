"""What is to be looked at, and when: each key once, the sooner date counts."""

import threading
import time


class Agenda:
    """Keys with dates; may be used by several threads.

    A key that was taken is not given out again before it is put back or let go; what is noted for
    it meanwhile is kept.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[str, float] = {}
        self._taken: set[str] = set()

    def note(self, key: str, *, in_s: float = 0.0) -> None:
        """Have a key looked at in so long, if not sooner."""
        with self._changed:
            self._due[key] = min(self._due.get(key, float("inf")), time.monotonic() + in_s)
            self._changed.notify_all()

    def take(self, *, within_s: float) -> str | None:
        """The next key whose time has come, or None when none came in time."""
        until = time.monotonic() + within_s
        with self._changed:
            while True:
                now = time.monotonic()
                free = {key: at for key, at in self._due.items() if key not in self._taken}
                key = min(free, key=lambda each: free[each], default=None)
                if key is not None and free[key] <= now:
                    del self._due[key]
                    self._taken.add(key)
                    return key
                if now >= until:
                    return None
                soonest = until if key is None else min(until, free[key])
                self._changed.wait(soonest - now)

    def let_go(self, key: str) -> None:
        """Say that a key that was taken was looked at."""
        with self._changed:
            self._taken.discard(key)
            self._changed.notify_all()
