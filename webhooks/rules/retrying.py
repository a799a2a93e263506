"""When a delivery is tried again, and when its endpoint is given up. Pure; spans in seconds."""

from datetime import datetime, timedelta
from typing import Final

from webhooks.rules.kinds import DisabledBecause

RETRY_S: Final = (
    5.0,
    30.0,
    120.0,
    600.0,
    1_800.0,
    3_600.0,
    7_200.0,
    14_400.0,
    28_800.0,
    36_000.0,
)
"""How long to wait after each failed attempt; one more is the last, about 26 hours after the first.
"""

JITTER: Final = 0.2
GONE: Final = 410
FAILURES_IN_A_ROW: Final = 10
FAILING_FOR: Final = timedelta(hours=24)


def retry_in_s(tries: int, jitter: float) -> float | None:
    """Give the wait after so many failed attempts, None where that was the last.

    `jitter` from 0 to 1 spreads it by a fifth both ways, so that receivers which come back are
    not hit by everything at once.
    """
    if tries > len(RETRY_S):
        return None
    return RETRY_S[tries - 1] * (1 - JITTER + 2 * JITTER * jitter)


def disabled_because(
    *, status: int | None, failures: int, failing_since: datetime, now: datetime
) -> DisabledBecause | None:
    """Give why an endpoint is sent nothing more after a failed attempt, None where it is.

    410 at once (it says that it is gone for good), else ten failures in a row over a day.
    """
    if status == GONE:
        return DisabledBecause.GONE
    if failures >= FAILURES_IN_A_ROW and now - failing_since >= FAILING_FOR:
        return DisabledBecause.FAILING
    return None
