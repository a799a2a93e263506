"""States, kinds and outcomes are spelled as the contract spells them."""

from enum import StrEnum

import pytest

from placet.protocol import states


@pytest.mark.parametrize(
    ("enum", "values"),
    [
        (states.RunState, "READY WAIT_USER EXPIRED IN_FLIGHT UNKNOWN DONE CANCELLED"),
        (states.RunOutcome, "succeeded failed rejected"),
        (states.InterruptState, "PENDING HANDED_BACK DECIDED SUPERSEDED EXPIRED CANCELLED"),
        (states.InterruptKind, "approval question handoff"),
        (states.DecisionKind, "approve edit reject respond done"),
        (states.ActionState, "IN_FLIGHT SUCCEEDED FAILED NOT_EXECUTED UNKNOWN RESENT"),
    ],
)
def test_the_list_is_closed(enum: type[StrEnum], values: str) -> None:
    assert [member.value for member in enum] == values.split()


def test_a_run_ends_done_or_cancelled() -> None:
    assert [state for state in states.RunState if state.is_terminal] == ["DONE", "CANCELLED"]


def test_a_question_is_open_until_it_has_an_end() -> None:
    still_open = [state for state in states.InterruptState if state.is_open]

    assert still_open == ["PENDING", "HANDED_BACK"]
