"""The audit page's search, read from the address of the page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from audit.reading import EventFilter
from identity.access import agent_by_name, user_by_name

FIELDS = ("type", "run", "person", "agent", "tool", "digest", "code", "since", "until")
MOST_CHARS = 200
NOBODY = "usr_0"
NO_AGENT = 0


@dataclass(frozen=True, slots=True)
class Search:
    """What was searched for, as typed, as a filter, and what is wrong with it by field."""

    typed: Mapping[str, str]
    filters: EventFilter
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, asked: Mapping[str, str], *, tenant_id: int) -> "Search":
        """The search in these parameters; a name that nobody has finds nothing, and says so."""
        typed = {name: asked.get(name, "").strip() for name in FIELDS}
        faults = {
            name: _("This cannot be searched for.")
            for name, text in typed.items()
            if len(text) > MOST_CHARS or not text.isprintable()
        }
        given = {name: "" if name in faults else text for name, text in typed.items()}
        person_id = _person_id(tenant_id, given["person"], faults)
        agent_id = _agent_id(tenant_id, given["agent"], faults)
        filters = EventFilter(
            run_id=given["run"] or None,
            actor_kind="user" if person_id else None,
            actor_id=person_id,
            agent_id=agent_id,
            type=given["type"] or None,
            tool=given["tool"] or None,
            digest="".join(given["digest"].lower().split()) or None,
            code=given["code"] or None,
            since_at=_instant("since", given, faults),
            until_at=_instant("until", given, faults),
        )
        return cls(typed, filters, faults)


def _person_id(tenant_id: int, name: str, faults: dict[str, str]) -> str | None:
    if not name:
        return None
    person = user_by_name(tenant_id, name)
    if person is None:
        faults["person"] = _("Nobody here has this login name.")
        return NOBODY
    return person.public_id


def _agent_id(tenant_id: int, name: str, faults: dict[str, str]) -> int | None:
    if not name:
        return None
    agent = agent_by_name(tenant_id, name)
    if agent is None:
        faults["agent"] = _("No agent here has this name.")
        return NO_AGENT
    return agent.pk


def _instant(name: str, given: Mapping[str, str], faults: dict[str, str]) -> datetime | None:
    if not given[name]:
        return None
    try:
        at = parse_datetime(given[name])
        if at is not None:
            return (at if at.tzinfo else timezone.make_aware(at)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    faults[name] = _("Write a date and a time, such as 2026-01-31T09:00.")
    return None
