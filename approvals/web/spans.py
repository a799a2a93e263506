"""Spans of time in words."""

from datetime import datetime

from django.utils.translation import gettext as _


def span(seconds: float) -> str:
    """A length of time in its two largest units, e.g. "2 h 5 min"."""
    return _told(seconds, units=2)


def about(seconds: float) -> str:
    """A length of time in its largest unit, rounded down, e.g. "2 h"."""
    return _told(seconds, units=1)


def left(until: datetime, now: datetime) -> str:
    """How long is left, or that the time is over."""
    seconds = (until - now).total_seconds()
    return _("{span} left").format(span=span(seconds)) if seconds > 0 else _("time is over")


def _told(seconds: float, *, units: int) -> str:
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    counts = [(days, _("{n} d")), (hours, _("{n} h")), (minutes, _("{n} min")), (rest, _("{n} s"))]
    while len(counts) > 1 and counts[0][0] == 0:
        counts.pop(0)
    told = [words.format(n=count) for count, words in counts[:units] if count]
    return " ".join(told) or _("{n} s").format(n=0)
