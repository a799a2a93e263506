"""When messages go, as tables."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from notices.rules.plain import plain
from notices.rules.timing import QuietHours, reminder_at, retry_in_s

BERLIN, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")
NIGHT = QuietHours(time(22), time(7), BERLIN)
NOON = QuietHours(time(12), time(13, 30), KOLKATA)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("quiet", "now", "until"),
    [
        (NIGHT, "2026-01-10T20:59:59", None),
        (NIGHT, "2026-01-10T21:00:00", "2026-01-11T06:00:00"),
        (NIGHT, "2026-01-11T00:30:00", "2026-01-11T06:00:00"),
        (NIGHT, "2026-01-11T05:59:59", "2026-01-11T06:00:00"),
        (NIGHT, "2026-01-11T06:00:00", None),
        (NIGHT, "2026-07-10T20:00:00", "2026-07-11T05:00:00"),
        (NIGHT, "2026-03-28T23:00:00", "2026-03-29T05:00:00"),  # clocks go forward at night
        (NIGHT, "2026-10-24T22:00:00", "2026-10-25T06:00:00"),  # clocks go back at night
        (NOON, "2026-01-10T06:29:59", None),
        (NOON, "2026-01-10T06:30:00", "2026-01-10T08:00:00"),
        (NOON, "2026-01-10T08:00:00", None),
    ],
)
def test_quiet_hours(quiet: QuietHours, now: str, until: str | None) -> None:
    assert quiet.until(at(now)) == (at(until) if until else None)


@pytest.mark.parametrize(
    ("end", "now", "until"),
    [
        # 02:30 comes twice on 2026-10-25, at 00:30 and 01:30 UTC.
        (time(2, 30), "2026-10-25T00:10:00", "2026-10-25T00:30:00"),
        (time(2, 30), "2026-10-25T01:10:00", "2026-10-25T01:30:00"),
        # 02:30 does not come on 2026-03-29.
        (time(2, 30), "2026-03-29T00:10:00", "2026-03-29T00:30:00"),
    ],
)
def test_the_end_of_quiet_hours_when_clocks_change(end: time, now: str, until: str) -> None:
    found = QuietHours(time(22), end, BERLIN).until(at(now))

    assert found is not None and found > at(now)
    assert abs(found - at(until)) <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("span_s", "before_s", "left_s"),
    [
        (86_400, None, 21_600),
        (3_600, None, 900),
        (2_400, None, 600),
        (1_200, None, 600),
        (600, None, None),
        (60, None, None),
        (3_600, 60, 60),
        (3_600, 3_600, None),
        (3_600, 7_200, None),
    ],
)
def test_reminders(span_s: int, before_s: int | None, left_s: int | None) -> None:
    asked = at("2026-01-10T00:00:00")
    deadline = asked + timedelta(seconds=span_s)

    found = reminder_at(asked, deadline, before_s)

    assert found == (None if left_s is None else deadline - timedelta(seconds=left_s))


def test_retries_grow_and_end() -> None:
    waits = [retry_in_s(attempts, 0.5) for attempts in range(1, 8)]

    assert waits == [30.0, 120.0, 600.0, 1800.0, 3600.0, None, None]
    assert (retry_in_s(1, 0.0), retry_in_s(1, 1.0)) == (15.0, 45.0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay_vendor", "pay_vendor"),
        ("pay\u202evendor", "pay⟨U+202E⟩vendor"),
        ("a\nBcc: b", "a⟨U+000A⟩Bcc: b"),
        ("a\x00\u200b\ufeff", "a⟨U+0000⟩⟨U+200B⟩⟨U+FEFF⟩"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("e\u0301", "e⟨U+0301⟩"),
        ("付款", "付款"),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_names_in_a_line_hide_nothing_and_end(text: str, shown: str) -> None:
    assert plain(text) == shown
