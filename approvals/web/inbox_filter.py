"""What of the inbox a person wants to see, kept in the address, and how much there is of each.

Counts are of what waits for this person and nothing else, over the most urgent `COUNTED`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import Membership
from approvals.models import Interrupt
from approvals.models.grants import by_name, through_group, through_groups
from approvals.names import ROLES, named
from identity.models import User

COUNTED: Final = 1000
HURRY: Final = timedelta(hours=1)
BY_NAME: Final = "name"
SHA256_CHARS: Final = 64


class Due(StrEnum):
    """When a question has to be answered; the spans do not overlap."""

    HOUR = "hour"
    TODAY = "today"
    LATER = "later"

    @classmethod
    def of(cls, at: datetime, now: datetime) -> "Due":
        """The span of a deadline; a day ends where the reader's clock says so."""
        if at < now + HURRY:
            return cls.HOUR
        return cls.TODAY if at < _midnight(now) else cls.LATER


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for, "" for everything; `same` is the digest of calls to list one by one."""

    tool: str = ""
    agent: str = ""
    owner: str = ""
    group: str = ""
    due: str = ""
    same: str = ""

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> "Filter":
        """The filter in an address; a value that can name nothing is no filter."""
        given = {one.name: asked.get(one.name, "") for one in fields(cls)}
        chosen = cls(**{name: "" if "\0" in value else value for name, value in given.items()})
        due = chosen.due if chosen.due in list(Due) else ""
        return replace(chosen, due=due, same=chosen.same[:SHA256_CHARS])

    @property
    def query(self) -> str:
        """The filter for an address, without what is not chosen."""
        chosen = {one.name: getattr(self, one.name) for one in fields(self)}
        return urlencode({name: value for name, value in chosen.items() if value})

    def but(self, name: str, value: str) -> "Filter":
        """This filter with another choice."""
        return replace(self, **{name: value})

    def applied(
        self,
        waiting: "QuerySet[Interrupt]",
        *,
        user: User,
        mine: Sequence[Membership],
        now: datetime,
    ) -> "QuerySet[Interrupt]":
        """Those of the rows that are asked for."""
        plain = {
            "tool": self.tool,
            "agent__name": self.agent,
            "run__owner__username": self.owner,
            "asked_sha256": self.same,
        }
        rows = waiting.filter(**{name: value for name, value in plain.items() if value})
        if self.group:
            rows = self._through(rows, user, mine)
        match self.due:
            case Due.HOUR:
                rows = rows.filter(expires_at__lt=now + HURRY)
            case Due.TODAY:
                rows = rows.filter(expires_at__gte=now + HURRY, expires_at__lt=_midnight(now))
            case Due.LATER:
                rows = rows.filter(expires_at__gte=max(now + HURRY, _midnight(now)))
        return rows

    def _through(
        self, rows: "QuerySet[Interrupt]", user: User, mine: Sequence[Membership]
    ) -> "QuerySet[Interrupt]":
        if self.group == BY_NAME:
            return rows.filter(by_name(user.pk))
        chosen = next((one for one in mine if group_key(one) == self.group), None)
        return rows.none() if chosen is None else rows.filter(through_group(chosen.auth_group_id))


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a facet: how it is called, where it leads, and how many there are."""

    value: str
    label: str
    query: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One way to narrow the list; `chosen` is the label of the choice in force, "" for none."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    chosen: str
    query_without: str


@dataclass(frozen=True, slots=True)
class _Counted:
    """One waiting question, by what it can be filtered."""

    tool: str
    agent: str
    owner: str
    groups: tuple[str, ...]
    due: str
    same: str

    def fits(self, chosen: Filter, *, but: str) -> bool:
        """Whether a filter lets it through, one of its choices left aside."""
        return all(
            one.name == but
            or not (value := getattr(chosen, one.name))
            or value in self.values(one.name)
            for one in fields(Filter)
        )

    def values(self, name: str) -> tuple[str, ...]:
        """Its values in one facet."""
        return self.groups if name == "group" else (getattr(self, name),)


