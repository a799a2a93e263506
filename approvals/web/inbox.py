"""The inbox: what waits for me, the most urgent first, and how it changes while one looks."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from approvals.access import equal_first, memberships, waiting_in_time
from approvals.web.asked_through import ways
from approvals.web.glance import hints_of, with_glance
from approvals.web.inbox_changes import Changes
from approvals.web.inbox_filter import Filter, Overview
from approvals.web.inbox_rows import waits
from approvals.web.keyset import by_deadline
from approvals.web.live import first_words
from approvals.web.pages import page, signed_in
from runs.clock import database_now


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """A page of the questions that this person may still answer in time."""
    user, now, chosen = signed_in(request), database_now(), Filter.of(request.GET)
    mine, waiting = memberships(user), waiting_in_time(user)
    overview = Overview.of(waiting, user=user, mine=mine, now=now)
    wanted = chosen.applied(waiting, user=user, mine=mine, now=now)
    rows = with_glance(wanted if chosen.same else equal_first(wanted))
    cut = by_deadline(rows.select_related("run__owner", "agent"), request.GET)
    hints = hints_of(user.tenant_id)
    context: dict[str, Any] = {
        "waits": waits(cut.rows, wanted, hints=hints, chosen=chosen, now=now),
        "cut": cut,
        "at": now,
        "chosen": chosen,
        "overview": overview,
        "matching": overview.matching(chosen),
        "facets": overview.facets(chosen),
        "dues": overview.dues(chosen),
        "title": title(overview.total, is_capped=overview.is_capped),
    }
    if not overview.total:
        context["ways"] = ways(user)
    return page(request, "inbox.html", context)


@require_safe
def changes(request: HttpRequest) -> HttpResponse:
    """What became of the rows that a page shows, and how many came; for the page's script."""
    found = Changes.of(signed_in(request), request.GET)
    response = JsonResponse(
        {
            "state": found.state,
            "waiting": found.waiting,
            "title": title(found.waiting, is_capped=found.is_capped),
            "new": found.new,
            "new_words": ngettext("{n} new", "{n} new", found.new).format(n=found.new),
            "ended": found.ended,
        }
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """What the stream says first, and its end: served where no hub keeps the stream open."""
    response = HttpResponse(first_words(signed_in(request)), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    return response


def title(waiting: int, *, is_capped: bool) -> str:
    """The page's title, which a tab shows."""
    if not waiting:
        return _("Inbox · Placet")
    count = f"{waiting:,}+" if is_capped else f"{waiting}"
    return _("({count}) Inbox · Placet").format(count=count)
