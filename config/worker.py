"""The worker: numbers and seals committed events, sweeps and tells people, until told to end.

Any number may run. One at a time numbers, elected by a lock that dies with its holder; sweeping
at the same time is harmless.
"""

import threading
import time

import structlog
from django.db import DatabaseError, InterfaceError, close_old_connections

from approvals.sweeping import sweep
from audit.numbering import Numberer
from audit.sealing import SEAL_EVENTS, seal_events
from notices import courier
from runs.waiting.notifier import wake_feeds
from webhooks import courier as webhooks

NUMBER_EVERY_S = 0.2
SEAL_EVERY_S = 60.0
SWEEP_EVERY_S = 1.0
BATCH = 1000

log = structlog.get_logger(__name__)


def work(ending: threading.Event) -> None:
    """Number and sweep until `ending` is set; a lost database is waited for, a fault logged.

    Messages and webhooks go out in threads of their own, since their receivers may take their time.
    """
    telling = threading.Thread(target=courier.run, args=(ending,), name="notices")
    telling.start()
    delivering = threading.Thread(target=webhooks.run, args=(ending,), name="webhooks")
    delivering.start()
    numberer = Numberer(tell=wake_feeds)
    swept_at = sealed_at = 0.0
    while not ending.is_set():
        try:
            is_full = numberer.step(BATCH) == BATCH
            is_due = time.monotonic() - sealed_at >= SEAL_EVERY_S
            if is_due and numberer.is_elected and seal_events() < SEAL_EVENTS:
                sealed_at = time.monotonic()  # else there may be more, next time round
            if time.monotonic() - swept_at >= SWEEP_EVERY_S:
                swept_at = time.monotonic()
                sweep()
        except (DatabaseError, InterfaceError) as error:
            log.warning("worker.database_unreachable", error=type(error).__name__)
            is_full = False
        except Exception:  # a fault of ours must not end the numbering of all events
            log.exception("worker.failed")
            is_full = False
        close_old_connections()
        if not is_full:
            ending.wait(NUMBER_EVERY_S)
    numberer.release()
    telling.join()
    delivering.join()
