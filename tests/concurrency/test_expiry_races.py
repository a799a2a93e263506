"""An answer, two sweepers and a deadline at one instant: one ending, and the late hear of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest

from approvals.models import Decision, Interrupt
from approvals.models.answering import decide
from approvals.sweeping import sweep
from audit.models import Event
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import InterruptState, RunState
from runs.rules.refusal import Refusal
from tests.cast import Cast, answer
from tests.concurrency.race import race, rounds
from tests.owner import owner_connection

pytestmark = pytest.mark.django_db(transaction=True)


MOVE = "UPDATE approvals_interrupt SET expires_at = {} WHERE id = %s"
FROM_NOW = "clock_timestamp() + make_interval(secs => %s)"
Owner = psycopg.Connection[Any]


@pytest.fixture
def owner(cast: Cast) -> Iterator[Owner]:
    """One connection for all rounds, each statement of which is committed at once."""
    with owner_connection() as opened:
        opened.commit()
        opened.autocommit = True
        yield opened


@contextmanager
def falling_due(owner: Owner, interrupt: Interrupt, *, in_s: float) -> Iterator[None]:
    """Move the deadline here, and back afterwards: the record holds the digest of the first."""
    owner.execute(MOVE.format(FROM_NOW).encode(), [in_s, interrupt.pk])
    yield
    owner.execute(MOVE.format("%s").encode(), [interrupt.expires_at, interrupt.pk])


def test_an_answer_two_sweepers_and_the_deadline_give_one_ending(cast: Cast, owner: Owner) -> None:
    """H-28, H-35: at and after the deadline an answer is late, whoever notices it first."""
    for number in rounds():
        run = cast.run()
        interrupt = cast.ask(run)
        given = answer(interrupt, cast.rae)
        approve = partial(decide, interrupt.pk, interrupt.run_id, user=cast.rae, answer=given)

        with falling_due(owner, interrupt, in_s=number % 10 * 0.003):
            approved, *_ = race(approve, sweep, sweep, first=number % 3)
            sweep()

        interrupt.refresh_from_db()
        run.refresh_from_db()
        endings = list(
            Event.objects.filter(interrupt_id=interrupt.pk, from_state="PENDING").values_list(
                "type", flat=True
            )
        )
        if isinstance(approved, Refusal):
            assert (approved.code, approved.current["state"]) == (RefusalCode.EXPIRED, "EXPIRED")
            assert (interrupt.state, run.state) == (InterruptState.EXPIRED, RunState.EXPIRED)
            assert endings == ["interrupt.expired"]
        else:
            assert (interrupt.state, run.state) == (InterruptState.DECIDED, RunState.READY)
            assert endings == ["interrupt.decided"]


def test_the_instant_of_a_decision_is_never_at_or_after_the_deadline(
    cast: Cast, owner: Owner
) -> None:
    """H-35: the database's clock, read under the lock, decides; not who asked first."""
    for number in rounds():
        interrupt = cast.ask(cast.run())
        given = answer(interrupt, cast.rae)
        with falling_due(owner, interrupt, in_s=number % 5 * 0.002):
            deadline = Interrupt.objects.get(pk=interrupt.pk).expires_at
            outcome = decide(interrupt.pk, interrupt.run_id, user=cast.rae, answer=given)

        if isinstance(outcome, Refusal):
            ended = Interrupt.objects.get(pk=interrupt.pk).ended_at
            assert ended is not None and ended >= deadline
        else:
            assert Decision.objects.get(interrupt=interrupt).decided_at < deadline
