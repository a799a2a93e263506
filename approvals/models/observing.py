"""Observing: what was seen on the controlled page decides a handoff, or opens it again."""

from dataclasses import dataclass

from django.db import transaction

from approvals.models.decision import Decision, Outcome
from approvals.models.interrupt import Interrupt, wait_summary
from approvals.models.observation import Observation
from approvals.rules.observing import Seen, differences, may_check, may_observe
from identity.models import Agent
from placet.protocol.states import DecisionKind, InterruptKind
from runs.models import Run
from runs.rules.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Observed:
    """A stored look at a page, and the handoff that it settled or opened again."""

    observation: Observation
    interrupt: Interrupt | None = None


def observe_run(run: Run, seen: Seen, *, agent: Agent) -> Observed | Refusal:
    """Store what was seen, for a dispatch that has to name it."""
    with transaction.atomic():
        turn = Run.take(run.pk)
        if refusal := turn.inactive(agent) or may_observe(turn.facts, seen.fencing_token):
            return turn.refuse(
                refusal,
                by=agent.as_actor(),
                command="observe",
                object_id=run.pk,
                given={"fencing_token": seen.fencing_token},
            )
        row = Observation.keep(turn, seen)
        turn.close()
    return Observed(row)


def observe_handback(
    interrupt: Interrupt, seen: Seen, *, handback: int, agent: Agent
) -> Observed | Refusal:
    """Compare what was seen with the target: all equal decides `done`, else it is open again."""
    by = agent.as_actor()
    with transaction.atomic():
        turn = Run.take(interrupt.run_id)
        row = Interrupt.locked(interrupt.pk)
        refusal = turn.inactive(agent) or may_check(
            turn.facts,
            row.as_question(),
            InterruptKind(row.kind),
            handback=handback,
            fencing_token=seen.fencing_token,
        )
        if refusal:
            return turn.refuse(
                refusal,
                by=by,
                command="observe",
                object_id=row.pk,
                given={"handback": handback, "fencing_token": seen.fencing_token},
                digest=row.asked_sha256,
                tool=row.tool,
            )
        target = row.content["target"]
        assert isinstance(target, dict) and row.handed_back_by is not None
        differs = differences(target, seen.members())
        look = Observation.keep_of(
            turn, seen, interrupt_id=row.pk, handback=handback, differs=differs
        )
        if differs:
            row.reopen(turn, by=by, observation_id=look.pk, differs=differs)
        else:
            person = row.handed_back_by.as_actor()
            Decision.give(turn, row, Outcome(kind=DecisionKind.DONE, by=person))
            turn.rest(wait_summary(turn))
        turn.close()
    return Observed(look, row)
