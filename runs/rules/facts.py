"""A run as the rules see it: a snapshot, read under its lock, and what its state refuses."""

from dataclasses import dataclass
from datetime import datetime

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rules.refusal import Refusal

TERMINAL = frozenset({RunState.DONE, RunState.CANCELLED})
RESTING = frozenset({RunState.READY, RunState.EXPIRED})


@dataclass(frozen=True, slots=True)
class Lease:
    """An executor's living control of a run."""

    holder: str
    fencing_token: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the rules need to know of a run, read under its lock; `lease` only while it lives."""

    state: RunState
    revision: int
    outcome: RunOutcome | None
    cancel_requested: bool
    lease: Lease | None = None

    @property
    def is_stopping(self) -> bool:
        """Whether it has stopped, or is asked to."""
        return self.cancel_requested or self.state is RunState.CANCELLED

    def current(self) -> dict[str, str | int | None]:
        """How the run stands, for a refusal."""
        return {"state": self.state, "revision": self.revision, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """What the waits of a run's round amount to."""

    open: int
    last_expired: bool


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """How many actions of a run are under way, and of how many nobody knows the outcome."""

    in_flight: int
    unknown: int


def ended(facts: RunFacts) -> Refusal | None:
    """The refusal of what a terminal run does not take any more, a report included."""
    if facts.state in TERMINAL:
        return Refusal(code=RefusalCode.RUN_CLOSED, current=facts.current())
    return None


def closed(facts: RunFacts) -> Refusal | None:
    """The refusal of everything that a terminal or stopping run does not take any more."""
    if facts.cancel_requested and facts.state not in TERMINAL:
        return Refusal(code=RefusalCode.CANCELLED, current=facts.current())
    return ended(facts)


def unknown(facts: RunFacts) -> Refusal | None:
    """The refusal of what must not happen while an outcome is not known."""
    if facts.state is RunState.UNKNOWN:
        return Refusal(code=RefusalCode.OUTCOME_UNKNOWN, current=facts.current())
    return None
