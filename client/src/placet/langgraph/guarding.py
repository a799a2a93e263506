"""The last point before a tool: what is about to run is compared with what people approved.

The call is digested anew each time, and the server is asked how the question about exactly that
call stands. Whatever resumed the graph is not looked at.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from placet.client import Run
from placet.errors import Failed, NotExecuted, PlacetError, Refused
from placet.langgraph.holding import HOLDINGS
from placet.models import Action, Decision, Interrupt, RunView
from placet.permissions import permitting
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, DecisionKind, InterruptState, RunState
from placet.question import Question

SIBLINGS_S = 5.0
"""How long a new question waits for a call of the same run that is under way."""

BUSY = frozenset({RefusalCode.LEASE_HELD, RefusalCode.LEASE_LOST, RefusalCode.WRONG_STATE})
TAKEN = BUSY | {RefusalCode.OUTCOME_UNKNOWN, RefusalCode.ALREADY_DISPATCHED}
OUTDATED = frozenset({RefusalCode.SUPERSEDED, RefusalCode.APPROVAL_EXPIRED})


class Waiting(PlacetError):
    """The call may not run yet; nothing failed, and nothing has to be tried again.

    People think, or something else of the run is under way or of unknown outcome. `interrupt` is
    the question about this call, or None where it could not be asked yet.
    """

    def __init__(self, run: Run, interrupt: Interrupt | None) -> None:
        super().__init__(f"The call waits; see {interrupt.url if interrupt else run.url}.")
        self.run = run
        self.interrupt = interrupt


class Rejected(PlacetError):
    """People rejected the call; the message is their reason."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.decided_by.name} rejected this call: {decision.reason}")
        self.decision = decision


class Unanswered(PlacetError):
    """The question ended without an answer, EXPIRED or CANCELLED, so the call did not run.

    The same call under the same `call_id` stays unanswered; another `call_id` asks anew.
    """

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(f"Nobody answered: the question is {interrupt.state}. It was not done.")
        self.interrupt = interrupt


def standing(run: Run, question: Question) -> Interrupt:
    """The question about exactly this call, asked now where it was not; it may be pending.

    A call_id that was used for another call is asked anew, and so is an approval that is over.
    Raises Unanswered, Waiting where it cannot be asked yet, Refused.
    """
    (asked,) = standing_all(run, [question])
    if asked.state in (InterruptState.EXPIRED, InterruptState.CANCELLED):
        raise Unanswered(asked)
    return asked


def standing_all(run: Run, questions: Sequence[Question]) -> list[Interrupt]:
    """The questions about exactly these calls, in their order; what is new is asked in one step."""
    until = time.monotonic() + SIBLINGS_S
    while True:
        handle = HOLDINGS.handle(run)
        view = handle.refresh(is_all=True)
        found = [last_attempt(view, question) for question in questions]
        new = [each for each, last in zip(questions, found, strict=True) if last is None]
        if not new:
            return [last for last in found if last is not None]
        try:
            asked = iter(handle.ask_all(new))
            return [last or next(asked) for last in found]
        except Refused as refused:
            if refused.code == RefusalCode.OUTCOME_UNKNOWN:
                raise Waiting(run, None) from refused
            if refused.code not in BUSY:
                raise
            if time.monotonic() > until:
                raise Waiting(run, None) from refused
        time.sleep(0.1)


def last_attempt(view: RunView, question: Question) -> Interrupt | None:
    """The last question under this call_id, if it still stands for this very call."""
    attempts = [each for each in view.interrupts if each.call_id == question.call_id]
    last = max(attempts, key=lambda each: each.attempt, default=None)
    if last is None or last.requested_sha256 != question.sha256:
        return None
    decision = last.decision
    if decision is not None and decision.valid_until is not None and last.action_id is None:
        return last if decision.valid_until > datetime.now(UTC) else None
    return last


def guarded_call(run: Run, question: Question, execute: Callable[[dict[str, Any]], Any]) -> Any:
    """What `execute(args)` gives, run once, with the arguments that people approved.

    A call that ran before gives the result that it had; a `respond` gives the response. Raises
    Waiting, Rejected, Unanswered, Failed and NotExecuted as the call did, Refused, and whatever
    `execute` raises, which leaves the outcome unknown.
    """
    while True:
        asked = standing(run, question)
        decision = asked.decision
        if decision is None:
            raise Waiting(run, asked)
        if asked.action_id is not None:
            return _outcome(run, asked, _action(run, asked.action_id))
        if decision.kind is DecisionKind.REJECT:
            raise Rejected(decision)
        if not decision.approves:
            return decision.response
        if HOLDINGS.handle(run).view.state is RunState.WAIT_USER:
            raise Waiting(run, asked)  # another question of the round is open
        work = _Work(execute)
        try:
            with HOLDINGS.lease(run) as lease:
                return lease.execute(asked, work)
        except Refused as refused:
            if work.is_begun or refused.code not in TAKEN | OUTDATED:
                raise
            if refused.code in TAKEN:
                raise Waiting(run, asked) from refused


def _action(run: Run, action_id: str) -> Action:
    actions = run.refresh(is_all=True).actions
    (action,) = (each for each in actions if each.id == action_id)
    return action


def _outcome(run: Run, asked: Interrupt, action: Action) -> Any:
    """What is known of a call that was dispatched before."""
    match action.state:
        case ActionState.SUCCEEDED:
            return action.result
        case ActionState.FAILED:
            raise Failed(action.result)
        case ActionState.NOT_EXECUTED:
            raise NotExecuted
        case _:
            raise Waiting(run, asked)


@dataclass
class _Work:
    """A work, and whether it was begun."""

    execute: Callable[[dict[str, Any]], Any]
    is_begun: bool = False

    def __call__(self, args: dict[str, Any], *, idempotency_key: str, grant: str) -> Any:
        self.is_begun = True
        with permitting(idempotency_key, grant):
            return self.execute(args)
