"""Runs begun, questions asked and runs ended at one instant."""

from functools import partial
from typing import Any

import pytest

from approvals.models import Interrupt
from approvals.models.answering import decide
from approvals.models.asking import Asked, ask
from identity.management.reporting import OPERATOR
from identity.models import Agent
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import InterruptState, RunOutcome, RunState
from runs.models import NewRun, Run
from runs.rules.refusal import Refusal
from tests.approvals.api import AgentHTTP, ask_body
from tests.cast import Cast, answer, question
from tests.concurrency.race import later, race, rounds

pytestmark = pytest.mark.django_db(transaction=True)

BEGIN = {"title": "Pay the vendor", "owner": "alice"}


def test_two_runs_of_one_external_id_are_one_run(cast: Cast) -> None:
    for number in rounds():
        body = {**BEGIN, "external_id": f"order-{number}", **ask_body()}

        replies = race(*posting(cast, "/runs", body, body), first=number % 2)

        assert sorted(reply.status_code for reply in replies) == [200, 201]
        first, second = (reply.json() for reply in replies)
        assert first["id"] == second["id"]
        assert [shape["id"] for shape in first["interrupts"]] == [
            shape["id"] for shape in second["interrupts"]
        ]
        assert Interrupt.objects.filter(run_id=first["id"]).count() == 1


def test_two_requests_with_one_idempotency_key_have_one_effect(cast: Cast) -> None:
    """H-17: of two at once the second waits and gets the first one's answer."""
    run = cast.run()
    path = f"/runs/{run.pk}/interrupts"
    for number in rounds():
        body = ask_body(call_id=f"call-{number}")

        replies = race(
            *posting(cast, path, body, body, Idempotency_Key=f"k{number}"), first=number % 2
        )

        assert sorted(reply.status_code for reply in replies) == [200, 201]
        assert replies[0].content == replies[1].content
        assert [
            reply.headers.get("Idempotency-Replayed") for reply in sorted_by_status(replies)
        ] == ["true", None]
    assert Interrupt.objects.filter(run=run).count() == number + 1


def test_another_body_under_a_key_in_use_is_refused_while_the_first_still_runs(
    cast: Cast,
) -> None:
    """H-17: of two bodies under one key exactly one takes effect."""
    run = cast.run()
    path = f"/runs/{run.pk}/interrupts"
    for number in rounds():
        bodies = [
            ask_body(call_id=f"call-{number}", args={"amount": amount}) for amount in (100, 900)
        ]

        replies = race(
            *posting(cast, path, *bodies, Idempotency_Key=f"k{number}"), first=number % 2
        )

        taken, refused = sorted_by_status(replies)
        assert (taken.status_code, refused.status_code) == (201, 422)
        assert refused.json()["code"] == RefusalCode.IDEMPOTENCY_KEY_REUSED
        (shape,) = taken.json()["interrupts"]
        stored = Interrupt.objects.get(run=run, call_id=f"call-{number}")
        assert stored.content["args"] == shape["args"]


def test_the_same_question_twice_at_once_is_one_question(cast: Cast) -> None:
    run = cast.run()
    for number in rounds():
        asked = question(call_id=f"call-{number}")

        results = race(
            *[partial(ask, run.pk, [asked], agent=cast.agent)] * 2,
            first=number % 2,
        )

        assert sorted(len(result.created) for result in results) == [0, 1]
        assert results[0].interrupts == results[1].interrupts


def test_a_run_is_finished_or_waits_but_never_both(cast: Cast) -> None:
    for number in rounds():
        run = cast.run()

        finished, asked = race(
            partial(run.finish, RunOutcome.SUCCEEDED, agent=cast.agent),
            partial(ask, run.pk, [question()], agent=cast.agent),
            first=number % 2,
        )

        if isinstance(asked, Refusal):
            assert asked.code is RefusalCode.RUN_CLOSED
            assert finished.state == RunState.DONE
        else:
            assert isinstance(finished, Refusal)
            assert finished.code is RefusalCode.WRONG_STATE
            assert asked.run.state == RunState.WAIT_USER


def test_no_child_outlives_the_cancelling_of_its_parent(cast: Cast) -> None:
    agent = cast.agent
    for number in rounds():
        parent = cast.run()
        new = NewRun(title="Branch", owner=cast.alice, parent_id=parent.pk)

        cancelled, begun = race(
            partial(parent.cancel, by=agent),
            partial(Run.begin, new, agent=agent),
            first=number % 2,
        )

        assert cancelled.state == RunState.CANCELLED
        if isinstance(begun, Refusal):
            assert begun.code is RefusalCode.RUN_CLOSED
        else:
            assert Run.objects.get(pk=begun[0].pk).state == RunState.CANCELLED


def test_cancelling_a_parent_meets_commands_on_its_children_without_deadlock(cast: Cast) -> None:
    by = cast.agent
    for number in rounds(50):
        parent = cast.run()
        children = [cast.run(parent_id=parent.pk) for _ in range(2)]
        below = cast.ask(children[0])
        given = answer(below, cast.rae)

        cancelled, approved, asked, child = race(
            partial(parent.cancel, by=by),
            partial(decide, below.pk, below.run_id, user=cast.rae, answer=given),
            partial(ask, children[1].pk, [question()], agent=cast.agent),
            partial(children[1].cancel, by=by),
            first=number % 4,
        )

        assert cancelled.state == child.state == RunState.CANCELLED
        assert isinstance(approved, Interrupt) or approved.code is RefusalCode.CANCELLED
        assert isinstance(asked, Asked) or asked.code is RefusalCode.RUN_CLOSED
        states = set(Run.objects.filter(parent=parent).values_list("state", flat=True))
        assert states == {RunState.CANCELLED}
        assert not Interrupt.objects.filter(state=InterruptState.PENDING).exists()


def test_an_agent_is_deactivated_before_it_asks_or_after(cast: Cast) -> None:
    run = cast.run()
    path = f"/runs/{run.pk}/interrupts"
    for number in rounds():
        Agent.objects.filter(pk=cast.agent.pk).update(is_active=True)
        body = ask_body(call_id=f"call-{number}")

        (post,) = posting(cast, path, body, Idempotency_Key=f"k{number}")
        deactivate = partial(cast.agent.deactivate, by=OPERATOR)
        reply, ended = race(post, later(number % 10 * 0.005, deactivate), first=number % 2)

        assert ended
        assert reply.status_code in (201, 401)
        is_stored = Interrupt.objects.filter(run=run, call_id=f"call-{number}").exists()
        assert is_stored == (reply.status_code == 201)


def posting(cast: Cast, path: str, *bodies: Any, **headers: str) -> list[Any]:
    """A POST of each of these bodies, over a connection of its own."""
    return [partial(AgentHTTP(cast.key).post, path, body, **headers) for body in bodies]


def sorted_by_status(replies: list[Any]) -> list[Any]:
    """The replies, the effect before its refusal or its replay before the effect."""
    return sorted(replies, key=lambda reply: reply.status_code)
