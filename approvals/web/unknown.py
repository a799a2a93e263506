"""Unknown outcomes: those that a person may look into, and how many, for the way to them."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_safe

from approvals.access import reconcilable_actions, unknown_outcomes
from approvals.web.actions import sights, with_short_texts
from approvals.web.keyset import newest_first
from approvals.web.pages import page, signed_in
from identity.models import User
from runs.clock import database_now

COUNTED_MAX: Final = 100


@require_safe
def unknown(request: HttpRequest) -> HttpResponse:
    """A page of the actions of which nobody knows what became of them, the newest first."""
    user = signed_in(request)
    cut = newest_first(with_short_texts(unknown_outcomes(user)), request.GET)
    ids = [row.pk for row in cut.rows]
    theirs = reconcilable_actions(user).filter(pk__in=ids).values_list("pk", flat=True)
    found = sights(cut.rows, user, now=database_now(), reconcilable=theirs)
    return page(request, "unknown.html", {"cut": cut, "sights": found})


def unknown_count(request: HttpRequest) -> dict[str, Any]:
    """For every whole page: how many there are, counted to a bound where the page asks."""
    return {"unknown_count": SimpleLazyObject(lambda: _count(request))}


def _count(request: HttpRequest) -> int:
    if not isinstance(request.user, User):
        return 0
    ids = unknown_outcomes(request.user).order_by().values("pk")[:COUNTED_MAX]
    return ids.count()
