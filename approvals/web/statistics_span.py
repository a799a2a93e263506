"""Which time and whose answers the statistics page is about, read from its address."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.web.audit_filter import MOST_CHARS, NO_AGENT, NOBODY
from audit.statistics import Span
from identity.access import agent_by_name, user_by_name

SPANS = {
    "24h": (timedelta(hours=24), gettext_lazy("24 hours")),
    "7d": (timedelta(days=7), gettext_lazy("7 days")),
    "30d": (timedelta(days=30), gettext_lazy("30 days")),
}
USUAL = "7d"
MOST_DAYS = 366
FIELDS = ("tool", "agent", "person", "from", "to")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen, as typed and as a span, and what is wrong with it by field.

    `span_name` is one of `SPANS`, "" where days are given.
    """

    typed: Mapping[str, str]
    span_name: str
    span: Span
    faults: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, asked: Mapping[str, str], *, tenant_id: int, now: datetime) -> "Chosen":
        """The choice in these parameters; days are whole ones in the reader's zone."""
        typed = {name: asked.get(name, "").strip() for name in FIELDS}
        faults = {
            name: _("This cannot be searched for.")
            for name, text in typed.items()
            if len(text) > MOST_CHARS or not text.isprintable()
        }
        given = {name: "" if name in faults else text for name, text in typed.items()}
        days = _days(given, faults, now)
        named = asked.get("span", USUAL)
        span_name = "" if days else (named if named in SPANS else USUAL)
        since_at, until_at = days or (now - SPANS[span_name][0], now)
        span = Span(
            tenant_id=tenant_id,
            since_at=since_at,
            until_at=until_at,
            zone=timezone.get_current_timezone_name(),
            tool=given["tool"] or None,
            agent_id=_agent_id(tenant_id, given["agent"], faults),
            person_id=_person_id(tenant_id, given["person"], faults),
        )
        return cls(typed, span_name, span, faults)

    def query(self, **changed: str) -> str:
        """The address's query with some of its parameters changed, "" takes one out."""
        names = {name: text for name, text in self.typed.items() if text}
        named = {"span": self.span_name} if self.span_name not in ("", USUAL) else {}
        wanted = names | named | changed
        return urlencode({name: text for name, text in wanted.items() if text})

    @property
    def is_narrowed(self) -> bool:
        """Whether only some of the tenant's answers are counted."""
        return any(self.typed[name] for name in ("tool", "agent", "person"))


def _days(
    given: Mapping[str, str], faults: dict[str, str], now: datetime
) -> tuple[datetime, datetime] | None:
    first, last = (_day(name, given, faults) for name in ("from", "to"))
    if first is None and last is None:
        return None
    last = last or timezone.localtime(now).date()
    first = first or last - timedelta(days=29)
    if not first <= last < first + timedelta(days=MOST_DAYS):
        faults["to"] = _("Choose a day from the first one on, at most a year later.")
        return None
    return _midnight(first), _midnight(last + timedelta(days=1))


def _day(name: str, given: Mapping[str, str], faults: dict[str, str]) -> date | None:
    if not given[name]:
        return None
    try:
        day = parse_date(given[name])
    except ValueError:
        day = None
    if day is None or not 2000 <= day.year < 3000:
        faults[name] = _("Write a day, such as 2026-01-31.")
        return None
    return day


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_current_timezone())


def _agent_id(tenant_id: int, name: str, faults: dict[str, str]) -> int | None:
    if not name:
        return None
    if agent := agent_by_name(tenant_id, name):
        return agent.pk
    faults["agent"] = _("No agent here has this name.")
    return NO_AGENT


def _person_id(tenant_id: int, name: str, faults: dict[str, str]) -> str | None:
    if not name:
        return None
    if person := user_by_name(tenant_id, name):
        return person.public_id
    faults["person"] = _("Nobody here has this login name.")
    return NOBODY
