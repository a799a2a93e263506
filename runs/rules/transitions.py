"""When a run may change its state (contract §3), as pure functions of a snapshot.

Nothing here reads a clock or a row. A function answers with the next state, with None where the
state stays, or with the refusal that the command must return.
"""

from enum import StrEnum

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rules.facts import (
    RESTING,
    ActionSummary,
    RunFacts,
    WaitSummary,
    closed,
    ended,
    unknown,
)
from runs.rules.lease import fenced
from runs.rules.refusal import Refusal


def may_ask(
    facts: RunFacts, *, expected_revision: int | None, fencing_token: int | None
) -> Refusal | None:
    """Why new questions cannot be put now, or None."""
    if refusal := closed(facts) or unknown(facts):
        return refusal
    if expected_revision is not None and expected_revision != facts.revision:
        return Refusal(code=RefusalCode.STALE_REVISION, current=facts.current())
    if refusal := fenced(facts, fencing_token):
        return refusal
    if facts.state is RunState.IN_FLIGHT:
        return Refusal(code=RefusalCode.WRONG_STATE, current=facts.current())
    return None


def after_asking(facts: RunFacts) -> RunState | None:
    """Where a run goes when a question of it became PENDING."""
    return RunState.WAIT_USER if facts.state in RESTING else None


def after_waiting(facts: RunFacts, waits: WaitSummary) -> RunState | None:
    """Where a waiting run goes when the waits of its round amount to this."""
    if facts.state is not RunState.WAIT_USER or waits.open:
        return None
    return RunState.EXPIRED if waits.last_expired else RunState.READY


def finish(
    facts: RunFacts, outcome: RunOutcome, *, fencing_token: int | None
) -> RunState | Refusal | None:
    """DONE, or None where the run is DONE with this outcome already, or why not."""
    if facts.state is RunState.DONE and facts.outcome is outcome:
        return None
    if refusal := ended(facts) or unknown(facts) or fenced(facts, fencing_token):
        return refusal
    if facts.state not in RESTING:
        return Refusal(code=RefusalCode.WRONG_STATE, current=facts.current())
    return RunState.DONE


class Stopping(StrEnum):
    """What becomes of a run that is told to stop."""

    STOP = "stop"
    REQUEST = "request"
    """What was dispatched may have happened: the run stops once that is known."""
    NOTHING = "nothing"
    """It is stopped, or told to, already."""


def cancel(facts: RunFacts) -> Stopping | Refusal:
    """How this run stops, or why not."""
    match facts.state:
        case RunState.CANCELLED:
            return Stopping.NOTHING
        case RunState.READY | RunState.WAIT_USER | RunState.EXPIRED:
            return Stopping.STOP
        case RunState.DONE:
            return Refusal(code=RefusalCode.RUN_CLOSED, current=facts.current())
        case RunState.IN_FLIGHT | RunState.UNKNOWN:
            return Stopping.NOTHING if facts.cancel_requested else Stopping.REQUEST


def after_dispatch(facts: RunFacts) -> RunState | None:
    """Where a run goes when an action of it was dispatched."""
    return RunState.IN_FLIGHT if facts.state in RESTING else None


def after_actions(facts: RunFacts, actions: ActionSummary) -> RunState | None:
    """Where a run with dispatched actions goes when they amount to this."""
    if facts.state not in (RunState.IN_FLIGHT, RunState.UNKNOWN) or actions.in_flight:
        return None
    if actions.unknown:
        return RunState.UNKNOWN if facts.state is RunState.IN_FLIGHT else None
    return RunState.CANCELLED if facts.cancel_requested else RunState.READY
