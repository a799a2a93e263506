"""What operators watch: gauges in the text format of Prometheus, version 0.0.4.

Names no tenant, person, agent or tool. Each gauge is one cheap query over what is open.
"""

from hmac import compare_digest
from typing import Final

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from approvals.models import Interrupt
from approvals.models.interrupt import OPEN_STATES
from audit.lag import unsealed_count, whole_number_lag
from config.errors import not_found
from identity.middleware import public
from notices.models import Notice
from notices.rules.kinds import NoticeState
from placet.protocol.states import ActionState
from runs.models import Action
from webhooks.models import Delivery

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@public
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The gauges, for whoever has `PLACET_METRICS_TOKEN`; 404 where the operator set none."""
    token = settings.PLACET_METRICS_TOKEN
    if token is None:
        return not_found(request)
    given = request.headers.get("Authorization", "")
    if not compare_digest(given.encode(), f"Bearer {token}".encode()):
        return HttpResponse(
            "The token of PLACET_METRICS_TOKEN is needed.\n",
            content_type="text/plain; charset=utf-8",
            status=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
    text = "".join(
        f"# HELP {name} {about}\n# TYPE {name} gauge\n{name} {figure:.15g}\n"
        for name, (about, figure) in _gauges().items()
    )
    return HttpResponse(text, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def _gauges() -> dict[str, tuple[str, float]]:
    from config.asgi import hub  # which needs the URLs first

    here: dict[str, tuple[str, float]] = {
        "placet_agents_waiting": ("Requests that wait in this process.", hub.waiting)
    }
    try:
        read = _of_database()
    except Error:
        return here | {"placet_database_up": ("Whether the database answers.", 0)}
    return here | {"placet_database_up": ("Whether the database answers.", 1)} | read


def _of_database() -> dict[str, tuple[str, float]]:
    """What is open, from indexes that hold nothing else."""
    lag, actions = whole_number_lag(), Action.objects
    unsent = (NoticeState.WAITING, NoticeState.SENDING)
    return {
        "placet_interrupts_open": (
            "Questions that wait for people.",
            Interrupt.objects.filter(state__in=OPEN_STATES).count(),
        ),
        "placet_actions_in_flight": (
            "Dispatched, no outcome told yet.",
            actions.filter(state=ActionState.IN_FLIGHT).count(),
        ),
        "placet_actions_unknown": (
            "Outcomes that people have to find out.",
            actions.filter(state=ActionState.UNKNOWN).count(),
        ),
        "placet_events_unnumbered": ("Committed events that wait for a number.", lag.count),
        "placet_events_unnumbered_age_seconds": (
            "How long the oldest of them waits; beyond 30 no worker runs.",
            lag.age.total_seconds(),
        ),
        "placet_events_unsealed": ("Numbered events that wait for a seal.", unsealed_count()),
        "placet_notices_waiting": (
            "Messages to people that are not sent yet.",
            Notice.objects.filter(state__in=unsent).count(),
        ),
        "placet_deliveries_waiting": (
            "Webhooks that are not delivered yet.",
            Delivery.objects.filter(due_at__isnull=False).count(),
        ),
    }
