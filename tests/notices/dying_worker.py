"""The worker as it is, in a process that kills itself `before` or `after` it sends a mail."""

import os
import signal
import sys
import threading

import django

django.setup()

from config.worker import work  # noqa: E402
from notices.senders.mail import Mail  # noqa: E402
from notices.senders.outcome import Outcome  # noqa: E402
from notices.wording import Message  # noqa: E402

SEND = Mail.send


def die() -> None:
    """What kill -9 does: no handler, no finally, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def send(self: Mail, message: Message, *, name: str) -> Outcome:
    """Send, and die on the way."""
    if sys.argv[1] == "before":
        die()
    outcome = SEND(self, message, name=name)
    die()
    return outcome


if __name__ == "__main__":
    Mail.send = send  # type: ignore[method-assign]
    work(threading.Event())
