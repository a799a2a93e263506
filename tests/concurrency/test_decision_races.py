"""Answers that arrive at one instant: one outcome, and every other answer is told of it."""

from collections import Counter
from functools import partial
from typing import Any

import pytest

from approvals.access import waiting_for
from approvals.models import Approval, Decision, Interrupt, PolicyVersion, Showing
from approvals.models.answering import decide
from approvals.models.asking import ask
from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import User
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptState, RunState
from runs.models import Run
from runs.rules.refusal import Refusal
from tests.cast import Cast, answer, question
from tests.concurrency.race import later, race, rounds

pytestmark = pytest.mark.django_db(transaction=True)


def posts(interrupt: Interrupt, user: User, **members: Any) -> Any:
    """Everything that this person's page would send, ready to be posted at the barrier."""
    given = answer(interrupt, user, **members)
    return partial(decide, interrupt.pk, interrupt.run_id, user=user, answer=given)


def codes(results: list[Any]) -> list[RefusalCode]:
    return [result.code for result in results if isinstance(result, Refusal)]


def test_of_two_reviewers_at_once_one_decides_and_the_other_hears_who(cast: Cast) -> None:
    """H-12: one decision row, one event of the outcome, the loser is told who, what and when."""
    for number in rounds():
        interrupt = cast.ask(cast.run())

        results = race(
            posts(interrupt, cast.rae),
            posts(interrupt, cast.rob, decision=DecisionKind.REJECT, reason="Too much"),
            first=number % 2,
        )

        (loss,) = [result for result in results if isinstance(result, Refusal)]
        decision = Decision.objects.get(interrupt=interrupt)
        winner = "rob" if results.index(loss) == 0 else "rae"
        assert (decision.by_name, decision.kind) == (
            winner,
            {"rae": "approve", "rob": "reject"}[winner],
        )
        assert loss.code is RefusalCode.ALREADY_DECIDED
        assert (loss.current["decided_by"], loss.current["decision"]) == (winner, decision.kind)
        assert loss.current["decided_at"]
        assert events(interrupt) == {
            "interrupt.asked": 1,
            "interrupt.decided": 1,
            "command.refused": 1,
        }


def test_a_double_click_decides_once(cast: Cast) -> None:
    """H-12: the same person's second click finds their own answer on record."""
    for number in rounds():
        interrupt = cast.ask(cast.run())
        click = posts(interrupt, cast.rae)

        results = race(click, click, first=number % 2)

        (loss,) = [result for result in results if isinstance(result, Refusal)]
        assert (loss.code, loss.current["decided_by"]) == (RefusalCode.ALREADY_DECIDED, "rae")
        assert Decision.objects.filter(interrupt=interrupt).count() == 1
        assert events(interrupt)["interrupt.decided"] == 1


def test_two_approvals_at_once_are_both_counted_where_two_are_needed(cast: Cast) -> None:
    two_approve(cast)
    for number in rounds():
        interrupt = cast.ask(cast.run())

        results = race(posts(interrupt, cast.rae), posts(interrupt, cast.rob), first=number % 2)

        assert codes(results) == []
        decision = Decision.objects.get(interrupt=interrupt)
        assert [by["name"] for by in decision.approvals_value] in (["rae", "rob"], ["rob", "rae"])
        assert events(interrupt) == {
            "interrupt.asked": 1,
            "interrupt.partly_approved": 1,
            "interrupt.decided": 1,
        }


def test_one_person_is_never_counted_twice_where_two_are_needed(cast: Cast) -> None:
    """H-12: the second click is no second approval."""
    two_approve(cast)
    for number in rounds():
        interrupt = cast.ask(cast.run())
        click = posts(interrupt, cast.rae)

        results = race(click, click, first=number % 2)

        assert codes(results) == [RefusalCode.DUPLICATE_APPROVER]
        interrupt.refresh_from_db()
        assert (interrupt.state, interrupt.approvals_so_far) == (InterruptState.PENDING, 1)
        assert Approval.objects.filter(interrupt=interrupt).count() == 1


