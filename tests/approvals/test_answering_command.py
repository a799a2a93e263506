"""Answers against a real database: what they do to the question, the run and the record."""

import pytest

from approvals.models import Decision, Interrupt
from audit.models import Event
from identity.models import User
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptState, RunState
from runs.models import Run
from runs.rules.refusal import Refusal
from tests.cast import PAYMENT_SHA256, Cast

pytestmark = pytest.mark.django_db


def test_an_approval_decides_the_question_and_lets_the_run_go_on(cast: Cast) -> None:
    run = cast.run()
    interrupt = cast.ask(run)

    outcome = cast.decide(interrupt, cast.rae)

    assert isinstance(outcome, Interrupt)
    decision = Decision.objects.get(interrupt=interrupt)
    assert (decision.kind, decision.by_name, decision.approved_sha256) == (
        "approve",
        "rae",
        PAYMENT_SHA256,
    )
    run.refresh_from_db()
    assert (run.state, run.revision) == (RunState.READY, 2)
    types = list(
        Event.objects.filter(run_id=run.pk).order_by("run_seq").values_list("type", flat=True)
    )
    assert types == [
        "run.state_changed",
        "run.state_changed",
        "interrupt.asked",
        "interrupt.decided",
        "run.state_changed",
    ]


def test_the_second_answer_is_told_who_was_first(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    cast.decide(interrupt, cast.rae)

    outcome = cast.decide(interrupt, cast.rob, decision=DecisionKind.REJECT, reason="no")

    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.ALREADY_DECIDED
    assert outcome.current["decided_by"] == "rae"
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("name", ["bob", "ada", "otto"])
def test_who_was_not_asked_cannot_answer(cast: Cast, name: str) -> None:
    interrupt = cast.ask(cast.run())
    user = User.objects.get(username=name)

    outcome = cast.decide(interrupt, user)

    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.NOT_PERMITTED
    interrupt.refresh_from_db()
    assert interrupt.state == InterruptState.PENDING
    assert Run.objects.get(pk=interrupt.run_id).state == RunState.WAIT_USER
