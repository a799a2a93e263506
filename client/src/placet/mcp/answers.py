"""What the tools answer."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from placet.models import Interrupt
from placet.protocol.states import InterruptState

Status = Literal["waiting", "approved", "rejected", "expired", "cancelled", "superseded"]

_ENDS: dict[InterruptState, Status] = {
    InterruptState.SUPERSEDED: "superseded",
    InterruptState.EXPIRED: "expired",
    InterruptState.CANCELLED: "cancelled",
}


class Outcome(BaseModel):
    """How a question stands."""

    status: Status
    question: str = Field(description="The id of the question, for get_outcome and begin_action.")
    url: str = Field(description="The page on which people answer. Show it to the user.")
    args: dict[str, Any] = Field(description="The arguments, with a person's edits once approved.")
    reason: str = Field(description="Why people rejected it.")
    by: str = Field(description="Who answered.")
    action: str | None = Field(description="The action that used the approval up, if there is one.")
    next: str = Field(description="What to do now.")

    @classmethod
    def of(cls, asked: Interrupt) -> "Outcome":
        """How this question stands, and what to do about it."""
        decision = asked.decision
        status: Status
        if decision is None:
            status = _ENDS.get(asked.state, "waiting")
        else:
            status = "approved" if decision.approves else "rejected"
        return cls(
            status=status,
            question=asked.id,
            url=asked.url,
            args=dict(decision.args if decision and decision.args is not None else asked.args),
            reason=decision.reason if decision else "",
            by=decision.decided_by.name if decision else "",
            action=asked.action_id,
            next=_used(asked) if asked.action_id else NEXT[status],
        )


NEXT: dict[Status, str] = {
    "waiting": "People have not answered. This is no error. Give the user the url, and call"
    " get_outcome later. Do not do it meanwhile.",
    "approved": "Call begin_action with exactly these args, do it once, then call report_action.",
    "rejected": "Do not do it. Mind the reason.",
    "expired": "Do not do it: nobody answered in time.",
    "cancelled": "Do not do it: the question was taken back.",
    "superseded": "Do not do it: a newer question took the place of this one.",
}


def _used(asked: Interrupt) -> str:
    return f"Do not do it again: the approval was used up by the action {asked.action_id}."


class Permission(BaseModel):
    """What may be done now, once."""

    action: str = Field(description="For report_action.")
    tool: str
    args: dict[str, Any] = Field(description="Do exactly this.")
    target: dict[str, Any] | None
    idempotency_key: str = Field(description="Give it to the target, which does it once.")
    grant: str = Field(description="The signed permission, for tools that check it.")
    next: str = "Do it now with exactly these args, once, then call report_action."


class Reported(BaseModel):
    """What became of an action."""

    action: str
    state: str
