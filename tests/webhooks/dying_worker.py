"""The worker as it is, in a process that kills itself `before` or `after` it sends a webhook."""

import os
import signal
import sys
import threading

import django

django.setup()

from config.worker import work  # noqa: E402
from webhooks import courier  # noqa: E402
from webhooks.sending import Parcel, Tried  # noqa: E402

ATTEMPT = courier.attempt


def die() -> None:
    """What kill -9 does: no handler, no finally, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def attempt(parcel: Parcel, *, timeout_s: float) -> Tried:
    """Send, and die on the way."""
    if sys.argv[1] == "before":
        die()
    tried = ATTEMPT(parcel, timeout_s=timeout_s)
    die()
    return tried


if __name__ == "__main__":
    courier.attempt = attempt
    work(threading.Event())
