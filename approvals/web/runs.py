"""Runs: which there are, what happened in one, and stopping it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from approvals.access import (
    may_cancel,
    reconcilable_actions,
    sees_all_of,
    visible_actions,
    visible_interrupts,
    visible_run,
    visible_runs,
)
from approvals.models import Interrupt
from approvals.rules.glance import Glance
from approvals.rules.presentation import Notice, Tree, notice, tree
from approvals.sentences import sentence
from approvals.web.actions import ActionSight, sights, with_short_texts
from approvals.web.forms import read_reason
from approvals.web.glance import glances, hints_of, with_glance
from approvals.web.keyset import newest_first
from approvals.web.pages import absent, note, page, see, signed_in
from approvals.web.panel import Panel, Way
from approvals.web.words import Line, lines
from audit.reading import run_events
from identity.models import User
from placet.protocol.reading import read_json
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunState
from runs.clock import database_now
from runs.models import Run
from runs.rules.facts import Lease
from runs.rules.refusal import Refusal

ACTIONS_MAX = 50
QUESTIONS_MAX = 200
EVENTS_MAX = 200


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """A page of the runs of which this person may see anything, the newest first."""
    state = request.GET.get("state", "")
    seen = visible_runs(signed_in(request)).select_related("owner", "agent")
    seen = seen.defer("context", "labels")
    if state in list(RunState):
        seen = seen.filter(state=state)
    cut = newest_first(seen, request.GET)
    return page(request, "runs.html", {"cut": cut, "state": state, "states": list(RunState)})


@require_safe
def run(request: HttpRequest, run_id: str) -> HttpResponse:
    """One run: header, questions, timeline; for whoever only answers, their part of it."""
    found = _reach(request, run_id, command="look")
    return _run_page(request, found)


def cancel_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """Stop the run, for its owner or an admin."""
    if request.method != "POST":
        return see("run", run_id)
    found = _reach(request, run_id, command="cancel")
    user, reason = signed_in(request), read_reason(request.POST)
    outcome: Run | Refusal
    if not may_cancel(user, found):
        outcome = Refusal(code=RefusalCode.NOT_PERMITTED)
    elif isinstance(reason, Refusal):
        outcome = reason
    else:
        outcome = found.cancel(by=user, reason=reason or None)
    match outcome:
        case Refusal() as refusal:
            note(request, refusal, command="cancel", object_id=run_id)
            return _run_page(request, _reach(request, run_id, command="cancel"), refusal)
        case Run():
            return see("run", run_id)


def _reach(request: HttpRequest, run_id: str, *, command: str) -> Run:
    found = visible_run(signed_in(request), run_id)
    if found is None:
        raise absent(request, command=command, object_id=run_id)
    return found


def _run_page(request: HttpRequest, run: Run, refusal: Refusal | None = None) -> HttpResponse:
    context: dict[str, Any] = {"page": RunPage.of(run, signed_in(request), _after_seq(request))}
    if refusal is None:
        return page(request, "run.html", context)
    context |= {"panel": _panel(refusal, run), "reason": request.POST.get("reason", "")}
    return page(request, "run.html", context, status=refusal.code.status)


def _panel(refusal: Refusal, run: Run) -> Panel:
    return Panel(
        code=refusal.code,
        title=sentence(refusal.code.sentence),
        text=sentence(refusal.detail),
        at=run.updated_at if run.facts().state.is_terminal else None,
        faults=refusal.faults,
        way=Way(reverse("run", args=[run.pk]), _("See how the run stands")),
    )


def _after_seq(request: HttpRequest) -> int:
    text = request.GET.get("after_seq", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run as one person sees it."""

    run: Run
    sees_all: bool
    can_cancel: bool
    now: datetime
    questions: list[tuple[Interrupt, Glance]]
    actions: list[ActionSight]
    has_more_actions: bool
    lines: list[Line]
    context: Tree | None
    labels: Tree | None
    notice: Notice | None
    next_seq: int | None

    @classmethod
    def of(cls, run: Run, user: User, after_seq: int) -> "RunPage":
        """The whole run, or the header and what came of the questions that this person may see."""
        sees_all, now = sees_all_of(user, run), database_now()
        mine = with_glance(visible_interrupts(user).filter(run=run)).select_related("decision")
        found = list(mine.order_by("created_at", "pk")[:QUESTIONS_MAX])
        shown_args = glances(found, hints_of(user.tenant_id), are_short_whole=True)
        acts = with_short_texts(visible_actions(user).filter(run=run)).order_by("-pk")
        newest = list(acts[: ACTIONS_MAX + 1])
        theirs = reconcilable_actions(user).filter(run=run).values_list("pk", flat=True)
        events = run_events(
            tenant_id=run.tenant_id,
            run_id=run.pk,
            after_seq=after_seq,
            interrupt_ids=None if sees_all else [interrupt.pk for interrupt in found],
            limit=EVENTS_MAX + 1,
        )
        shown, is_over = events[:EVENTS_MAX], run.facts().state.is_terminal
        context, labels = read_json(run.context.encode()), read_json(run.labels.encode())
        return cls(
            run=run,
            sees_all=sees_all,
            can_cancel=may_cancel(user, run) and not run.facts().is_stopping and not is_over,
            now=now,
            questions=[(interrupt, shown_args[interrupt.pk]) for interrupt in found],
            actions=sights(newest[:ACTIONS_MAX], user, now=now, reconcilable=theirs),
            has_more_actions=len(newest) > ACTIONS_MAX,
            lines=lines(shown),
            context=tree({"context": context}) if sees_all and context is not None else None,
            labels=tree(labels, at=("labels",)) if sees_all and labels else None,
            notice=notice(run.title),
            next_seq=shown[-1].run_seq if len(events) > EVENTS_MAX else None,
        )

    @property
    def lease(self) -> Lease | None:
        """Who has control at this instant, whether or not the sweeper ran."""
        lease = self.run.lease
        return lease if lease and lease.expires_at > self.now else None

    @property
    def has_open_actions(self) -> bool:
        """Whether something was dispatched that may have happened and of which it is not known."""
        return self.run.state in (RunState.IN_FLIGHT, RunState.UNKNOWN)
