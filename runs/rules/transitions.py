"""When a run may change its state (contract §3), as pure functions of a snapshot.

Nothing here reads a clock or a row. A function answers with the next state, with None where the
state stays, or with the refusal that the command must return.
"""

from dataclasses import dataclass

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rules.refusal import Refusal

TERMINAL = frozenset({RunState.DONE, RunState.CANCELLED})
RESTING = frozenset({RunState.READY, RunState.EXPIRED})


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the rules need to know of a run, read under its lock."""

    state: RunState
    revision: int
    outcome: RunOutcome | None
    cancel_requested: bool

    def current(self) -> dict[str, str | int | None]:
        """How the run stands, for a refusal."""
        return {"state": self.state, "revision": self.revision, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """What the waits of a run's round amount to."""

    open: int
    last_expired: bool


def closed(facts: RunFacts) -> Refusal | None:
    """The refusal of everything that a terminal or stopping run does not take any more."""
    if facts.cancel_requested and facts.state not in TERMINAL:
        return Refusal(code=RefusalCode.CANCELLED, current=facts.current())
    if facts.state in TERMINAL:
        return Refusal(code=RefusalCode.RUN_CLOSED, current=facts.current())
    return None


def unknown(facts: RunFacts) -> Refusal | None:
    """The refusal of what must not happen while an outcome is not known."""
    if facts.state is RunState.UNKNOWN:
        return Refusal(code=RefusalCode.OUTCOME_UNKNOWN, current=facts.current())
    return None


def may_ask(facts: RunFacts, *, expected_revision: int | None) -> Refusal | None:
    """Why new questions cannot be put now, or None."""
    if refusal := closed(facts) or unknown(facts):
        return refusal
    if expected_revision is not None and expected_revision != facts.revision:
        return Refusal(code=RefusalCode.STALE_REVISION, current=facts.current())
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


def finish(facts: RunFacts, outcome: RunOutcome) -> RunState | Refusal | None:
    """DONE, or None where the run is DONE with this outcome already, or why not."""
    if facts.state is RunState.DONE and facts.outcome is outcome:
        return None
    if refusal := closed(facts) or unknown(facts):
        return refusal
    if facts.state not in RESTING:
        return Refusal(code=RefusalCode.WRONG_STATE, current=facts.current())
    return RunState.DONE


def cancel(facts: RunFacts) -> RunState | Refusal | None:
    """CANCELLED, or None where the run is CANCELLED already, or why not."""
    match facts.state:
        case RunState.CANCELLED:
            return None
        case RunState.READY | RunState.WAIT_USER | RunState.EXPIRED:
            return RunState.CANCELLED
        case RunState.DONE:
            return Refusal(code=RefusalCode.RUN_CLOSED, current=facts.current())
        case RunState.IN_FLIGHT | RunState.UNKNOWN:
            return Refusal(code=RefusalCode.WRONG_STATE, current=facts.current())
