"""The moment by which something has to be over, on a clock that nobody sets."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of `time.monotonic()`."""

    at_s: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Give the moment so many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left_s(self) -> float:
        """Give how long is left, always more than 0; raises TimeoutError when nothing is."""
        left_s = self.at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s
