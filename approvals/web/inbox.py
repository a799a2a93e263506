"""The inbox: what waits for me, the most urgent first."""

from dataclasses import dataclass

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from approvals.access import waiting_for
from approvals.models import Interrupt
from approvals.web.glance import Glance, glance, with_glance
from approvals.web.keyset import by_deadline
from approvals.web.pages import page, signed_in
from approvals.web.spans import left, span
from runs.clock import database_now

HURRY_S = 3600


@dataclass(frozen=True, slots=True)
class Waiting:
    """One row: the question, its arguments at a glance, how long there is, how long it waits."""

    interrupt: Interrupt
    glance: Glance
    left: str
    is_urgent: bool
    since: str


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """A page of the questions that this person may still answer in time."""
    waiting = waiting_for(signed_in(request)).filter(expires_at__gt=Now())
    rows = with_glance(waiting.select_related("run__owner", "run__agent"))
    cut = by_deadline(rows, request.GET)
    now = database_now()
    waits = [
        Waiting(
            interrupt,
            glance(interrupt),
            left=left(interrupt.expires_at, now),
            is_urgent=(interrupt.expires_at - now).total_seconds() < HURRY_S,
            since=span((now - interrupt.created_at).total_seconds()),
        )
        for interrupt in cut.rows
    ]
    return page(request, "inbox.html", {"waits": waits, "cut": cut})