def test_an_approval_counts_for_the_old_question_or_is_told_of_the_new_one(cast: Cast) -> None:
    for number in rounds():
        run = cast.run()
        old = cast.ask(run)

        approved, asked = race(
            posts(old, cast.rae),
            partial(ask, run.pk, [question(args={"amount_paise": 1})], agent=cast.agent),
            first=number % 2,
        )

        new = asked.interrupts[0]
        old.refresh_from_db()
        assert (new.state, new.attempt) == (InterruptState.PENDING, 2)
        assert (old.superseded_by_id, old.is_latest) == (new.pk, False)
        if isinstance(approved, Refusal):
            assert approved.code is RefusalCode.SUPERSEDED
            assert approved.current["superseded_by"] == new.pk
            assert old.state == InterruptState.SUPERSEDED
        else:
            assert old.state == InterruptState.DECIDED
        assert not Decision.objects.filter(interrupt=new).exists()
        assert Run.objects.get(pk=run.pk).state == RunState.WAIT_USER


def test_an_approval_comes_before_the_cancelling_or_not_at_all(cast: Cast) -> None:
    for number in rounds():
        run = cast.run()
        interrupt = cast.ask(run)

        approved, cancelled = race(
            posts(interrupt, cast.rae),
            partial(run.cancel, by=cast.agent),
            first=number % 2,
        )

        assert isinstance(cancelled, Run)
        interrupt.refresh_from_db()
        if isinstance(approved, Refusal):
            assert approved.code is RefusalCode.CANCELLED
            assert interrupt.state == InterruptState.CANCELLED
        else:
            assert interrupt.state == InterruptState.DECIDED
        assert Run.objects.get(pk=run.pk).state == RunState.CANCELLED


def test_answering_one_question_never_clears_another_asked_at_that_instant(cast: Cast) -> None:
    """H-13: the run never goes on while the newer question is pending, which is in the inbox."""
    run = cast.run()
    pending = cast.ask(run, question(call_id="call-0"))
    for number in rounds(200):
        following = question(call_id=f"call-{number + 1}")

        approved, asked = race(
            posts(pending, cast.rae),
            partial(ask, run.pk, [following], agent=cast.agent),
            first=number % 2,
        )

        assert (approved.pk, approved.state) == (pending.pk, InterruptState.DECIDED)
        pending = asked.interrupts[0]
        assert list(waiting_for(cast.rae)) == [pending]
        assert Run.objects.get(pk=run.pk).state == RunState.WAIT_USER


def test_who_is_deactivated_decides_before_that_or_not_at_all(cast: Cast) -> None:
    for number in rounds():
        interrupt = cast.ask(cast.run())
        User.objects.filter(pk=cast.rae.pk).update(is_active=True)

        decided, ended = race(
            posts(interrupt, cast.rae),
            later(number % 10 * 0.001, partial(cast.rae.deactivate, by=OPERATOR)),
            first=number % 2,
        )

        assert ended
        if isinstance(decided, Refusal):
            assert decided.code is RefusalCode.NOT_PERMITTED
            assert events(interrupt) == {"interrupt.asked": 1, "command.refused": 1}
        else:
            gone = Event.objects.filter(type="user.deactivated").order_by("-run_seq")[0]
            assert Decision.objects.get(interrupt=interrupt).decided_at < gone.at


def test_a_question_in_two_tabs_is_recorded_as_shown_once(cast: Cast) -> None:
    for number in rounds():
        interrupt = cast.ask(cast.run())

        def show(interrupt: Interrupt = interrupt) -> None:
            Showing.note(interrupt, to=cast.rae, is_revealed=False)

        race(show, show, first=number % 2)

        assert events(interrupt) == {"interrupt.asked": 1, "interrupt.shown": 1}


def events(interrupt: Interrupt) -> dict[str, int]:
    """How often each type of event tells of this interrupt."""
    told = Event.objects.filter(interrupt_id=interrupt.pk).values_list("type", flat=True)
    return dict(Counter(told))


def two_approve(cast: Cast) -> None:
    """From now on every call needs two reviewers."""
    rule = {"id": "two", "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}]}
    assert isinstance(PolicyVersion.set(cast.tenant, [rule], by=OPERATOR), PolicyVersion)
