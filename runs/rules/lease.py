"""Who controls a run: leases and their fencing tokens (contract §3), as pure functions.

A run that is looked at after its turn has begun shows a lease only while that lease lives, since
what is due was settled first. A token is compared with the one that lives and with nothing else,
so an executor that lost its lease can change nothing.
"""

from dataclasses import dataclass
from datetime import datetime

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunState
from runs.rules.facts import RunFacts, ended, unknown
from runs.rules.refusal import Refusal


@dataclass(frozen=True, slots=True)
class NewLease:
    """What an executor says of itself when it takes a run: its name, and for how long."""

    holder: str
    ttl_s: int


def may_take(facts: RunFacts) -> Refusal | None:
    """Why nobody can take this run now, or None."""
    return ended(facts) or unknown(facts) or _held(facts)


def may_hold(facts: RunFacts, token: int) -> Refusal | None:
    """Why this token has no control of the run, or None; a run asked to stop is still held."""
    return ended(facts) or unknown(facts) or lost(facts, token)


def may_release(facts: RunFacts, token: int) -> Refusal | None:
    """Why this token cannot give the run back, or None: not with actions open."""
    if refusal := may_hold(facts, token):
        return refusal
    if facts.state is RunState.IN_FLIGHT:
        return Refusal(
            code=RefusalCode.WRONG_STATE,
            detail="An action is open; report what became of it first.",
            current=facts.current(),
        )
    return None


def fenced(facts: RunFacts, token: int | None) -> Refusal | None:
    """Why a command that a living lease reserves to its holder is refused, or None.

    Without a living lease no token is needed, and one that is given was lost.
    """
    if token is not None:
        return lost(facts, token)
    return _held(facts)


def lost(facts: RunFacts, token: int) -> Refusal | None:
    """The refusal of a token that is not the one that lives."""
    if facts.lease is not None and facts.lease.fencing_token == token:
        return None
    return Refusal(code=RefusalCode.LEASE_LOST, current=facts.current())


def _held(facts: RunFacts) -> Refusal | None:
    if facts.lease is None:
        return None
    return Refusal(
        code=RefusalCode.LEASE_HELD,
        current={**facts.current(), "holder": facts.lease.holder},
    )


def renewed(expires_at: datetime, until: datetime) -> datetime:
    """When a renewed lease ends: renewing never shortens it."""
    return max(expires_at, until)
