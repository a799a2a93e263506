"""Observations: every state of a question and a run, and what differs, character by character."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.rules.answering import Question
from approvals.rules.observing import differences, is_recent, may_check, may_observe
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptKind, InterruptState, RunOutcome, RunState
from runs.rules.facts import Lease, RunFacts

NO = RefusalCode
NOON = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
LEASE = Lease("worker-1", 7, NOON)
FREE = (RunState.UNKNOWN, RunState.DONE, RunState.CANCELLED)
TARGET = {"origin": "https://bank.example", "account": "alice", "page": "/home"}


def facts(state: RunState, **members: Any) -> RunFacts:
    return RunFacts(
        **{
            "state": state,
            "revision": 3,
            "outcome": RunOutcome.FAILED if state is RunState.DONE else None,
            "cancel_requested": False,
            "lease": None if state in FREE else LEASE,
            **members,
        }
    )


def question(state: InterruptState, handback: int = 2) -> Question:
    return Question(
        id="int_1",
        state=state,
        asked_sha256="a" * 64,
        handback=handback,
        allowed_decisions=(DecisionKind.DONE, DecisionKind.REJECT),
        approved_by=frozenset(),
        ending={"state": state},
    )


def checked(
    state: InterruptState,
    run: RunFacts,
    *,
    kind: InterruptKind = InterruptKind.HANDOFF,
    handback: int = 2,
    token: int = 7,
) -> RefusalCode | None:
    refusal = may_check(run, question(state), kind, handback=handback, fencing_token=token)
    return refusal.code if refusal else None


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (InterruptState.PENDING, NO.WRONG_STATE),
        (InterruptState.HANDED_BACK, None),
        (InterruptState.DECIDED, NO.ALREADY_DECIDED),
        (InterruptState.SUPERSEDED, NO.SUPERSEDED),
        (InterruptState.EXPIRED, NO.EXPIRED),
        (InterruptState.CANCELLED, NO.CANCELLED),
    ],
)
def test_every_state_of_the_question(state: InterruptState, expected: RefusalCode | None) -> None:
    assert checked(state, facts(RunState.WAIT_USER)) is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (RunState.READY, NO.ALREADY_DECIDED),
        (RunState.EXPIRED, NO.ALREADY_DECIDED),
        (RunState.IN_FLIGHT, NO.ALREADY_DECIDED),
        (RunState.UNKNOWN, NO.ALREADY_DECIDED),
        (RunState.DONE, NO.ALREADY_DECIDED),
        (RunState.CANCELLED, NO.ALREADY_DECIDED),
    ],
)
def test_how_the_question_ended_is_told_in_every_state_of_the_run(
    state: RunState, expected: RefusalCode
) -> None:
    assert checked(InterruptState.DECIDED, facts(state)) is expected


@pytest.mark.parametrize("handback", [0, 1, 3])
def test_a_look_at_another_hand_back_verifies_nothing(handback: int) -> None:
    run = facts(RunState.WAIT_USER)

    assert checked(InterruptState.HANDED_BACK, run, handback=handback) is NO.PAGE_NOT_VERIFIED
    assert checked(InterruptState.PENDING, run, handback=handback) is NO.WRONG_STATE


@pytest.mark.parametrize("state", [InterruptState.PENDING, InterruptState.HANDED_BACK])
def test_without_control_nothing_is_seen(state: InterruptState) -> None:
    waiting = facts(RunState.WAIT_USER)

    assert checked(state, waiting, token=6) is NO.LEASE_LOST
    assert checked(state, facts(RunState.WAIT_USER, lease=None)) is NO.LEASE_LOST


@pytest.mark.parametrize("kind", [InterruptKind.APPROVAL, InterruptKind.QUESTION])
def test_only_a_handoff_is_handed_back(kind: InterruptKind) -> None:
    run = facts(RunState.WAIT_USER)

    assert checked(InterruptState.PENDING, run, kind=kind) is NO.WRONG_STATE


@pytest.mark.parametrize("token", [6, 7])
@pytest.mark.parametrize("state", list(RunState))
def test_every_state_of_a_run_that_is_looked_at(state: RunState, token: int) -> None:
    by_run = {
        RunState.UNKNOWN: NO.OUTCOME_UNKNOWN,
        RunState.DONE: NO.RUN_CLOSED,
        RunState.CANCELLED: NO.RUN_CLOSED,
    }
    refusal = may_observe(facts(state), token)
    expected = by_run.get(state) or (NO.LEASE_LOST if token == 6 else None)

    assert (refusal.code if refusal else None) is expected


@pytest.mark.parametrize(
    ("seen", "differs"),
    [
        (TARGET, []),
        ({**TARGET, "session": "s-1"}, []),
        ({**TARGET, "origin": "https://bank.example/"}, ["origin"]),
        ({**TARGET, "origin": "https://BANK.example"}, ["origin"]),
        ({**TARGET, "account": "аlice"}, ["account"]),
        ({**TARGET, "account": None}, ["account"]),
        ({**TARGET, "page": "/home ", "account": "bob"}, ["account", "page"]),
        ({}, ["origin", "account", "page"]),
    ],
)
def test_every_member_of_the_target_is_there_character_by_character(
    seen: dict[str, Any], differs: list[str]
) -> None:
    """Also the look-alike of a letter differs; what the target does not name does not matter."""
    assert differences(TARGET, seen) == differs


@pytest.mark.parametrize(("age_ms", "is_young"), [(0, True), (30_000, True), (30_001, False)])
def test_how_old_a_look_may_be(age_ms: int, is_young: bool) -> None:
    received_at = NOON - timedelta(milliseconds=age_ms)

    assert is_recent(received_at, max_age_s=30, now=NOON) is is_young
