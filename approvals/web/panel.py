"""The reason panel of a refused answer: what happened, when, by whom, what differs, what next."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access import visible_interrupt, visible_interrupts
from approvals.models import Decision, Interrupt
from approvals.rules.presentation import Change, args_paths, changes
from approvals.rules.visible import Segment, visible
from approvals.sentences import sentence
from approvals.templatetags.texts import when
from approvals.web.queue import Queue
from approvals.web.standing import did, outcome_of
from identity.models import User
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import DecisionKind, InterruptState
from runs.rules.refusal import Refusal

ABOUT_THE_FORM: Final = frozenset(
    {
        RefusalCode.TOO_LARGE,
        RefusalCode.INVALID_JSON,
        RefusalCode.INVALID_REQUEST,
        RefusalCode.REASON_REQUIRED,
        RefusalCode.INVALID_EDIT,
        RefusalCode.TOOL_NOT_ALLOWED,
        RefusalCode.DECISION_NOT_ALLOWED,
    }
)
"""Refusals that a person mends in the form, where their panel then stands."""

ABOUT_THE_CONTENT: Final = frozenset({RefusalCode.STALE_REVISION, RefusalCode.DIGEST_MISMATCH})
"""Refusals of a form that may have been that of another attempt."""

REMEDIES: Final[Mapping[RefusalCode, str | Promise]] = {
    RefusalCode.TOO_LARGE: gettext_lazy("Shorten what you wrote; it is still in the form."),
    RefusalCode.INVALID_JSON: gettext_lazy("Correct it; what you wrote is still in the form."),
    RefusalCode.INVALID_REQUEST: gettext_lazy("Look at the form again and answer once more."),
    RefusalCode.NOT_OWNER: gettext_lazy("Ask the owner of the run to answer."),
    RefusalCode.NOT_PERMITTED: gettext_lazy(
        "Somebody with the right has to answer; the page says whom the rule asks."
    ),
    RefusalCode.SELF_APPROVAL: gettext_lazy("Leave the approval to somebody else, or reject."),
    RefusalCode.SUPERSEDED: gettext_lazy(
        "The agent asked for something else. Look at the new question and answer that one."
    ),
    RefusalCode.ALREADY_DECIDED: gettext_lazy("That answer stands; yours changes nothing."),
    RefusalCode.CANCELLED: gettext_lazy("There is nothing left to answer."),
    RefusalCode.EXPIRED: gettext_lazy(
        "Nothing was approved. If the agent still wants it, it has to ask again."
    ),
    RefusalCode.RUN_CLOSED: gettext_lazy("There is nothing left to answer."),
    RefusalCode.OUTCOME_UNKNOWN: gettext_lazy(
        "In the run's timeline you see which action it is. Answer when it has been cleared."
    ),
    RefusalCode.STALE_REVISION: gettext_lazy(
        "The tool, the target and the arguments are the same as before. "
        "This page is up to date again."
    ),
    RefusalCode.WRONG_STATE: gettext_lazy("See how the question stands now, further down."),
    RefusalCode.DIGEST_MISMATCH: gettext_lazy(
        "Your browser sent the form of other content. This page shows what is asked now."
    ),
    RefusalCode.NOT_SHOWN: gettext_lazy(
        "The form was older than a day, or not yours. This page now shows you all of it."
    ),
    RefusalCode.TOOL_NOT_ALLOWED: gettext_lazy("Change the arguments otherwise, or reject."),
    RefusalCode.DECISION_NOT_ALLOWED: gettext_lazy("Choose one of the answers offered."),
    RefusalCode.DUPLICATE_APPROVER: gettext_lazy("You have nothing more to do here."),
    RefusalCode.REASON_REQUIRED: gettext_lazy("Say why, in a few words, and answer again."),
    RefusalCode.INVALID_EDIT: gettext_lazy("Correct it; what you wrote is still in the form."),
}
"""What to do next, for every refusal that an answer can get."""


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
    remedy: str = ""
    at: datetime | None = None
    by: str = ""
    reason: tuple[Segment, ...] = ()
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] | None = None

    @property
    def is_about_the_form(self) -> bool:
        """Whether the panel belongs beside the form and not above the page."""
        return self.code in ABOUT_THE_FORM


def panel(
    refusal: Refusal,
    interrupt: Interrupt,
    user: User,
    *,
    is_open: bool,
    queue: Queue,
    given_sha256: str = "",
) -> Panel:
    """The panel of this refusal, for a question as it stands after it.

    `given_sha256` is the digest that the refused form named.
    """
    said = Panel(
        code=refusal.code,
        title=sentence(refusal.code.sentence),
        text=sentence(refusal.detail),
        remedy=str(REMEDIES.get(refusal.code, "")),
        faults=() if refusal.code is RefusalCode.REASON_REQUIRED else refusal.faults,
        way=_onward(refusal) if is_open else way_on(queue),
    )
    match refusal.code:
        case RefusalCode.SUPERSEDED:
            return _superseded(_ended(said, interrupt), interrupt, user)
        case RefusalCode.ALREADY_DECIDED:
            return _decided(said, interrupt, user)
        case RefusalCode.CANCELLED | RefusalCode.EXPIRED:
            return _ended(said, interrupt)
        case RefusalCode.RUN_CLOSED | RefusalCode.OUTCOME_UNKNOWN:
            to_run = Way(reverse("run", args=[interrupt.run_id]), _("Open the run"))
            return replace(said, at=interrupt.run.updated_at, way=to_run)
        case _ if refusal.code in ABOUT_THE_CONTENT and given_sha256 != interrupt.asked_sha256:
            return _other(said, given_sha256, interrupt, user)
        case _:
            return said


def way_on(queue: Queue) -> Way:
    """From a question that is over for this person: to the next one, or to the inbox."""
    if queue.next_id is not None:
        return Way(reverse("question", args=[queue.next_id]), _("Next question"))
    return Way(reverse("inbox"), _("Back to the inbox"))


def _onward(refusal: Refusal) -> Way:
    """Where an open question's form has to be looked at again."""
    match refusal.code:
        case RefusalCode.REASON_REQUIRED:
            return Way("#reason", _("Write the reason"))
        case RefusalCode.STALE_REVISION:
            return Way("#your-answer", _("Answer again"))
        case code if code in ABOUT_THE_FORM:
            return Way("#your-answer", _("Correct your answer"))
        case _:
            return Way("#asked", _("Read what is asked now"))


