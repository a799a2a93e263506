"""Every state of a run × every command: the table of contract §3."""

import pytest

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rules import transitions
from runs.rules.refusal import Refusal
from runs.rules.transitions import RunFacts, WaitSummary

NO = RefusalCode
STATES = list(RunState)


def facts(state: RunState, *, cancel_requested: bool = False) -> RunFacts:
    outcome = RunOutcome.SUCCEEDED if state is RunState.DONE else None
    return RunFacts(state=state, revision=7, outcome=outcome, cancel_requested=cancel_requested)


def code(outcome: object) -> object:
    return outcome.code if isinstance(outcome, Refusal) else outcome


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (RunState.READY, None),
        (RunState.WAIT_USER, None),
        (RunState.EXPIRED, None),
        (RunState.IN_FLIGHT, NO.WRONG_STATE),
        (RunState.UNKNOWN, NO.OUTCOME_UNKNOWN),
        (RunState.DONE, NO.RUN_CLOSED),
        (RunState.CANCELLED, NO.RUN_CLOSED),
    ],
)
def test_who_may_ask(state: RunState, expected: RefusalCode | None) -> None:
    assert code(transitions.may_ask(facts(state), expected_revision=None)) is expected


def test_an_old_revision_is_stale_when_asking() -> None:
    ready = facts(RunState.READY)

    assert transitions.may_ask(ready, expected_revision=7) is None
    assert code(transitions.may_ask(ready, expected_revision=6)) is NO.STALE_REVISION


def test_how_the_run_stands_comes_before_a_stale_revision() -> None:
    done = facts(RunState.DONE)

    assert code(transitions.may_ask(done, expected_revision=6)) is NO.RUN_CLOSED


def test_a_stopping_run_takes_no_question() -> None:
    stopping = facts(RunState.UNKNOWN, cancel_requested=True)

    assert code(transitions.may_ask(stopping, expected_revision=None)) is NO.CANCELLED


@pytest.mark.parametrize("state", STATES)
def test_asking_makes_only_a_resting_run_wait(state: RunState) -> None:
    waits = state in (RunState.READY, RunState.EXPIRED)

    assert transitions.after_asking(facts(state)) is (RunState.WAIT_USER if waits else None)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("open_", "last_expired", "then"),
    [
        (1, False, None),
        (1, True, None),
        (0, False, RunState.READY),
        (0, True, RunState.EXPIRED),
    ],
)
def test_a_waiting_run_goes_on_when_nothing_is_open(
    state: RunState, open_: int, last_expired: bool, then: RunState | None
) -> None:
    summary = WaitSummary(open=open_, last_expired=last_expired)

    expected = then if state is RunState.WAIT_USER else None
    assert transitions.after_waiting(facts(state), summary) is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (RunState.READY, RunState.DONE),
        (RunState.WAIT_USER, NO.WRONG_STATE),
        (RunState.EXPIRED, RunState.DONE),
        (RunState.IN_FLIGHT, NO.WRONG_STATE),
        (RunState.UNKNOWN, NO.OUTCOME_UNKNOWN),
        (RunState.DONE, None),
        (RunState.CANCELLED, NO.RUN_CLOSED),
    ],
)
def test_finishing(state: RunState, expected: object) -> None:
    assert code(transitions.finish(facts(state), RunOutcome.SUCCEEDED)) is expected


def test_finishing_again_with_another_outcome_is_refused() -> None:
    done = facts(RunState.DONE)

    assert code(transitions.finish(done, RunOutcome.FAILED)) is NO.RUN_CLOSED


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (RunState.READY, RunState.CANCELLED),
        (RunState.WAIT_USER, RunState.CANCELLED),
        (RunState.EXPIRED, RunState.CANCELLED),
        (RunState.IN_FLIGHT, NO.WRONG_STATE),
        (RunState.UNKNOWN, NO.WRONG_STATE),
        (RunState.DONE, NO.RUN_CLOSED),
        (RunState.CANCELLED, None),
    ],
)
def test_cancelling(state: RunState, expected: object) -> None:
    assert code(transitions.cancel(facts(state))) is expected
