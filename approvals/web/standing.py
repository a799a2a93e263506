"""How a question stands, in words: for links to it, and for whoever answered it."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.models import Approval, Decision, Interrupt
from approvals.templatetags.texts import when
from audit.record import ActorKind
from identity.models import User
from placet.protocol.states import DecisionKind, InterruptState, RunState


def outcome_of(interrupt: Interrupt) -> Decision | None:
    """The decision of a question, where there is one."""
    return getattr(interrupt, "decision", None)


def did(decision: Decision) -> str:
    """What somebody did, as a sentence with their name."""
    match DecisionKind(decision.kind):
        case DecisionKind.APPROVE if decision.by_kind == ActorKind.POLICY:
            words = _("The rule {name} approved this")
        case DecisionKind.APPROVE:
            words = _("{name} approved this")
        case DecisionKind.EDIT:
            words = _("{name} approved this with other arguments")
        case DecisionKind.REJECT:
            words = _("{name} rejected this")
        case DecisionKind.RESPOND:
            words = _("{name} responded to this")
        case DecisionKind.DONE:
            words = _("{name} found this done")
    return words.format(name=decision.by_name)


def standing(interrupt: Interrupt, now: datetime) -> str:
    """How a question stands at this instant, with its run where that stands still."""
    if interrupt.run.state == RunState.UNKNOWN and interrupt.state == InterruptState.DECIDED:
        return _("{outcome}; what came of it in its run is not known").format(
            outcome=_standing(interrupt, now)
        )
    return _standing(interrupt, now)


def _standing(interrupt: Interrupt, now: datetime) -> str:
    decision = outcome_of(interrupt)
    state = InterruptState(interrupt.state)
    if state.is_open and interrupt.expires_at <= now:
        state = InterruptState.EXPIRED
    match state:
        case InterruptState.PENDING:
            return _("waits for an answer")
        case InterruptState.HANDED_BACK:
            return _("waits to be checked")
        case InterruptState.SUPERSEDED:
            return _("replaced by a newer question")
        case InterruptState.EXPIRED:
            return _("not answered in time")
        case InterruptState.CANCELLED:
            return _("cancelled by {name}").format(name=interrupt.ended_by)
        case InterruptState.DECIDED:
            return _decided(decision)


def _decided(decision: Decision | None) -> str:
    match decision and DecisionKind(decision.kind):
        case DecisionKind.APPROVE:
            words = _("approved by {name}, {at}")
        case DecisionKind.EDIT:
            words = _("approved by {name} with other arguments, {at}")
        case DecisionKind.REJECT:
            words = _("rejected by {name}, {at}")
        case _:
            words = _("answered by {name}, {at}")
    return words.format(
        name=decision.by_name if decision else "", at=when(decision.decided_at) if decision else ""
    )


def recorded(
    interrupt: Interrupt,
    user: User,
    *,
    approvals: list[Approval],
    following: Interrupt | None,
    now: datetime,
) -> str:
    """What is on record of this person's answer: said when a page lost the reply to it."""
    decision = outcome_of(interrupt)
    if decision is not None and decision.by_id == user.public_id:
        return _of_mine(decision)
    mine = next((approval for approval in approvals if approval.user_id == user.pk), None)
    if mine is not None:
        missing = max(0, interrupt.required - interrupt.approvals_so_far)
        told = _("Your approval was recorded at {at}.").format(at=when(mine.at))
        more = ngettext("{n} more is needed.", "{n} more are needed.", missing).format(n=missing)
        is_waiting = InterruptState(interrupt.state).is_open and missing
        return f"{told} {more}" if is_waiting else told
    if decision is not None:
        return _("Nothing of yours was recorded. {what}, {at}.").format(
            what=did(decision), at=when(decision.decided_at)
        )
    if interrupt.ended_by == user.username and following and following.is_edit_of(interrupt):
        return _("Your edit was recorded: it became a new question.")
    if InterruptState(interrupt.state).is_open and interrupt.expires_at > now:
        return _("Nothing was recorded. Answer again: of several answers only one counts.")
    return _("Nothing was recorded; the question was {standing}.").format(
        standing=standing(interrupt, now)
    )


def _of_mine(decision: Decision) -> str:
    match DecisionKind(decision.kind):
        case DecisionKind.APPROVE:
            words = _("Your approval was recorded at {at}.")
        case DecisionKind.EDIT:
            words = _("Your edit was recorded at {at}, and approved.")
        case DecisionKind.REJECT:
            words = _("Your rejection was recorded at {at}.")
        case _:
            words = _("Your answer was recorded at {at}.")
    return words.format(at=when(decision.decided_at))