def _superseded(said: Panel, interrupt: Interrupt, user: User) -> Panel:
    following = visible_interrupt(user, interrupt.superseded_by_id or "")
    if following is None:
        return replace(said, remedy=_("The newer question is put to other people."))
    return replace(
        said,
        changes=content_changes(interrupt, following),
        way=Way(reverse("question", args=[following.pk]), _("Open the new question")),
    )


def _decided(said: Panel, interrupt: Interrupt, user: User) -> Panel:
    decision = outcome_of(interrupt)
    if decision is None:
        return said
    told = replace(
        said,
        title=did(decision),
        text=said.title,
        at=decision.decided_at,
        by=decision.by_name,
        reason=visible(decision.reason),
        changes=decided_changes(interrupt, decision),
    )
    if decision.by_id != user.public_id:
        return told
    recorded = _("Your answer was recorded at {at}").format(at=when(decision.decided_at))
    return replace(told, title=recorded, text=did(decision), remedy=_("It counts once."))


def decided_changes(interrupt: Interrupt, decision: Decision) -> tuple[Change, ...] | None:
    """What a person changed in the arguments before approving; None where they did not."""
    if decision.kind != DecisionKind.EDIT:
        return None
    return changes(
        interrupt.content["args"], decision.args, at=("args",), sensitive=interrupt.sensitive
    )


def _ended(said: Panel, interrupt: Interrupt) -> Panel:
    """When and by whom it ended; a deadline that nothing settled yet is its own end."""
    if InterruptState(interrupt.state).is_open:
        return replace(said, at=interrupt.expires_at)
    return replace(said, at=interrupt.ended_at, by=interrupt.ended_by)


def _other(said: Panel, digest: str, interrupt: Interrupt, user: User) -> Panel:
    """What differs from the attempt whose form was sent, where this person may see that one."""
    mine = visible_interrupts(user).filter(run_id=interrupt.run_id, call_id=interrupt.call_id)
    sent = mine.filter(asked_sha256=digest).order_by("-attempt").first()
    return replace(
        said,
        remedy=str(REMEDIES[RefusalCode.DIGEST_MISMATCH]),
        way=Way("#asked", _("Read what is asked now")),
        changes=None if sent is None else content_changes(sent, interrupt),
    )


def content_changes(before: Interrupt, after: Interrupt) -> tuple[Change, ...]:
    """What differs between two attempts; masked where either names a place as sensitive."""
    sensitive = args_paths([*before.sensitive, *after.sensitive])
    return changes(before.content, after.content, sensitive=sensitive)
