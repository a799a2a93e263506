"""Dispatch: every state of a run × every way a question ended, and the order of the reasons."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.rules.dispatching import Approval, Dispatch, judge_dispatch
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import InterruptState, RunOutcome, RunState
from runs.rules.facts import Lease, RunFacts

NO = RefusalCode
NOON = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
LEASE = Lease("worker-1", 7, NOON + timedelta(minutes=1))

APPROVED = Approval(
    interrupt_id="int_1",
    state=InterruptState.DECIDED,
    superseded_by=None,
    ending={"decision": "approve"},
    approved_sha256="a" * 64,
    valid_until=NOON + timedelta(milliseconds=1),
    action_id=None,
)
REJECTED = replace(APPROVED, ending={"decision": "reject"}, approved_sha256=None, valid_until=None)
ENDED = {
    "approved": APPROVED,
    "used": replace(APPROVED, action_id="act_1"),
    "outdated": replace(APPROVED, superseded_by="int_2"),
    "too old": replace(APPROVED, valid_until=NOON),
    "rejected": REJECTED,
    "superseded": replace(REJECTED, state=InterruptState.SUPERSEDED, superseded_by="int_2"),
    "expired": replace(REJECTED, state=InterruptState.EXPIRED),
    "cancelled": replace(REJECTED, state=InterruptState.CANCELLED),
}
HELD = [RunState.READY, RunState.EXPIRED, RunState.IN_FLIGHT]
BY_ENDING = {
    "approved": None,
    "used": NO.ALREADY_DISPATCHED,
    "outdated": NO.SUPERSEDED,
    "too old": NO.APPROVAL_EXPIRED,
    "rejected": NO.NOT_APPROVED,
    "superseded": NO.SUPERSEDED,
    "expired": NO.EXPIRED,
    "cancelled": NO.CANCELLED,
}
BY_RUN = {
    RunState.WAIT_USER: NO.WRONG_STATE,
    RunState.UNKNOWN: NO.OUTCOME_UNKNOWN,
    RunState.DONE: NO.RUN_CLOSED,
    RunState.CANCELLED: NO.RUN_CLOSED,
}
ENDED_OTHERWISE = {"outdated", "superseded", "expired", "cancelled"}


def facts(state: RunState, *, lease: Lease | None = LEASE, **members: Any) -> RunFacts:
    outcome = RunOutcome.FAILED if state is RunState.DONE else None
    is_held = state not in (RunState.UNKNOWN, RunState.DONE, RunState.CANCELLED)
    return RunFacts(
        **{
            "state": state,
            "revision": 3,
            "outcome": outcome,
            "cancel_requested": False,
            "lease": lease if is_held else None,
            **members,
        }
    )


def wanted(**members: Any) -> Dispatch:
    return Dispatch(
        **{
            "sha256": "a" * 64,
            "fencing_token": 7,
            "forbidden_by": None,
            "is_page_verified": True,
            "now": NOON,
            **members,
        }
    )


def code(run: RunFacts, approval: Approval, dispatch: Dispatch) -> RefusalCode | None:
    refusal = judge_dispatch(run, approval, dispatch)
    return refusal.code if refusal else None


@pytest.mark.parametrize("ending", ENDED)
@pytest.mark.parametrize("state", list(RunState))
def test_every_state_of_the_run_by_how_the_question_ended(state: RunState, ending: str) -> None:
    """H-06: what was rejected is `not_approved`; how a question ended comes before all else."""
    of_run = BY_RUN.get(state)
    expected = of_run if of_run and ending not in ENDED_OTHERWISE else BY_ENDING[ending]

    assert code(facts(state), ENDED[ending], wanted()) is expected


@pytest.mark.parametrize("is_taking", [False, True])
@pytest.mark.parametrize("state", list(RunState))
def test_every_state_of_the_run_by_who_controls_it(state: RunState, is_taking: bool) -> None:
    given = wanted(fencing_token=None if is_taking else 7)
    free = None if is_taking else NO.LEASE_LOST
    held = NO.LEASE_HELD if is_taking else BY_RUN.get(state)
    closed = BY_RUN.get(state) if state is not RunState.WAIT_USER else None
    is_waiting = state is RunState.WAIT_USER

    assert code(facts(state), APPROVED, given) is (closed or held)
    if state is not RunState.IN_FLIGHT:
        expected = closed or free or (NO.WRONG_STATE if is_waiting else None)
        assert code(facts(state, lease=None), APPROVED, given) is expected


@pytest.mark.parametrize("token", [0, 6, 8])
@pytest.mark.parametrize("state", [*HELD, RunState.WAIT_USER])
def test_another_token_than_the_living_one_dispatches_nothing(state: RunState, token: int) -> None:
    assert code(facts(state), APPROVED, wanted(fencing_token=token)) is NO.LEASE_LOST


@pytest.mark.parametrize("state", [RunState.IN_FLIGHT, RunState.UNKNOWN])
@pytest.mark.parametrize("token", [None, 6, 7])
def test_a_run_that_is_asked_to_stop_dispatches_nothing(state: RunState, token: int | None) -> None:
    run = facts(state, cancel_requested=True)

    assert code(run, APPROVED, wanted(fencing_token=token)) is NO.CANCELLED


@pytest.mark.parametrize("state", HELD)
@pytest.mark.parametrize("ending", ["approved", "used", "too old"])
def test_other_arguments_are_refused_whatever_became_of_the_approval(
    state: RunState, ending: str
) -> None:
    """H-02: what would run is compared with what was approved, not with where it stands."""
    other = wanted(sha256="b" * 64)

    assert code(facts(state), ENDED[ending], other) is NO.DIGEST_MISMATCH
    assert code(facts(state), REJECTED, other) is NO.NOT_APPROVED


def test_each_reason_hides_the_ones_after_it() -> None:
    """The order of contract §5, one reason taken away after the other."""
    run = facts(RunState.UNKNOWN, cancel_requested=True)
    approval = replace(APPROVED, superseded_by="int_2", action_id="act_1", valid_until=NOON)
    given = wanted(
        sha256="b" * 64, fencing_token=6, forbidden_by="the rule “x”", is_page_verified=False
    )
    codes = [code(run, approval, given)]
    approval = replace(approval, superseded_by=None)
    codes.append(code(run, approval, given))
    codes.append(code(replace(run, cancel_requested=False), approval, given))
    waiting = facts(RunState.WAIT_USER)
    codes.append(code(waiting, approval, given))
    codes.append(code(waiting, approval, given := replace(given, fencing_token=7)))
    ready = facts(RunState.READY)
    codes.append(code(ready, approval, given))
    codes.append(code(ready, approval, given := replace(given, sha256="a" * 64)))
    codes.append(code(ready, approval, given := replace(given, forbidden_by=None)))
    codes.append(code(ready, approval := replace(approval, action_id=None), given))
    codes.append(code(ready, approval := replace(approval, valid_until=LEASE.expires_at), given))
    codes.append(code(ready, approval, replace(given, is_page_verified=True)))

    assert codes == [
        NO.SUPERSEDED,
        NO.CANCELLED,
        NO.OUTCOME_UNKNOWN,
        NO.LEASE_LOST,
        NO.WRONG_STATE,
        NO.DIGEST_MISMATCH,
        NO.TOOL_NOT_ALLOWED,
        NO.ALREADY_DISPATCHED,
        NO.APPROVAL_EXPIRED,
        NO.PAGE_NOT_VERIFIED,
        None,
    ]
