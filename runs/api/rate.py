"""How many requests one key may make: a token bucket a key, in this process's memory.

A limit protects the server, so it must cost nothing and wait for nothing. Each serving process
counts for itself.
"""

import threading
import time
from collections import OrderedDict

KEPT = 10_000


class Buckets:
    """Token buckets by name; a bucket refills evenly up to `count` in `period_s`."""

    def __init__(self, count: int, period_s: float) -> None:
        self._count = count
        self._period_s = period_s
        self._lock = threading.Lock()
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one token; 0.0 when there was one, else the seconds until there is."""
        now = time.monotonic()
        with self._lock:
            level, at = self._levels.pop(name, (float(self._count), now))
            level = min(self._count, level + (now - at) * self._count / self._period_s)
            is_enough = level >= 1
            self._levels[name] = (level - 1 if is_enough else level, now)
            if len(self._levels) > KEPT:
                self._levels.popitem(last=False)
        return 0.0 if is_enough else (1 - level) * self._period_s / self._count
