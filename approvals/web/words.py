"""The record in words: one line of a timeline from one event."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.rules.visible import Segment, visible
from audit.reading import RecordedEvent
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunState

DECIDED = {
    "approve": "approved it",
    "edit": "approved it with other arguments",
    "reject": "rejected it",
    "respond": "responded",
    "done": "found it done",
}
PLAIN = {
    "interrupt.asked": "asked",
    "interrupt.shown": "saw the whole question",
    "interrupt.partly_approved": "approved it; more approvals are needed",
    "interrupt.superseded": "asked again, and a newer question took its place",
    "interrupt.expired": "ended it: nobody answered in time",
    "interrupt.cancelled": "took it back",
    "interrupt.handed_back": "said that it is done",
    "interrupt.reopened": "opened it again",
    "tenant.created": "made the tenant",
    "user.created": "made an account",
    "user.deactivated": "deactivated an account",
    "agent.created": "made an agent",
    "agent.deactivated": "deactivated an agent",
    "policy.saved": "saved a version of the policy",
}
RUN_STATES = {
    RunState.READY: "ready to go on",
    RunState.WAIT_USER: "waiting for people",
    RunState.EXPIRED: "left without an answer in time",
    RunState.IN_FLIGHT: "carrying out an action",
    RunState.UNKNOWN: "stopped: an outcome is unknown",
    RunState.DONE: "done",
    RunState.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event for people: when, who, what, and what it is about."""

    event: RecordedEvent
    at: datetime
    who: str
    words: str
    reason: tuple[Segment, ...]
    repeated: int


def lines(events: Sequence[RecordedEvent]) -> list[Line]:
    """These events in words, in their order."""
    return [line(event) for event in events]


def line(event: RecordedEvent) -> Line:
    """This event in words."""
    detail: dict[str, Any] = json.loads(event.detail)
    reason = detail.get("reason")
    return Line(
        event=event,
        at=event.at,
        who=event.actor_name,
        words=_words(event, detail),
        reason=visible(reason) if isinstance(reason, str) else (),
        repeated=int(detail.get("repeated", 0)),
    )


def _words(event: RecordedEvent, detail: dict[str, Any]) -> str:
    match event.type:
        case "interrupt.decided":
            return DECIDED.get(str(detail.get("decision")), "decided it")
        case "interrupt.shown" if detail.get("revealed"):
            return "saw it with the masked values"
        case "run.state_changed" if event.from_state is None:
            return "began the run"
        case "run.state_changed":
            return f"set the run to {_state(event.to_state)}"
        case "command.refused":
            return f"was refused: {_sentence(event.code)}"
        case _:
            return PLAIN.get(event.type, event.type)


def _state(name: str | None) -> str:
    return RUN_STATES[RunState(name)] if name in list(RunState) else str(name)


def _sentence(code: str | None) -> str:
    return RefusalCode(code).sentence if code in list(RefusalCode) else str(code)
