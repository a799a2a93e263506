"""The record of the tenant, for admins and auditors: search it, read it, take it along."""

from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from approvals.access import SEE_ALL
from approvals.sentences import sentence
from approvals.web.audit_filter import Search
from approvals.web.audit_links import days, kinds
from approvals.web.audit_rows import audit_rows, contents
from approvals.web.pages import page, signed_in
from approvals.web.words import PLAIN
from audit.export import export_lines
from audit.lag import last_seal, number_lag
from audit.reading import EventFilter, events_page, last_verification
from placet.protocol.refusals import RefusalCode

PAGE_EVENTS = 25
SEARCHED = ("run", "person", "agent", "tool", "digest", "code")
"""What only the form asks for; it stands open where one of these was typed."""
TYPES = {
    "interrupt.decided": gettext_lazy("Decisions"),
    "command.refused": gettext_lazy("Refusals"),
    "interrupt.asked": gettext_lazy("Questions asked"),
    "interrupt.shown": gettext_lazy("Questions shown"),
    "run.state_changed": gettext_lazy("Runs that moved on"),
}


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """A page of numbered events, the newest first."""
    user = signed_in(request)
    if user.role not in SEE_ALL:
        return _not_permitted(request)
    search = Search.read(request.GET.dict(), tenant_id=user.tenant_id)
    before, after = _event_id(request, "before"), _event_id(request, "after")
    found = events_page(
        tenant_id=user.tenant_id,
        filters=search.filters,
        before_id=before,
        after_id=None if before else after,
        limit=PAGE_EVENTS,
    )
    context = {
        "search": search,
        "query": urlencode({name: text for name, text in search.typed.items() if text}),
        "rows": audit_rows(user.tenant_id, found.events),
        "newer": found.events[0].id if found.events and found.has_newer else None,
        "older": found.events[-1].id if found.events and found.has_older else None,
        "verification": last_verification(user.tenant_id),
        "lag": number_lag(user.tenant_id),
        "seal": last_seal(user.tenant_id),
        "types": TYPES,
        "other_types": sorted(PLAIN.keys() - TYPES.keys()),
        "codes": list(RefusalCode),
        "zone": timezone.get_current_timezone_name(),
        "kinds": kinds(search.typed),
        "days": days(search.typed, timezone.now()),
        "is_searched": bool(search.faults) or any(search.typed[name] for name in SEARCHED),
    }
    return page(request, "audit.html", context, status=422 if search.faults else 200)


@require_safe
def export(request: HttpRequest) -> HttpResponseBase:
    """The events found as JSON Lines; the whole record ends with its head."""
    user = signed_in(request)
    if user.role not in SEE_ALL:
        return _not_permitted(request)
    search = Search.read(request.GET.dict(), tenant_id=user.tenant_id)
    if search.faults:
        return audit(request)
    filters = None if search.filters == EventFilter() else search.filters
    lines = export_lines(user.tenant_id, filters=filters, contents=contents)
    response = StreamingHttpResponse(lines, content_type="application/jsonl; charset=utf-8")
    name = f"placet-audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _not_permitted(request: HttpRequest) -> HttpResponse:
    refusal = RefusalCode.NOT_PERMITTED
    text = _("The record of the whole tenant is for its admins and auditors.")
    context = {"code": refusal, "title": sentence(refusal.sentence), "text": text}
    return page(request, "refused.html", context, status=refusal.status)


def _event_id(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
