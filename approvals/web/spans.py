"""Spans of time in words."""

from datetime import datetime


def span(seconds: float) -> str:
    """A length of time in its two largest units, e.g. "2 h 5 min"."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    while len(units) > 1 and units[0][0] == 0:
        units.pop(0)
    return " ".join(f"{count} {unit}" for count, unit in units[:2] if count) or "0 s"


def left(until: datetime, now: datetime) -> str:
    """How long is left, or that the time is over."""
    seconds = (until - now).total_seconds()
    return f"{span(seconds)} left" if seconds > 0 else "time is over"
