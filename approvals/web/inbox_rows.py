"""Rows of the inbox: equal calls as one, each with how long is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from approvals.models import Interrupt
from approvals.rules.display import Hint
from approvals.rules.glance import Glance
from approvals.web.glance import glances
from approvals.web.inbox_filter import HURRY, Filter
from approvals.web.spans import about, left
from placet.protocol.states import ActionState
from runs.models import Action

LISTED: Final = 12
"""So many equal calls are listed in their row; a link leads to all."""


@dataclass(frozen=True, slots=True)
class Equal:
    """One of equal calls."""

    interrupt: Interrupt
    left: str
    left_s: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """One row: the most urgent of equal calls, what it is about, how long there is and was."""

    interrupt: Interrupt
    glance: Glance
    left: str
    left_s: int
    is_urgent: bool
    since: str
    since_s: int
    is_unknown_elsewhere: bool
    """Whether nobody knows if exactly this was carried out already."""
    equal: tuple[Equal, ...]
    count: int
    query_same: str

    @property
    def unlisted(self) -> int:
        """How many equal calls the row does not list."""
        return self.count - len(self.equal)


def waits(
    shown: Sequence[Interrupt],
    among: "QuerySet[Interrupt]",
    *,
    hints: Sequence[Hint],
    chosen: Filter,
    now: datetime,
) -> list[Waiting]:
    """These rows with their equals from `among`, in three queries however many they are."""
    found = glances(shown, hints)
    equal = {} if chosen.same else _equal(shown, among)
    unknown = _unknown_elsewhere(shown)
    rows = []
    for row in shown:
        alike = equal.get((row.asked_sha256, tuple(row.sensitive)), [row])
        left_s = (row.expires_at - now).total_seconds()
        since_s = (now - row.created_at).total_seconds()
        rows.append(
            Waiting(
                row,
                found[row.pk],
                left=left(row.expires_at, now),
                left_s=int(left_s),
                is_urgent=left_s < HURRY.total_seconds(),
                since=_("asked {span} ago").format(span=about(since_s)),
                since_s=int(since_s),
                is_unknown_elsewhere=row.asked_sha256 in unknown,
                equal=tuple(
                    Equal(
                        one,
                        left(one.expires_at, now),
                        int((one.expires_at - now).total_seconds()),
                    )
                    for one in alike
                ),
                count=getattr(alike[0], "alike", 1),
                query_same=chosen.but("same", row.asked_sha256).query,
            )
        )
    return rows


def _unknown_elsewhere(shown: Sequence[Interrupt]) -> set[str]:
    """The digests of these questions of which an action in their tenant has no known outcome."""
    unknown = Action.objects.filter(
        tenant_id__in={row.tenant_id for row in shown},
        approved_sha256__in={row.asked_sha256 for row in shown},
        state=ActionState.UNKNOWN,
    )
    return set(unknown.values_list("approved_sha256", flat=True))


def _equal(
    shown: Sequence[Interrupt], among: "QuerySet[Interrupt]"
) -> dict[tuple[str, tuple[str, ...]], list[Interrupt]]:
    """The first equal calls of each row, the row itself among them, with how many there are."""
    alike = [F("asked_sha256"), F("sensitive")]
    rows = (
        among.filter(asked_sha256__in=[row.asked_sha256 for row in shown])
        .select_related("run__owner", "agent")
        .defer(
            "asked",
            "description",
            "args_schema",
            "response_schema",
            "run__context",
            "run__labels",
        )
        .annotate(
            place=Window(RowNumber(), partition_by=alike, order_by=["expires_at", "pk"]),
            alike=Window(Count("*"), partition_by=alike),
        )
        .filter(place__lte=LISTED)
        .order_by("expires_at", "pk")
    )
    found: dict[tuple[str, tuple[str, ...]], list[Interrupt]] = {}
    for row in rows:
        found.setdefault((row.asked_sha256, tuple(row.sensitive)), []).append(row)
    return found
