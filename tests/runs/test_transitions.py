"""Every state of a run × every command: the table of contract §3."""

import pytest

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rules import transitions
from runs.rules.facts import ActionSummary, RunFacts, WaitSummary
from runs.rules.refusal import Refusal
from runs.rules.transitions import Stopping

NO = RefusalCode
STATES = list(RunState)
ACTING = (RunState.IN_FLIGHT, RunState.UNKNOWN)


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
    assert (
        code(transitions.may_ask(facts(state), expected_revision=None, fencing_token=None))
        is expected
    )


def test_an_old_revision_is_stale_when_asking() -> None:
    ready = facts(RunState.READY)

    assert transitions.may_ask(ready, expected_revision=7, fencing_token=None) is None
    assert (
        code(transitions.may_ask(ready, expected_revision=6, fencing_token=None))
        is NO.STALE_REVISION
    )


def test_how_the_run_stands_comes_before_a_stale_revision() -> None:
    done = facts(RunState.DONE)

    assert code(transitions.may_ask(done, expected_revision=6, fencing_token=None)) is NO.RUN_CLOSED


def test_a_stopping_run_takes_no_question() -> None:
    stopping = facts(RunState.UNKNOWN, cancel_requested=True)

    assert (
        code(transitions.may_ask(stopping, expected_revision=None, fencing_token=None))
        is NO.CANCELLED
    )


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
    assert (
        code(transitions.finish(facts(state), RunOutcome.SUCCEEDED, fencing_token=None)) is expected
    )


def test_finishing_again_with_another_outcome_is_refused() -> None:
    done = facts(RunState.DONE)

    assert code(transitions.finish(done, RunOutcome.FAILED, fencing_token=None)) is NO.RUN_CLOSED


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (RunState.READY, Stopping.STOP),
        (RunState.WAIT_USER, Stopping.STOP),
        (RunState.EXPIRED, Stopping.STOP),
        (RunState.IN_FLIGHT, Stopping.REQUEST),
        (RunState.UNKNOWN, Stopping.REQUEST),
        (RunState.DONE, NO.RUN_CLOSED),
        (RunState.CANCELLED, Stopping.NOTHING),
    ],
)
def test_cancelling(state: RunState, expected: object) -> None:
    assert code(transitions.cancel(facts(state))) is expected


@pytest.mark.parametrize("state", [RunState.IN_FLIGHT, RunState.UNKNOWN])
def test_a_run_that_is_asked_to_stop_is_not_asked_again(state: RunState) -> None:
    assert transitions.cancel(facts(state, cancel_requested=True)) is Stopping.NOTHING


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("in_flight", "unknown", "is_stopping", "then"),
    [
        (1, 0, False, {}),
        (1, 1, True, {}),
        (0, 1, False, {RunState.IN_FLIGHT: RunState.UNKNOWN}),
        (0, 1, True, {RunState.IN_FLIGHT: RunState.UNKNOWN}),
        (0, 0, False, dict.fromkeys(ACTING, RunState.READY)),
        (0, 0, True, dict.fromkeys(ACTING, RunState.CANCELLED)),
    ],
)
def test_a_run_goes_on_or_stops_when_its_actions_are_known(
    state: RunState,
    in_flight: int,
    unknown: int,
    is_stopping: bool,
    then: dict[RunState, RunState],
) -> None:
    summary = ActionSummary(in_flight=in_flight, unknown=unknown)
    stopping = facts(state, cancel_requested=is_stopping and state in ACTING)

    assert transitions.after_actions(stopping, summary) is then.get(state)


@pytest.mark.parametrize("state", STATES)
def test_dispatch_makes_only_a_resting_run_act(state: RunState) -> None:
    rests = state in (RunState.READY, RunState.EXPIRED)

    assert transitions.after_dispatch(facts(state)) is (RunState.IN_FLIGHT if rests else None)
