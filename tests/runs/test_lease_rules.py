"""Leases: every state of a run × take, renew, release, and what a token is worth (contract §3)."""

from datetime import UTC, datetime, timedelta

import pytest

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rules.facts import Lease, RunFacts
from runs.rules.lease import fenced, may_hold, may_release, may_take, renewed
from runs.rules.refusal import Refusal
from runs.rules.transitions import finish, may_ask

NO = RefusalCode
NOON = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
LEASE = Lease("worker-1", 7, NOON)
HOLDABLE = [RunState.READY, RunState.WAIT_USER, RunState.EXPIRED]


def facts(state: RunState, *, is_held: bool = False, cancel_requested: bool = False) -> RunFacts:
    return RunFacts(
        state=state,
        revision=3,
        outcome=RunOutcome.SUCCEEDED if state is RunState.DONE else None,
        cancel_requested=cancel_requested,
        lease=LEASE if is_held else None,
    )


def code(refusal: object) -> RefusalCode | None:
    return refusal.code if isinstance(refusal, Refusal) else None


CELLS = [
    (RunState.READY, False, None, NO.LEASE_LOST, NO.LEASE_LOST),
    (RunState.READY, True, NO.LEASE_HELD, None, None),
    (RunState.WAIT_USER, False, None, NO.LEASE_LOST, NO.LEASE_LOST),
    (RunState.WAIT_USER, True, NO.LEASE_HELD, None, None),
    (RunState.EXPIRED, False, None, NO.LEASE_LOST, NO.LEASE_LOST),
    (RunState.EXPIRED, True, NO.LEASE_HELD, None, None),
    (RunState.IN_FLIGHT, True, NO.LEASE_HELD, None, NO.WRONG_STATE),
    (RunState.UNKNOWN, False, NO.OUTCOME_UNKNOWN, NO.OUTCOME_UNKNOWN, NO.OUTCOME_UNKNOWN),
    (RunState.DONE, False, NO.RUN_CLOSED, NO.RUN_CLOSED, NO.RUN_CLOSED),
    (RunState.CANCELLED, False, NO.RUN_CLOSED, NO.RUN_CLOSED, NO.RUN_CLOSED),
]
STOPPING = [RunState.IN_FLIGHT, RunState.UNKNOWN]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (facts(state, is_held=is_held, cancel_requested=is_stopping), expected)
        for state, is_held, *expected in CELLS
        for is_stopping in (False, True)
        if state in STOPPING or not is_stopping
    ],
)
def test_every_state_by_take_renew_and_release(
    run: RunFacts, expected: list[RefusalCode | None]
) -> None:
    """H-15: renewing and releasing are `outcome_unknown` in UNKNOWN, `lease_lost` elsewhere.

    That a stop is asked for changes none of it: an executor still has to report.
    """
    assert [code(may_take(run)), code(may_hold(run, 7)), code(may_release(run, 7))] == expected


@pytest.mark.parametrize("token", [0, 6, 8])
@pytest.mark.parametrize("state", [*HOLDABLE, RunState.IN_FLIGHT])
def test_every_other_token_is_lost(state: RunState, token: int) -> None:
    """H-15: the number is compared, no name; an older and a guessed newer one are worth nothing."""
    run = facts(state, is_held=True)

    assert code(may_hold(run, token)) is NO.LEASE_LOST
    assert code(may_release(run, token)) is NO.LEASE_LOST
    assert code(fenced(run, token)) is NO.LEASE_LOST


def test_who_takes_a_held_run_hears_by_whom_it_is_held() -> None:
    refusal = may_take(facts(RunState.READY, is_held=True))

    assert refusal is not None and refusal.current["holder"] == "worker-1"


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("token", [None, 6, 7])
def test_what_a_living_lease_reserves_to_its_holder(is_held: bool, token: int | None) -> None:
    expected = {
        (False, None): None,
        (False, 6): NO.LEASE_LOST,
        (False, 7): NO.LEASE_LOST,
        (True, None): NO.LEASE_HELD,
        (True, 6): NO.LEASE_LOST,
        (True, 7): None,
    }[is_held, token]
    run = facts(RunState.READY, is_held=is_held)

    assert code(fenced(run, token)) is expected
    assert code(may_ask(run, expected_revision=None, fencing_token=token)) is expected
    assert code(finish(run, RunOutcome.FAILED, fencing_token=token)) is expected


@pytest.mark.parametrize(
    ("state", "is_stopping", "token", "asked", "finished"),
    [
        (RunState.IN_FLIGHT, False, None, NO.LEASE_HELD, NO.LEASE_HELD),
        (RunState.IN_FLIGHT, False, 6, NO.LEASE_LOST, NO.LEASE_LOST),
        (RunState.IN_FLIGHT, False, 7, NO.WRONG_STATE, NO.WRONG_STATE),
        (RunState.IN_FLIGHT, True, None, NO.CANCELLED, NO.LEASE_HELD),
        (RunState.IN_FLIGHT, True, 7, NO.CANCELLED, NO.WRONG_STATE),
        (RunState.UNKNOWN, False, 7, NO.OUTCOME_UNKNOWN, NO.OUTCOME_UNKNOWN),
        (RunState.UNKNOWN, True, None, NO.CANCELLED, NO.OUTCOME_UNKNOWN),
    ],
)
def test_how_the_run_stands_comes_before_whose_it_is_and_that_before_its_state(
    state: RunState,
    is_stopping: bool,
    token: int | None,
    asked: RefusalCode,
    finished: RefusalCode,
) -> None:
    run = facts(state, is_held=state is RunState.IN_FLIGHT, cancel_requested=is_stopping)

    assert code(may_ask(run, expected_revision=None, fencing_token=token)) is asked
    assert code(finish(run, RunOutcome.FAILED, fencing_token=token)) is finished


def test_a_stale_revision_is_told_before_the_lease() -> None:
    run = facts(RunState.READY, is_held=True)

    assert code(may_ask(run, expected_revision=2, fencing_token=None)) is NO.STALE_REVISION


@pytest.mark.parametrize("by_s", [-60, 0, 60])
def test_renewing_never_shortens(by_s: int) -> None:
    assert renewed(NOON, NOON + timedelta(seconds=by_s)) == NOON + timedelta(seconds=max(by_s, 0))
