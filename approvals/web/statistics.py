"""How people answer, for admins and auditors: the instruments that show approval fatigue."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from approvals.access import SEE_ALL
from approvals.sentences import sentence
from approvals.web import statistics_figures as figures
from approvals.web.pages import page, signed_in
from approvals.web.statistics_span import SPANS, Chosen
from audit.statistics import QUICK_S, refusals, statistics
from identity.access import agent_names
from placet.protocol.refusals import RefusalCode
from runs.clock import database_now


@require_safe
def show_statistics(request: HttpRequest) -> HttpResponse:
    """The sums of the record over a chosen time, for the tenant or for a part of its answers."""
    user = signed_in(request)
    if user.role not in SEE_ALL:
        return _not_permitted(request)
    chosen = Chosen.read(request.GET.dict(), tenant_id=user.tenant_id, now=database_now())
    found = statistics(chosen.span)
    names = agent_names(user.tenant_id, [sums.agent_id for sums in found.agents.rows])
    refused, parts = refusals(chosen.span), figures.parts_of(found.total)
    context = {
        "chosen": chosen,
        "spans": [
            (name, label, chosen.query(**{"span": name, "from": "", "to": ""}))
            for name, (_length, label) in SPANS.items()
        ],
        "total": found.total,
        "whole": figures.whole(found.total),
        "looked": figures.looked_bins(found.looked),
        "waited": figures.waited_bins(found.waited),
        "hours": figures.hours(found.hours),
        "facets": [
            (kind, figures.facet(groups, names=names, query=_narrow(chosen, kind), parts=parts))
            for kind, groups in (
                ("person", found.people),
                ("tool", found.tools),
                ("agent", found.agents),
            )
        ],
        "refusals": figures.bars(refused),
        "refused": sum(each.count for each in refused),
        "scale": figures.scale(),
        "parts": parts,
        "quick_s": QUICK_S,
    }
    return page(request, "statistics.html", context, status=422 if chosen.faults else 200)


def _narrow(chosen: Chosen, field: str) -> Callable[[str], str]:
    return lambda name: chosen.query(**{field: name})


def _not_permitted(request: HttpRequest) -> HttpResponse:
    refusal = RefusalCode.NOT_PERMITTED
    text = _("The statistics of the whole tenant are for its admins and auditors.")
    context = {"code": refusal, "title": sentence(refusal.sentence), "text": text}
    return page(request, "refused.html", context, status=refusal.status)
