"""The record in words: one line of a timeline from one event."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import pgettext, pgettext_lazy

from approvals.names import Words, named
from approvals.rules.visible import Segment, visible
from approvals.sentences import sentence
from audit.reading import RecordedEvent
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, RunState
from runs.rules.evidence import Finding

# Translators: what follows somebody's name has the context "deed".
DECIDED: Words = {
    "approve": pgettext_lazy("deed", "approved it"),
    "edit": pgettext_lazy("deed", "approved it with other arguments"),
    "reject": pgettext_lazy("deed", "rejected it"),
    "respond": pgettext_lazy("deed", "responded"),
    "done": pgettext_lazy("deed", "found it done"),
}
PLAIN: Words = {
    "interrupt.asked": pgettext_lazy("deed", "asked"),
    "interrupt.shown": pgettext_lazy("deed", "was shown the whole question"),
    "interrupt.partly_approved": pgettext_lazy("deed", "approved it; more approvals are needed"),
    "interrupt.superseded": pgettext_lazy(
        "deed", "asked again, and a newer question took its place"
    ),
    "interrupt.expired": pgettext_lazy("deed", "ended it: nobody answered in time"),
    "interrupt.cancelled": pgettext_lazy("deed", "took it back"),
    "interrupt.handed_back": pgettext_lazy("deed", "said that it is done"),
    "interrupt.reopened": pgettext_lazy("deed", "opened it again"),
    "run.cancel_requested": pgettext_lazy("deed", "asked the run to stop"),
    "action.dispatched": pgettext_lazy("deed", "was permitted to carry it out, once"),
    "action.unknown": pgettext_lazy("deed", "does not know whether it was carried out"),
    "tenant.created": pgettext_lazy("deed", "made the tenant"),
    "user.created": pgettext_lazy("deed", "made an account"),
    "user.deactivated": pgettext_lazy("deed", "deactivated an account"),
    "agent.created": pgettext_lazy("deed", "made an agent"),
    "agent.deactivated": pgettext_lazy("deed", "deactivated an agent"),
    "account.registered": pgettext_lazy("deed", "registered an account at a site for a person"),
    "policy.saved": pgettext_lazy("deed", "saved a version of the policy"),
    "display.saved": pgettext_lazy("deed", "saved a version of the display hints"),
    "endpoint.created": pgettext_lazy("deed", "made a webhook"),
    "endpoint.changed": pgettext_lazy("deed", "changed a webhook"),
    "endpoint.secret_rotated": pgettext_lazy("deed", "replaced the secret of a webhook"),
    "endpoint.enabled": pgettext_lazy("deed", "enabled a webhook"),
    "endpoint.disabled": pgettext_lazy("deed", "disabled a webhook"),
    "endpoint.test": pgettext_lazy("deed", "sent a test to a webhook"),
    "endpoint.resent": pgettext_lazy("deed", "sent deliveries of a webhook again"),
}
RUN_STATES: Words = {
    RunState.READY: pgettext_lazy("deed", "set the run to ready to go on"),
    RunState.WAIT_USER: pgettext_lazy("deed", "set the run to waiting for people"),
    RunState.EXPIRED: pgettext_lazy("deed", "set the run to left without an answer in time"),
    RunState.IN_FLIGHT: pgettext_lazy("deed", "set the run to carrying out an action"),
    RunState.UNKNOWN: pgettext_lazy("deed", "set the run to stopped: an outcome is unknown"),
    RunState.DONE: pgettext_lazy("deed", "set the run to done"),
    RunState.CANCELLED: pgettext_lazy("deed", "set the run to cancelled"),
}

KNOWN: Words = {
    ActionState.SUCCEEDED: pgettext_lazy("deed", "reported that it was carried out"),
    ActionState.FAILED: pgettext_lazy("deed", "reported that it failed"),
    ActionState.NOT_EXECUTED: pgettext_lazy("deed", "reported that it was not carried out"),
}
FOUND: Words = {
    Finding.EXECUTED: pgettext_lazy("deed", "found out that it was carried out"),
    Finding.NOT_EXECUTED: pgettext_lazy("deed", "found out that it was not carried out"),
    Finding.STILL_UNKNOWN: pgettext_lazy("deed", "looked into it: still not known"),
    Finding.RESEND: pgettext_lazy(
        "deed", "ordered that it be sent again under the same idempotency key"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event for people: when, who, what, and what it is about."""

    event: RecordedEvent
    at: datetime
    who: str
    words: str
    about: tuple[Segment, ...]
    reason: tuple[Segment, ...]
    repeated: int


def lines(events: Sequence[RecordedEvent]) -> list[Line]:
    """These events in words, in their order."""
    return [line(event) for event in events]


def line(event: RecordedEvent) -> Line:
    """This event in words."""
    detail: dict[str, Any] = json.loads(event.detail)
    reason = detail.get("detail" if event.type == "action.unknown" else "reason")
    return Line(
        event=event,
        at=event.at,
        who=event.actor_name,
        words=_words(event, detail),
        about=visible(_about(event, detail)),
        reason=visible(reason) if isinstance(reason, str) else (),
        repeated=int(detail.get("repeated", 0)),
    )


def _about(event: RecordedEvent, detail: dict[str, Any]) -> str:
    """The name of what was set up, or which version of it."""
    if event.run_id or event.type not in PLAIN:
        return ""
    return str(detail.get("name") or detail.get("slug") or detail.get("version") or "")


def _words(event: RecordedEvent, detail: dict[str, Any]) -> str:
    match event.type:
        case "interrupt.decided":
            return named(DECIDED, str(detail.get("decision")))
        case "interrupt.shown" if detail.get("revealed"):
            return pgettext("deed", "saw it with the masked values")
        case "interrupt.reopened" if differs := detail.get("differs"):
            seen = pgettext("deed", "opened it again: what was seen differs in {members}")
            return seen.format(members=_members(differs))
        case "run.state_changed":
            return _moved(event)
        case "command.refused":
            refused = pgettext("deed", "was refused: {sentence}")
            return refused.format(sentence=_sentence(event.code))
        case _:
            return _of_action(event, detail)


def _moved(event: RecordedEvent) -> str:
    if event.from_state is None:
        return pgettext("deed", "began the run")
    return named(RUN_STATES, str(event.to_state))


def _of_action(event: RecordedEvent, detail: dict[str, Any]) -> str:
    match event.type:
        case "action.known":
            return named(KNOWN, str(event.to_state))
        case "action.reconciled":
            return named(FOUND, str(detail.get("outcome")))
        case "action.unknown" if detail.get("why") == "lease_ran_out":
            return pgettext("deed", "lost sight of it: control of the run was not renewed in time")
        case _:
            return named(PLAIN, event.type)


def _members(names: Sequence[str]) -> str:
    return pgettext("between the parts of a list", ", ").join(names)


def _sentence(code: str | None) -> str:
    return sentence(RefusalCode(code).sentence) if code in list(RefusalCode) else str(code)
