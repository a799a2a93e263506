"""The closed lists of the wire contract: states, kinds and outcomes, spelled as they travel."""

from enum import StrEnum


class RunState(StrEnum):
    """How a run stands."""

    READY = "READY"
    WAIT_USER = "WAIT_USER"
    EXPIRED = "EXPIRED"
    IN_FLIGHT = "IN_FLIGHT"
    UNKNOWN = "UNKNOWN"
    DONE = "DONE"
    CANCELLED = "CANCELLED"

    @property
    def is_terminal(self) -> bool:
        """Whether the run has ended and takes no answer, dispatch, heartbeat or result."""
        return self in (RunState.DONE, RunState.CANCELLED)


class RunOutcome(StrEnum):
    """What an agent says of its run when it finishes it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"


class InterruptState(StrEnum):
    """How a question stands."""

    PENDING = "PENDING"
    HANDED_BACK = "HANDED_BACK"
    DECIDED = "DECIDED"
    SUPERSEDED = "SUPERSEDED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"

    @property
    def is_open(self) -> bool:
        """Whether the question still waits for an answer or for the check of a hand-back."""
        return self in (InterruptState.PENDING, InterruptState.HANDED_BACK)


class InterruptKind(StrEnum):
    """What a question asks of people."""

    APPROVAL = "approval"
    QUESTION = "question"
    HANDOFF = "handoff"


class DecisionKind(StrEnum):
    """What people answered."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"
    DONE = "done"


class ActionState(StrEnum):
    """What is known of one dispatched side effect."""

    IN_FLIGHT = "IN_FLIGHT"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    NOT_EXECUTED = "NOT_EXECUTED"
    UNKNOWN = "UNKNOWN"
    RESENT = "RESENT"
