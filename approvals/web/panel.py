"""The reason panel of a refused answer: what happened, when, by whom, what differs, what next."""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What a refusal says to a person; `href` is the one way on."""

    code: RefusalCode
    title: str
    text: str = ""
    at: datetime | None = None
    by: str = ""
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] | None = None
    href: str
    link: str


def panel(refusal: Refusal, interrupt: Interrupt, user: User, *, is_open: bool) -> Panel:
    """The panel of this refusal, for a question as it stands after it."""
    inbox = {"href": reverse("inbox"), "link": "Back to the inbox"}
    here = {"href": "#answer", "link": "Back to your answer"} if is_open else inbox
    title, text = refusal.code.sentence, refusal.detail
    match refusal.code:
        case RefusalCode.SUPERSEDED:
            return _superseded(interrupt, user, inbox)
        case RefusalCode.ALREADY_DECIDED:
            return _decided(interrupt, user, inbox)
        case RefusalCode.CANCELLED | RefusalCode.EXPIRED:
            return Panel(code=refusal.code, title=title, **_end(interrupt), **inbox)
        case RefusalCode.RUN_CLOSED | RefusalCode.OUTCOME_UNKNOWN:
            href = reverse("run", args=[interrupt.run_id])
            at = interrupt.run.updated_at
            return Panel(code=refusal.code, title=title, at=at, href=href, link="Open the run")
        case RefusalCode.STALE_REVISION | RefusalCode.DIGEST_MISMATCH | RefusalCode.NOT_SHOWN:
            text = "Below is what is asked now. Read it, and answer that."
            next_ = {"href": "#asked", "link": "Read what is asked now"} if is_open else inbox
            return Panel(code=refusal.code, title=title, text=text, **next_)
        case _:
            return Panel(code=refusal.code, title=title, text=text, faults=refusal.faults, **here)


def _superseded(interrupt: Interrupt, user: User, inbox: dict[str, str]) -> Panel:
    title = RefusalCode.SUPERSEDED.sentence
    following = visible_interrupt(user, interrupt.superseded_by_id or "")
    if following is None:
        text = "The newer question is put to other people."
        return Panel(
            code=RefusalCode.SUPERSEDED, title=title, text=text, **_end(interrupt), **inbox
        )
    return Panel(
        code=RefusalCode.SUPERSEDED,
        title=title,
        **_end(interrupt),
        changes=content_changes(interrupt, following),
        href=reverse("question", args=[following.pk]),
        link="Open the new question",
    )


def _decided(interrupt: Interrupt, user: User, inbox: dict[str, str]) -> Panel:
    decision: Decision | None = getattr(interrupt, "decision", None)
    if decision is None:
        return Panel(
            code=RefusalCode.ALREADY_DECIDED, title=RefusalCode.ALREADY_DECIDED.sentence, **inbox
        )
    is_mine = decision.by_id == user.public_id
    did = DECIDED[DecisionKind(decision.kind)]
    title = f"{decision.by_name} {did}"
    if is_mine:
        title = f"Your answer was recorded at {when(decision.decided_at)}"
    return Panel(
        code=RefusalCode.ALREADY_DECIDED,
        title=title,
        text=f"You {did}." if is_mine else RefusalCode.ALREADY_DECIDED.sentence,
        at=decision.decided_at,
        by=decision.by_name,
        **inbox,
    )


def _end(interrupt: Interrupt) -> dict[str, datetime | str]:
    """When and by whom it ended; a deadline that nothing settled yet is its own end."""
    if InterruptState(interrupt.state).is_open:
        return {"at": interrupt.expires_at}
    return {"at": interrupt.ended_at or interrupt.expires_at, "by": interrupt.ended_by}


def content_changes(before: Interrupt, after: Interrupt) -> tuple[Change, ...]:
    """What differs between two attempts; masked where either names a place as sensitive."""
    sensitive = args_paths([*before.sensitive, *after.sensitive])
    return changes(before.content, after.content, sensitive=sensitive)
