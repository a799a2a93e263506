"""Being asked to end: noted by the handler, looked at where it is safe to stop."""

import signal
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ending(Exception):
    """Somebody asked the demo to end while it was starting."""


class Asked:
    """Counts how often Ctrl-C was pressed, or SIGTERM or SIGHUP came.

    The handlers stay: what ends after the demo, the database, is not to be broken off either.
    """

    def __init__(self) -> None:
        self._count = 0
        for number in _NUMBERS:
            signal.signal(number, self._note)

    @property
    def once(self) -> bool:
        """Whether the demo is to end."""
        return self._count > 0

    @property
    def again(self) -> bool:
        """Whether it is to end faster than is polite."""
        return self._count > 1

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
