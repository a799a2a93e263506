"""Whether an approval may be used now: every reason why not, in the contract's order (§5).

Dispatch is the last point at which the server can say no. So it looks at everything again: how
the question ended, who controls the run, what is about to run, and what policy says today.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from approvals.rules.answering import ENDED
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import InterruptState, RunState
from runs.rules.facts import RESTING, RunFacts, closed, unknown
from runs.rules.lease import lost, may_take
from runs.rules.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An interrupt and its decision as dispatch sees them, under the run's lock."""

    interrupt_id: str
    state: InterruptState
    superseded_by: str | None
    ending: Mapping[str, JSONValue]
    approved_sha256: str | None
    """The digest of what was approved, computed anew from its stored text; None if nothing was."""
    valid_until: datetime | None
    action_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """What an executor wants to do, and what was looked up about it."""

    sha256: str
    """The digest of the arguments given, with the stored tool and target."""
    fencing_token: int | None
    """None where the lease is taken in the same step."""
    forbidden_by: str | None
    """The rule or list in force now that forbids the tool."""
    is_page_verified: bool
    now: datetime


def judge_dispatch(run: RunFacts, approval: Approval, wanted: Dispatch) -> Refusal | None:
    """The first reason why this approval cannot be used for this call now, or None."""
    return (
        _ended(approval)
        or closed(run)
        or unknown(run)
        or _no_control(run, wanted)
        or _wrong_state(run, approval)
        or _another_content(approval, wanted)
        or _forbidden(wanted)
        or _not_approved(approval, wanted)
        or _page(approval, wanted)
    )


def _ended(approval: Approval) -> Refusal | None:
    if approval.superseded_by is not None:
        return Refusal(
            code=RefusalCode.SUPERSEDED, current={"superseded_by": approval.superseded_by}
        )
    if approval.state in ENDED and approval.state is not InterruptState.DECIDED:
        return Refusal(code=ENDED[approval.state], current=dict(approval.ending))
    return None


def _no_control(run: RunFacts, wanted: Dispatch) -> Refusal | None:
    return may_take(run) if wanted.fencing_token is None else lost(run, wanted.fencing_token)


def _wrong_state(run: RunFacts, approval: Approval) -> Refusal | None:
    if run.state in RESTING or run.state is RunState.IN_FLIGHT:
        return None
    return Refusal(
        code=RefusalCode.WRONG_STATE,
        detail="The run waits for people.",
        current={**run.current(), "interrupt_state": approval.state},
    )


def _another_content(approval: Approval, wanted: Dispatch) -> Refusal | None:
    if approval.approved_sha256 is None or approval.approved_sha256 == wanted.sha256:
        return None
    return Refusal(
        code=RefusalCode.DIGEST_MISMATCH,
        detail="These are not the approved arguments.",
        current={"approved_sha256": approval.approved_sha256},
    )


def _forbidden(wanted: Dispatch) -> Refusal | None:
    if wanted.forbidden_by is None:
        return None
    return Refusal(
        code=RefusalCode.TOOL_NOT_ALLOWED,
        detail=f"The call is forbidden by {wanted.forbidden_by}.",
    )


def _not_approved(approval: Approval, wanted: Dispatch) -> Refusal | None:
    if approval.approved_sha256 is None or approval.valid_until is None:
        return Refusal(code=RefusalCode.NOT_APPROVED, current=dict(approval.ending))
    if approval.action_id is not None:
        return Refusal(code=RefusalCode.ALREADY_DISPATCHED, current={"action": approval.action_id})
    if approval.valid_until <= wanted.now:
        return Refusal(
            code=RefusalCode.APPROVAL_EXPIRED,
            current={"valid_until": approval.valid_until.isoformat()},
        )
    return None


def _page(approval: Approval, wanted: Dispatch) -> Refusal | None:
    if wanted.is_page_verified:
        return None
    return Refusal(code=RefusalCode.PAGE_NOT_VERIFIED, current={"interrupt": approval.interrupt_id})
