"""The lease: an executor's exclusive, expiring control of a run, as columns of the run's row.

Its fencing token only grows. Whatever an executor does carries its token, which is compared
under the run's lock, so that one that lost its lease can change nothing.
"""

from collections.abc import Callable

from django.db import transaction

from identity.models import Agent
from placet.protocol.reading import JSONValue
from runs.models.run import Run
from runs.models.turn import Turn
from runs.rules.facts import RunFacts
from runs.rules.lease import NewLease, may_hold, may_release, may_take
from runs.rules.refusal import Refusal


def take_lease(run: Run, new: NewLease, *, agent: Agent) -> Run | Refusal:
    """Give an executor control of this run under a new token, unless somebody has it."""
    return _command(
        run,
        agent,
        "lease",
        given={"holder": new.holder, "ttl_s": new.ttl_s},
        refusal=may_take,
        carry_out=lambda turn: turn.start_lease(new),
    )


def renew_lease(run: Run, token: int, *, ttl_s: int | None, agent: Agent) -> Run | Refusal:
    """Keep control; without `ttl_s` as long as was asked for when the lease was taken."""

    def renew(turn: Turn) -> None:
        turn.renew_lease(ttl_s or turn.run.lease_ttl_s or 0)

    return _command(
        run,
        agent,
        "lease.renew",
        given={"fencing_token": token, "ttl_s": ttl_s},
        refusal=lambda facts: may_hold(facts, token),
        carry_out=renew,
    )


def release_lease(run: Run, token: int, *, agent: Agent) -> Run | Refusal:
    """Give control back; not while an action is open."""
    return _command(
        run,
        agent,
        "lease.release",
        given={"fencing_token": token},
        refusal=lambda facts: may_release(facts, token),
        carry_out=Turn.end_lease,
    )


def _command(
    run: Run,
    agent: Agent,
    command: str,
    *,
    given: dict[str, JSONValue],
    refusal: Callable[[RunFacts], Refusal | None],
    carry_out: Callable[[Turn], None],
) -> Run | Refusal:
    with transaction.atomic():
        turn = Run.take(run.pk)
        if refused := turn.inactive(agent) or refusal(turn.facts):
            return turn.refuse(
                refused, by=agent.as_actor(), command=command, object_id=run.pk, given=given
            )
        carry_out(turn)
        turn.close()
    return turn.run
