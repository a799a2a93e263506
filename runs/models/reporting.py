"""Reporting: how an executor's word about its action counts, or is kept as a late report."""

from dataclasses import replace

from django.db import transaction

from identity.models import Agent
from placet.protocol.reading import JSONValue
from placet.protocol.states import ActionState
from runs.models.action import Action, summary
from runs.models.run import Run
from runs.rules.actions import Report, take_report
from runs.rules.refusal import Refusal


def report(action: Action, told: Report, *, agent: Agent) -> Action | Refusal:
    """Take what an executor says became of its action, or refuse it; repeating changes nothing.

    A report that came too late is refused and kept: it may clear what is unknown. So is what an
    executor knows of an outcome that became unknown without it: its words, and what it can be
    found by.
    """
    by = agent.as_actor()
    with transaction.atomic():
        turn = Run.take(action.run_id)
        row = Action.locked(action.pk)
        outcome = turn.inactive(agent) or take_report(turn.facts, row.facts(), told)
        if isinstance(outcome, Refusal):
            if outcome.is_kept:
                outcome = replace(outcome, is_kept=row.keep(turn, told, by=by))
            return turn.refuse(
                outcome,
                by=by,
                command="report",
                object_id=row.pk,
                given={"outcome": told.state, "fencing_token": told.fencing_token},
                digest=row.approved_sha256,
                tool=row.tool,
            )
        if outcome is ActionState.UNKNOWN:
            written = {} if told.refs is None else {"refs": told.refs}
            row.move(turn, outcome, "action.unknown", by=by, detail=_told(told.detail), **written)
        elif outcome is None and told.refs not in (None, row.refs):
            row.keep(turn, told, by=by)
        elif outcome is not None:
            row.move(turn, outcome, "action.known", by=by, result=told.result)
        if outcome is not None:
            turn.rest_actions(summary(turn.run), by=by)
        turn.close()
    return row


def _told(detail: str) -> dict[str, JSONValue]:
    return {"why": "reported", **({"detail": detail} if detail else {})}
