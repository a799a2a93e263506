"""What people look for in the record most, as links: a kind of event, a day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

KINDS: Final[Mapping[str, Promise]] = {
    "": _("Everything"),
    "interrupt.decided": _("Decisions"),
    "command.refused": _("Refusals"),
    "interrupt.asked": _("Questions"),
    "action.dispatched": _("Actions"),
    "action.unknown": _("Unknown outcomes"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One link of a row of links: its words, where it leads, whether one is there."""

    words: Promise
    href: str
    is_current: bool


def kinds(typed: Mapping[str, str]) -> list[Choice]:
    """Kinds of events; the rest of the search stays."""
    return [
        Choice(words, _href(typed, type=kind), typed["type"] == kind)
        for kind, words in KINDS.items()
    ]


def days(typed: Mapping[str, str], now: datetime) -> list[Choice]:
    """Days of the reader's calendar; the rest of the search stays."""
    today = timezone.localdate(now)
    tomorrow, yesterday = today + timedelta(days=1), today - timedelta(days=1)
    spans = (
        (_("Always"), "", ""),
        (_("Today"), _midnight(today), _midnight(tomorrow)),
        (_("Yesterday"), _midnight(yesterday), _midnight(today)),
        (_("7 days"), _midnight(today - timedelta(days=6)), _midnight(tomorrow)),
    )
    return [
        Choice(
            words,
            _href(typed, since=since, until=until),
            (typed["since"], typed["until"]) == (since, until),
        )
        for words, since, until in spans
    ]


def _midnight(day: date) -> str:
    return f"{day.isoformat()}T00:00:00"


def _href(typed: Mapping[str, str], **changed: str) -> str:
    return "?" + urlencode({name: text for name, text in {**typed, **changed}.items() if text})
