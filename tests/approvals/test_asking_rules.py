"""The table of asking again, cell by cell (contract §3)."""

from datetime import UTC, datetime, timedelta

import pytest

from approvals.rules.asking import Asking, LastAttempt, asking, expires_in_s, offered_decisions
from approvals.rules.policy import DEFAULT_RULE, Rule
from placet.protocol.states import ActionState, DecisionKind, InterruptKind, InterruptState

NOW = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)

CELLS = [
    (InterruptState.PENDING, None, None, Asking.RETURN, Asking.REPLACE),
    (InterruptState.HANDED_BACK, None, None, Asking.RETURN, Asking.REPLACE),
    (InterruptState.DECIDED, DecisionKind.APPROVE, LATER, Asking.RETURN, Asking.OUTDATE),
    (InterruptState.DECIDED, DecisionKind.EDIT, LATER, Asking.RETURN, Asking.OUTDATE),
    (InterruptState.DECIDED, DecisionKind.APPROVE, NOW, Asking.ASK, Asking.ASK),
    (InterruptState.DECIDED, DecisionKind.EDIT, NOW, Asking.ASK, Asking.ASK),
    (InterruptState.DECIDED, DecisionKind.REJECT, None, Asking.RETURN, Asking.ASK),
    (InterruptState.DECIDED, DecisionKind.RESPOND, None, Asking.RETURN, Asking.ASK),
    (InterruptState.DECIDED, DecisionKind.DONE, None, Asking.RETURN, Asking.ASK),
    (InterruptState.EXPIRED, None, None, Asking.ASK, Asking.ASK),
    (InterruptState.CANCELLED, None, None, Asking.ASK, Asking.ASK),
]


@pytest.mark.parametrize(("state", "decision", "valid_until", "same", "different"), CELLS)
def test_every_cell_of_asking_again(
    state: InterruptState,
    decision: DecisionKind | None,
    valid_until: datetime | None,
    same: Asking,
    different: Asking,
) -> None:
    last = LastAttempt(state=state, decision=decision, valid_until=valid_until)

    assert asking(last, is_same=True, now=NOW) is same
    assert asking(last, is_same=False, now=NOW) is different


USED = [
    (ActionState.IN_FLIGHT, Asking.RETURN, Asking.RETURN, Asking.ASK),
    (ActionState.UNKNOWN, Asking.RETURN, Asking.RETURN, Asking.ASK),
    (ActionState.SUCCEEDED, Asking.RETURN, Asking.RETURN, Asking.ASK),
    (ActionState.FAILED, Asking.RETURN, Asking.ASK, Asking.ASK),
    (ActionState.NOT_EXECUTED, Asking.RETURN, Asking.ASK, Asking.ASK),
]
"""Of an approval that was used: the same, the same as a retry, another (which IN_FLIGHT and
UNKNOWN then refuse as the state of the run, see `test_transitions`)."""


@pytest.mark.parametrize("valid_until", [NOW, LATER])
@pytest.mark.parametrize(("action", "same", "retried", "different"), USED)
def test_every_cell_of_asking_again_for_what_was_dispatched(
    action: ActionState,
    same: Asking,
    retried: Asking,
    different: Asking,
    valid_until: datetime,
) -> None:
    """H-14: what may have happened is never asked as new; how long its approval held is past."""
    last = LastAttempt(
        state=InterruptState.DECIDED,
        decision=DecisionKind.APPROVE,
        valid_until=valid_until,
        action=action,
    )

    assert asking(last, is_same=True, now=NOW) is same
    assert asking(last, is_same=True, now=NOW, is_retry=True) is retried
    assert asking(last, is_same=False, now=NOW) is different


@pytest.mark.parametrize(("state", "decision", "valid_until", "same", "_different"), CELLS)
def test_a_retry_whose_question_was_asked_already_is_as_any_other(
    state: InterruptState,
    decision: DecisionKind | None,
    valid_until: datetime | None,
    same: Asking,
    _different: Asking,
) -> None:
    last = LastAttempt(state=state, decision=decision, valid_until=valid_until)

    assert asking(last, is_same=True, now=NOW, is_retry=True) is same


def test_a_new_call_id_is_asked() -> None:
    assert asking(None, is_same=False, now=NOW) is Asking.ASK


def offered(
    kind: InterruptKind,
    *,
    rule: Rule = DEFAULT_RULE,
    asked_for: frozenset[DecisionKind] | None = None,
    has_args_schema: bool = False,
    has_response_schema: bool = False,
) -> tuple[str, ...]:
    return offered_decisions(
        kind,
        rule=rule,
        asked_for=asked_for,
        has_args_schema=has_args_schema,
        has_response_schema=has_response_schema,
    )


def test_edit_is_offered_only_with_a_schema() -> None:
    assert offered(InterruptKind.APPROVAL) == ("approve", "reject")
    assert offered(InterruptKind.APPROVAL, has_args_schema=True) == ("approve", "edit", "reject")


def test_an_approval_offers_a_response_where_it_is_asked_for() -> None:
    wanted = frozenset({DecisionKind.APPROVE, DecisionKind.RESPOND})

    assert offered(InterruptKind.APPROVAL, asked_for=wanted) == ("approve", "respond")
    assert offered(InterruptKind.APPROVAL, has_response_schema=True) == (
        "approve",
        "reject",
        "respond",
    )


def test_what_the_agent_names_narrows_and_never_widens() -> None:
    everything = frozenset(DecisionKind)

    assert offered(InterruptKind.QUESTION, asked_for=everything) == ("reject", "respond")


def test_the_rule_narrows_too() -> None:
    rule = Rule(id="careful", allowed_decisions=frozenset({DecisionKind.REJECT}))

    assert offered(InterruptKind.APPROVAL, rule=rule, has_args_schema=True) == ("reject",)


def test_a_missing_expiry_is_a_day_and_a_wish_is_cut_to_the_rule() -> None:
    """H-08: no expiry given is the documented default, neither for ever nor yes."""
    rule = Rule(id="quick", expires_in_s=60)

    assert expires_in_s(DEFAULT_RULE, None) == 86_400
    assert expires_in_s(DEFAULT_RULE, 10) == 10
    assert expires_in_s(rule, None) == 60
    assert expires_in_s(rule, 3_600) == 60
    assert expires_in_s(rule, 30) == 30
