"""The page of one action: what is known of it, and the form that says what became of it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.access import may_approve, may_reconcile, visible_action
from approvals.models import Interrupt
from approvals.models.reconciling import settle_outcome
from approvals.sentences import sentence
from approvals.web.actions import ActionSight, same_content, sights
from approvals.web.forms import read_found
from approvals.web.pages import absent, note, page, see, signed_in
from approvals.web.panel import Panel, Way
from approvals.web.words import lines
from audit.reading import run_events
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState
from runs.clock import database_now
from runs.models import Action
from runs.rules.evidence import EvidenceKind, Finding
from runs.rules.refusal import Refusal

SAME_MAX = 10
TYPED = ("outcome", "kind", "reference", "note")


def reconcile(request: HttpRequest, action_id: str) -> HttpResponse:
    """Look at an action; a POST says what became of it, and what that rests on."""
    action = _reach(request, action_id)
    if request.method != "POST":
        return _look(request, action)
    found = read_found(request.POST)
    outcome = (
        found
        if isinstance(found, Refusal)
        else settle_outcome(action, found, by=signed_in(request))
    )
    match outcome:
        case Refusal() as refusal:
            note(request, refusal, command="reconcile", object_id=action_id)
            return _look(request, _reach(request, action_id), refusal)
        case Action():
            return see("reconcile", action_id)


def _reach(request: HttpRequest, action_id: str) -> Action:
    found = visible_action(signed_in(request), action_id)
    if found is None:
        raise absent(request, command="reconcile", object_id=action_id)
    return found


def _look(request: HttpRequest, action: Action, refusal: Refusal | None = None) -> HttpResponse:
    """The page; who may look and not reconcile is told so, whatever they came with."""
    user = signed_in(request)
    asked = Interrupt.objects.select_related("run__agent", "policy").get(pk=action.interrupt_id)
    may = may_reconcile(user, asked)
    if not may and refusal is None:
        refusal = Refusal(code=RefusalCode.NOT_PERMITTED)
    is_open = may and action.state == ActionState.UNKNOWN
    (sight,) = sights([action], user, now=database_now(), reconcilable=[action.pk] if may else ())
    context: dict[str, Any] = {
        "sight": sight,
        "is_open": is_open,
        "may_resend": is_open
        and asked.rule.idempotent
        and not asked.run.cancel_requested
        and may_approve(user, asked),
        "findings": Finding,
        "kinds": list(EvidenceKind),
        "same": same_content(user, action.approved_sha256, but=asked.pk)[:SAME_MAX],
        "history": lines(
            run_events(
                tenant_id=user.tenant_id, run_id=action.run_id, interrupt_ids=[action.interrupt_id]
            )
        ),
    }
    if refusal is None:
        return page(request, "reconcile.html", context)
    context["panel"] = _panel(refusal, sight, is_open=is_open)
    context["typed"] = {name: request.POST.get(name, "") for name in TYPED}
    context["faults"] = {fault.pointer: sentence(fault.message) for fault in refusal.faults}
    response = page(request, "reconcile.html", context, status=refusal.code.status)
    if refusal.retry_after_s is not None:
        response.headers["Retry-After"] = str(refusal.retry_after_s)
    return response


def _panel(refusal: Refusal, sight: ActionSight, *, is_open: bool) -> Panel:
    """What the refusal says; where it can be said later, from when on."""
    way = Way("#say", _("Look at the form again"))
    if not is_open:
        way = Way(reverse("run", args=[sight.action.run_id]), _("See how the run stands"))
    is_early = refusal.retry_after_s is not None
    return Panel(
        code=refusal.code,
        title=sentence(refusal.code.sentence),
        text=sentence(refusal.detail),
        remedy=_remedy(refusal, is_early=is_early),
        at=sight.action.grant_ends_at if is_early else sight.action.ended_at,
        way=way,
    )


def _remedy(refusal: Refusal, *, is_early: bool) -> str:
    if is_early:
        return _("That it was not carried out can be said from that time on.")
    match refusal.code:
        case RefusalCode.EVIDENCE_REQUIRED | RefusalCode.INVALID_REQUEST | RefusalCode.TOO_LARGE:
            return _("What you wrote is still in the form.")
        case RefusalCode.NOT_PERMITTED:
            return _(
                "The owner of the run, an admin, or somebody who may approve the question says"
                " what became of it."
            )
        case RefusalCode.WRONG_STATE:
            return _("It is known by now what became of it; see below.")
        case _:
            return ""
