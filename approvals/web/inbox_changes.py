"""How the inbox differs from what an open page shows, without the rows themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from approvals.access import memberships, visible_interrupts, waiting_in_time
from approvals.models import Interrupt
from approvals.web.inbox_filter import COUNTED, Filter, Overview
from identity.models import User
from placet.protocol.states import DecisionKind, InterruptState
from runs.clock import database_now
from runs.ids import is_id

SHOWN_MAX: Final = 200
"""A page is asked about so many rows at once."""
MARGIN: Final = timedelta(seconds=5)
"""A question that was asked so long before a page was made may have been committed after it."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What waits now; how many came that the page does not show; words for what ended, by id."""

    state: str
    waiting: int
    is_capped: bool
    new: int
    ended: dict[str, str]

    @classmethod
    def of(cls, user: User, asked: Mapping[str, str]) -> "Changes":
        """`shown` are ids with commas, `at` is the page's instant, the rest is its filter."""
        now, mine, waiting = database_now(), memberships(user), waiting_in_time(user)
        shown = [one for one in asked.get("shown", "").split(",") if is_id(one)][:SHOWN_MAX]
        overview = Overview.of(waiting, user=user, mine=mine, now=now)
        wanted = Filter.of(asked).applied(waiting, user=user, mine=mine, now=now)
        still = set(waiting.filter(pk__in=shown).values_list("pk", flat=True))
        new = 0
        if (at := _instant(asked.get("at", ""))) is not None:
            came = wanted.filter(created_at__gt=at - MARGIN).exclude(pk__in=shown)
            new = len(came.values_list("pk")[:COUNTED])
        return cls(
            state=overview.state,
            waiting=overview.total,
            is_capped=overview.is_capped,
            new=new,
            ended=_ended(user, [one for one in shown if one not in still]),
        )


def _ended(user: User, ids: Sequence[str]) -> dict[str, str]:
    """Why these wait for the person no longer; of what they may not see only that it is gone."""
    rows = visible_interrupts(user).filter(pk__in=ids).select_related("decision")
    seen = {row.pk: _end(row) for row in rows.defer("asked", "description")}
    return {one: seen.get(one, _("No longer yours to answer")) for one in ids}


def _end(row: Interrupt) -> str:
    match InterruptState(row.state):
        case InterruptState.DECIDED:
            return _ANSWERED[DecisionKind(row.decision.kind)]().format(name=row.decision.by_name)
        case InterruptState.SUPERSEDED:
            return _("Replaced by a newer question")
        case InterruptState.CANCELLED:
            return _("Taken back")
        case InterruptState.EXPIRED:
            return _("Expired")
        case InterruptState.PENDING | InterruptState.HANDED_BACK:
            if row.expires_at <= database_now():
                return _("Expired")
            return _("You answered; others still have to")


_ANSWERED = {
    DecisionKind.APPROVE: lambda: pgettext("end of a question", "Approved by {name}"),
    DecisionKind.EDIT: lambda: pgettext("end of a question", "Edited and approved by {name}"),
    DecisionKind.REJECT: lambda: pgettext("end of a question", "Rejected by {name}"),
    DecisionKind.RESPOND: lambda: pgettext("end of a question", "Answered by {name}"),
    DecisionKind.DONE: lambda: pgettext("end of a question", "Found done by {name}"),
}


def _instant(text: str) -> datetime | None:
    try:
        at = parse_datetime(text)
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None and 1970 < at.year < 9000 else None
