"""When messages go: reminders, quiet hours, retries. Pure; instants are aware, spans seconds."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

REMIND_AT_LEAST_S: Final = 600
REMIND_SHARE: Final = 4
RETRY_S: Final = (30.0, 120.0, 600.0, 1800.0, 3600.0)
"""How long to wait after each failed attempt; after one more the message is given up."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` to before `end` by the clock of `zone`; over midnight where end is earlier."""

    start: time
    end: time
    zone: ZoneInfo

    def until(self, at: datetime) -> datetime | None:
        """Give the end of the quiet hours that `at` lies in, None where it lies in none."""
        local = at.astimezone(self.zone)
        if not self._holds(local.time()):
            return None
        is_today = local.time() < self.end
        day = local.date() if is_today else local.date() + timedelta(days=1)
        return self._end_on(day, after=at)

    def _holds(self, clock: time) -> bool:
        if self.start <= self.end:
            return self.start <= clock < self.end
        return clock >= self.start or clock < self.end

    def _end_on(self, day: date, *, after: datetime) -> datetime:
        # Where clocks go back the end comes twice; the second is meant after the first.
        first, second = (
            datetime.combine(day, self.end.replace(fold=fold), self.zone).astimezone(UTC)
            for fold in (0, 1)
        )
        return first if first > after else max(second, after + timedelta(seconds=1))


def reminder_at(
    created_at: datetime, expires_at: datetime, before_s: int | None
) -> datetime | None:
    """Give when to remind: so long before the deadline as the rule says, None where never.

    Without a rule when a quarter of the time is left, and at least ten minutes before.
    """
    span_s = (expires_at - created_at).total_seconds()
    left_s = before_s if before_s is not None else max(span_s / REMIND_SHARE, REMIND_AT_LEAST_S)
    return expires_at - timedelta(seconds=left_s) if left_s < span_s else None


def retry_in_s(attempts: int, jitter: float) -> float | None:
    """Give the wait after so many failed attempts, None where that was the last.

    `jitter` from 0 to 1 spreads it from a half to one and a half of the plan.
    """
    if attempts > len(RETRY_S):
        return None
    return RETRY_S[attempts - 1] * (0.5 + jitter)