@dataclass(frozen=True, slots=True)
class Overview:
    """All that waits for a person, counted up to a bound; `state` changes when any of it does."""

    total: int
    is_capped: bool
    state: str
    counted: tuple[_Counted, ...]
    labels: Mapping[str, str]

    @classmethod
    def of(
        cls,
        waiting: "QuerySet[Interrupt]",
        *,
        user: User,
        mine: Sequence[Membership],
        now: datetime,
    ) -> "Overview":
        """Counted in one query, however much there is."""
        rows = list(
            waiting.annotate(through=through_groups(user.pk), is_named=by_name(user.pk))
            .order_by("expires_at", "pk")
            .values_list(
                "pk",
                "state",
                "approvals_so_far",
                "tool",
                "agent__name",
                "run__owner__username",
                "expires_at",
                "asked_sha256",
                "through",
                "is_named",
            )[: COUNTED + 1]
        )
        keys = {one.auth_group_id: group_key(one) for one in mine}
        counted = tuple(
            _Counted(
                tool,
                agent,
                owner,
                (*(keys[one] for one in through if one in keys), *([BY_NAME] if is_named else [])),
                Due.of(expires_at, now),
                digest,
            )
            for *_, tool, agent, owner, expires_at, digest, through, is_named in rows[:COUNTED]
        )
        return cls(
            total=len(counted),
            is_capped=len(rows) > COUNTED,
            state=state_of(row[:3] for row in rows),
            counted=counted,
            labels={group_key(one): group_label(one) for one in mine} | {BY_NAME: _("by name")},
        )

    def matching(self, chosen: Filter) -> int:
        """How many of the counted the filter lets through."""
        return sum(one.fits(chosen, but="") for one in self.counted)

    def facets(self, chosen: Filter) -> list[Facet]:
        """Every facet in which there is a choice, or one was made."""
        words = (
            ("tool", _("Tool"), lambda value: value),
            ("agent", _("Agent"), lambda value: value),
            ("owner", _("Owner"), lambda value: value),
            ("group", _("Asked as"), lambda value: self.labels.get(value, value)),
        )
        found = [self._facet(name, label, say, chosen) for name, label, say in words]
        return [facet for facet in found if len(facet.choices) > 1 or facet.chosen]

    def dues(self, chosen: Filter) -> Facet:
        """The spans of deadlines, always all of them."""
        words = {
            Due.HOUR.value: _("Within 1 h"),
            Due.TODAY.value: _("Today"),
            Due.LATER.value: _("Later"),
        }
        return self._facet("due", _("Due"), words.__getitem__, chosen, always=tuple(words))

    def _facet(
        self,
        name: str,
        label: str,
        say: Callable[[str], str],
        chosen: Filter,
        *,
        always: tuple[str, ...] = (),
    ) -> Facet:
        counts = Counter[str](
            value
            for one in self.counted
            if one.fits(chosen, but=name)
            for value in one.values(name)
        )
        current = getattr(chosen, name)
        found = {*counts, *([current] if current else [])}
        values = always or sorted(found, key=lambda value: (-counts[value], say(value)))
        return Facet(
            name,
            label,
            tuple(
                Choice(
                    value,
                    say(value),
                    chosen.but(name, "" if value == current else value).query,
                    counts[value],
                    value == current,
                )
                for value in values
            ),
            chosen=say(current) if current else "",
            query_without=chosen.but(name, "").query,
        )


def group_key(group: Membership) -> str:
    """How an address names a group or a role."""
    return f"{'role' if group.is_role else 'group'}:{group.name}"


def group_label(group: Membership) -> str:
    """How a page names a group or a role."""
    return named(ROLES, group.name) if group.is_role else group.name


def state_of(rows: Any) -> str:
    """A short text that differs when the ids, states or approvals of these rows differ."""
    return sha256(repr([tuple(row) for row in rows]).encode()).hexdigest()[:16]


def _midnight(now: datetime) -> datetime:
    day = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return day + timedelta(days=1)
