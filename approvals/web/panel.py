"""The reason panel of a refused answer: what happened, when, by whom, what differs, what next."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from approvals.access import visible_interrupt
from approvals.models import Decision, Interrupt
from approvals.rules.presentation import Change, args_paths, changes
from approvals.templatetags.texts import when
from identity.models import User
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import DecisionKind, InterruptState
from runs.rules.refusal import Refusal

DECIDED = {
    DecisionKind.APPROVE: "approved this",
    DecisionKind.EDIT: "approved this with other arguments",
    DecisionKind.REJECT: "rejected this",
    DecisionKind.RESPOND: "responded to this",
    DecisionKind.DONE: "found this done",
}


@dataclass(frozen=True, slots=True)
class Way:
    """The one link that leads on."""

    href: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What a refusal says to a person."""

    code: RefusalCode
    title: str
    way: Way
    text: str = ""
    at: datetime | None = None
    by: str = ""
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] | None = None


def panel(refusal: Refusal, interrupt: Interrupt, user: User, *, is_open: bool) -> Panel:
    """The panel of this refusal, for a question as it stands after it."""
    way = _onward(refusal) if is_open else _inbox()
    said = Panel(code=refusal.code, title=refusal.code.sentence, way=way)
    match refusal.code:
        case RefusalCode.SUPERSEDED:
            return _superseded(_ended(said, interrupt), interrupt, user)
        case RefusalCode.ALREADY_DECIDED:
            return _decided(said, interrupt, user)
        case RefusalCode.CANCELLED | RefusalCode.EXPIRED:
            return _ended(said, interrupt)
        case RefusalCode.RUN_CLOSED | RefusalCode.OUTCOME_UNKNOWN:
            to_run = Way(reverse("run", args=[interrupt.run_id]), "Open the run")
            return replace(said, at=interrupt.run.updated_at, way=to_run)
        case RefusalCode.STALE_REVISION | RefusalCode.DIGEST_MISMATCH | RefusalCode.NOT_SHOWN:
            return replace(said, text="This page shows what is asked now.")
        case _:
            return replace(said, text=refusal.detail, faults=refusal.faults)


def _onward(refusal: Refusal) -> Way:
    """Where an open question's form has to be looked at again."""
    match refusal.code:
        case RefusalCode.REASON_REQUIRED:
            return Way("#reason", "Write the reason")
        case RefusalCode.INVALID_EDIT | RefusalCode.INVALID_JSON:
            return Way("#answer", "Correct your answer")
        case _:
            return Way("#asked", "Read what is asked now")


def _superseded(said: Panel, interrupt: Interrupt, user: User) -> Panel:
    following = visible_interrupt(user, interrupt.superseded_by_id or "")
    if following is None:
        return replace(said, text="The newer question is put to other people.")
    return replace(
        said,
        changes=content_changes(interrupt, following),
        way=Way(reverse("question", args=[following.pk]), "Open the new question"),
    )


def _decided(said: Panel, interrupt: Interrupt, user: User) -> Panel:
    decision: Decision | None = getattr(interrupt, "decision", None)
    if decision is None:
        return said
    did = DECIDED[DecisionKind(decision.kind)]
    title, text = f"{decision.by_name} {did}", said.title
    if decision.by_id == user.public_id:
        title = f"Your answer was recorded at {when(decision.decided_at)}"
        text = f"You {did}."
    return replace(said, title=title, text=text, at=decision.decided_at, by=decision.by_name)


def _ended(said: Panel, interrupt: Interrupt) -> Panel:
    """When and by whom it ended; a deadline that nothing settled yet is its own end."""
    if InterruptState(interrupt.state).is_open:
        return replace(said, at=interrupt.expires_at)
    return replace(said, at=interrupt.ended_at, by=interrupt.ended_by)


def _inbox() -> Way:
    return Way(reverse("inbox"), "Back to the inbox")


def content_changes(before: Interrupt, after: Interrupt) -> tuple[Change, ...]:
    """What differs between two attempts; masked where either names a place as sensitive."""
    sensitive = args_paths([*before.sensitive, *after.sensitive])
    return changes(before.content, after.content, sensitive=sensitive)
