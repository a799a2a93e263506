"""What clears an unknown outcome: typed evidence, or a person's order to send again (contract §3).

Nothing else does: no timer, no retry, and no "not found" that is merely an answer not had.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import ActionState
from runs.rules.facts import RunFacts, closed, ended
from runs.rules.refusal import Refusal


class Finding(StrEnum):
    """What whoever reconciles says of an action."""

    EXECUTED = "executed"
    NOT_EXECUTED = "not_executed"
    STILL_UNKNOWN = "still_unknown"
    RESEND = "resend"


class EvidenceKind(StrEnum):
    """What a finding rests on."""

    TARGET_OBJECT = "target_object"
    IDEMPOTENCY_LOOKUP = "idempotency_lookup"
    STATUS_RECORD = "status_record"
    HUMAN_STATEMENT = "human_statement"


PROVING_ABSENCE = frozenset(
    {EvidenceKind.IDEMPOTENCY_LOOKUP, EvidenceKind.STATUS_RECORD, EvidenceKind.HUMAN_STATEMENT}
)
"""That an object is not to be found proves nothing; these can say that nothing was done."""

BY_PEOPLE = frozenset({Finding.RESEND})

FOUND = {
    Finding.EXECUTED: ActionState.SUCCEEDED,
    Finding.NOT_EXECUTED: ActionState.NOT_EXECUTED,
    Finding.STILL_UNKNOWN: ActionState.UNKNOWN,
    Finding.RESEND: ActionState.RESENT,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a finding rests on, by whose word or which record."""

    kind: EvidenceKind
    reference: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciling:
    """One finding about one action, and what the rules need beside it."""

    finding: Finding
    evidence: Evidence | None
    is_person: bool
    may_resend: bool
    """Whether this person may approve the question, read after the lock."""
    is_idempotent: bool
    """Whether the rule says that the target honors the idempotency key."""
    grant_ends_at: datetime
    now: datetime


def reconcile(run: RunFacts, state: ActionState, asked: Reconciling) -> Refusal | None:
    """Why this finding is not taken, or None."""
    return (
        said_without_right(asked)
        or _stopping(run, asked)
        or _wrong_state(run, state)
        or _too_early(asked)
        or _not_offered(asked)
        or _without_evidence(asked)
    )


def said_without_right(asked: Reconciling) -> Refusal | None:
    """The refusal of what only people may say, or only who may approve, or None."""
    by_statement = asked.evidence and asked.evidence.kind is EvidenceKind.HUMAN_STATEMENT
    if not asked.is_person and (by_statement or asked.finding in BY_PEOPLE):
        return Refusal(
            code=RefusalCode.NOT_PERMITTED, detail="Only a person can say or order this."
        )
    if asked.finding is Finding.RESEND and not asked.may_resend:
        return Refusal(
            code=RefusalCode.NOT_PERMITTED,
            detail="Only who may approve the question can have it sent again.",
        )
    return None


def _stopping(run: RunFacts, asked: Reconciling) -> Refusal | None:
    """A run that is asked to stop dispatches nothing more, but what happened is still found out."""
    return closed(run) if asked.finding is Finding.RESEND else ended(run)


def _wrong_state(run: RunFacts, state: ActionState) -> Refusal | None:
    if state is ActionState.UNKNOWN:
        return None
    return Refusal(code=RefusalCode.WRONG_STATE, current={**run.current(), "action_state": state})


def _too_early(asked: Reconciling) -> Refusal | None:
    """While its grant is valid an executor that nobody hears may still act."""
    if asked.finding is not Finding.NOT_EXECUTED or asked.now >= asked.grant_ends_at:
        return None
    return Refusal(
        code=RefusalCode.WRONG_STATE,
        detail="Its grant has not run out: it could still be carried out.",
        retry_after_s=int((asked.grant_ends_at - asked.now).total_seconds()) + 1,
    )


def _not_offered(asked: Reconciling) -> Refusal | None:
    if asked.finding is not Finding.RESEND or asked.is_idempotent:
        return None
    return Refusal(
        code=RefusalCode.DECISION_NOT_ALLOWED,
        detail="No rule says that the target does this only once under one idempotency key.",
    )


def _without_evidence(asked: Reconciling) -> Refusal | None:
    match asked.finding:
        case Finding.STILL_UNKNOWN | Finding.RESEND:
            return None
        case Finding.EXECUTED | Finding.NOT_EXECUTED if asked.evidence is None:
            return _lacking("/evidence", "Say what shows it.")
        case Finding.NOT_EXECUTED if asked.evidence and asked.evidence.kind not in PROVING_ABSENCE:
            return _lacking(
                "/evidence/kind",
                "That no object was found does not show that nothing was done.",
            )
    if asked.evidence and not asked.evidence.reference.strip():
        return _lacking("/evidence/reference", "Name the record, object or statement.")
    return None


def _lacking(pointer: str, message: str) -> Refusal:
    return Refusal(
        code=RefusalCode.EVIDENCE_REQUIRED, detail=message, faults=(Fault(pointer, message),)
    )
