"""Reports: every state of an action × result and unknown, by token and state of the run."""

from datetime import UTC, datetime

import pytest

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, RunOutcome, RunState
from runs.rules.actions import REPORTED, ActionFacts, Report, take_report
from runs.rules.facts import Lease, RunFacts
from runs.rules.refusal import Refusal

NO = RefusalCode
A = ActionState
OTHERS = {
    A.SUCCEEDED: A.FAILED,
    A.FAILED: A.NOT_EXECUTED,
    A.NOT_EXECUTED: A.SUCCEEDED,
    A.UNKNOWN: A.SUCCEEDED,
}


def facts(state: RunState, *, token: int | None = None, cancel_requested: bool = False) -> RunFacts:
    lease = Lease("worker-1", token, datetime(2031, 5, 4, tzinfo=UTC)) if token else None
    outcome = RunOutcome.FAILED if state is RunState.DONE else None
    return RunFacts(state, 3, outcome, cancel_requested, lease)


def action(
    state: ActionState, *, result: str | None = None, is_reconciled: bool = False
) -> ActionFacts:
    return ActionFacts(
        id="act_1", state=state, fencing_token=1, result=result, is_reconciled=is_reconciled
    )


def told(outcome: object) -> object:
    if isinstance(outcome, Refusal):
        return (outcome.code, outcome.is_kept)
    return outcome


@pytest.mark.parametrize("said", [A.SUCCEEDED, A.FAILED, A.NOT_EXECUTED, A.UNKNOWN])
@pytest.mark.parametrize("is_stopping", [False, True])
def test_the_living_lease_says_what_became_of_what_is_under_way(
    said: ActionState, is_stopping: bool
) -> None:
    run = facts(RunState.IN_FLIGHT, token=1, cancel_requested=is_stopping)

    assert take_report(run, action(A.IN_FLIGHT), Report(state=said, fencing_token=1)) is said


@pytest.mark.parametrize("said", [A.SUCCEEDED, A.FAILED, A.NOT_EXECUTED, A.UNKNOWN])
@pytest.mark.parametrize("token", [0, 2])
def test_another_token_than_the_living_one_is_lost_and_its_report_kept(
    said: ActionState, token: int
) -> None:
    outcome = take_report(
        facts(RunState.IN_FLIGHT, token=1),
        action(A.IN_FLIGHT),
        Report(state=said, fencing_token=token),
    )

    assert told(outcome) == (NO.LEASE_LOST, True)


@pytest.mark.parametrize("run", [facts(RunState.UNKNOWN), facts(RunState.IN_FLIGHT, token=1)])
@pytest.mark.parametrize("said", [A.SUCCEEDED, A.FAILED, A.NOT_EXECUTED])
@pytest.mark.parametrize("token", [1, 2])
def test_nothing_reported_clears_what_is_unknown(
    run: RunFacts, said: ActionState, token: int
) -> None:
    """H-16: a late result is evidence, also where another action of the run is under way."""
    outcome = take_report(run, action(A.UNKNOWN), Report(state=said, fencing_token=token))

    assert told(outcome) == (NO.OUTCOME_UNKNOWN, True)


def test_the_same_unknown_again_changes_nothing() -> None:
    run, again = facts(RunState.UNKNOWN), Report(state=A.UNKNOWN, fencing_token=1)

    assert take_report(run, action(A.UNKNOWN), again) is None


@pytest.mark.parametrize("state", [A.SUCCEEDED, A.FAILED, A.NOT_EXECUTED])
@pytest.mark.parametrize(
    ("run", "refused"),
    [
        (facts(RunState.READY), (NO.LEASE_LOST, True)),
        (facts(RunState.WAIT_USER), (NO.LEASE_LOST, True)),
        (facts(RunState.EXPIRED), (NO.LEASE_LOST, True)),
        (facts(RunState.READY, token=2), (NO.LEASE_LOST, True)),
        (facts(RunState.IN_FLIGHT, token=2), (NO.LEASE_LOST, True)),
        (facts(RunState.READY, token=1), (NO.WRONG_STATE, False)),
        (facts(RunState.WAIT_USER, token=1), (NO.WRONG_STATE, False)),
        (facts(RunState.IN_FLIGHT, token=1), (NO.WRONG_STATE, False)),
        (facts(RunState.UNKNOWN), (NO.OUTCOME_UNKNOWN, True)),
        (facts(RunState.DONE), (NO.RUN_CLOSED, True)),
        (facts(RunState.CANCELLED), (NO.RUN_CLOSED, True)),
    ],
)
def test_an_ended_action_takes_the_same_word_again_and_no_other(
    state: ActionState, run: RunFacts, refused: tuple[RefusalCode, bool]
) -> None:
    """The same again is nothing new in every state of the run; another word never counts."""
    ended = action(state, result='{"paid":true}')
    same = Report(state=state, fencing_token=1, result='{"paid":true}')

    assert take_report(run, ended, same) is None
    other = Report(state=OTHERS[state], fencing_token=1, result='{"paid":true}')
    assert told(take_report(run, ended, other)) == refused
    another_result = Report(state=state, fencing_token=1, result=None)
    assert told(take_report(run, ended, another_result)) == refused
    unknown = Report(state=A.UNKNOWN, fencing_token=1)
    assert told(take_report(run, ended, unknown)) == refused


@pytest.mark.parametrize("state", [A.SUCCEEDED, A.FAILED, A.NOT_EXECUTED, A.RESENT])
@pytest.mark.parametrize("said", REPORTED.values())
@pytest.mark.parametrize("run", [facts(RunState.READY), facts(RunState.IN_FLIGHT, token=2)])
def test_what_evidence_settled_is_no_report_that_could_be_repeated(
    state: ActionState, said: ActionState, run: RunFacts
) -> None:
    """H-16: the late word of an executor is kept, also where it says what was found out."""
    settled = action(state, is_reconciled=True)

    outcome = take_report(run, settled, Report(state=said, fencing_token=1))

    assert told(outcome) == (NO.LEASE_LOST, True)
