"""One run that is held, or that cannot be settled, keeps nobody from the others."""

from collections.abc import Iterator

import pytest
from django.db import connection

from approvals.api.readers import agent_interrupts, agent_runs
from approvals.models import Interrupt
from approvals.sweeping import sweep
from placet.protocol.states import InterruptState, RunState
from runs.models import Run
from tests.cast import Cast
from tests.owner import fall_due, owner_connection

pytestmark = pytest.mark.django_db(transaction=True)

PENDING, EXPIRED = InterruptState.PENDING, InterruptState.EXPIRED
Two = tuple[Interrupt, Interrupt]


@pytest.fixture
def two(cast: Cast) -> Two:
    """Two questions past their deadline, of two runs."""
    questions = cast.ask(cast.run()), cast.ask(cast.run())
    for each in questions:
        fall_due(each.pk)
    return questions


@pytest.fixture
def held(two: Two) -> Iterator[Two]:
    """The same; somebody holds the first one's run, and who waits for it is told an error."""
    with owner_connection() as owner, connection.cursor() as cursor:
        owner.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [two[0].run_id])
        cursor.execute("SET lock_timeout = '1s'")
        yield two
        cursor.execute("RESET lock_timeout")


def states(questions: Two) -> list[str]:
    """What the database says of them."""
    return [Interrupt.objects.get(pk=each.pk).state for each in questions]


def test_waiting_agents_are_told_a_held_question_as_it_is(cast: Cast, held: Two) -> None:
    found = agent_interrupts({cast.agent.pk}, {each.pk for each in held})

    assert [found[each.pk].state for each in held] == [PENDING, EXPIRED]


def test_waiting_agents_are_told_a_held_run_as_it_is(cast: Cast, held: Two) -> None:
    found = agent_runs({cast.agent.pk}, {each.run_id for each in held})

    assert [found[each.run_id].state for each in held] == [RunState.WAIT_USER, RunState.EXPIRED]


def test_the_sweeper_leaves_a_held_run_for_the_next_time(held: Two) -> None:
    assert sweep() == 1

    assert states(held) == [PENDING, EXPIRED]


def test_a_run_that_cannot_be_settled_does_not_stop_the_sweeper(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, _ = sorted(two, key=lambda each: each.run_id)
    settle = Run.settle

    def fail(run: Run) -> bool:
        if run.pk == broken.run_id:
            raise KeyError(run.pk)
        return settle(run)

    monkeypatch.setattr(Run, "settle", fail)

    assert sweep() == 1

    assert sorted(states(two)) == [EXPIRED, PENDING]
