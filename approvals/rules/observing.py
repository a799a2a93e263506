"""What an execution layer saw on the page that it controls, compared with what was named.

A person's word that they are done, or an agent's that it is on the right page, is never enough:
every member of the target has to be there, equal character by character.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from approvals.rules.answering import Question, has_ended
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import InterruptKind, InterruptState
from runs.rules.facts import RunFacts, closed, ended, unknown
from runs.rules.lease import lost
from runs.rules.refusal import Refusal

MEMBERS = ("origin", "account", "page", "session")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look at the controlled page, under a lease."""

    fencing_token: int
    origin: str
    account: str | None = None
    page: str | None = None
    session: str | None = None
    snapshot_sha256: str
    observed_at: datetime

    def members(self) -> dict[str, JSONValue]:
        """What can be compared with a target."""
        return {name: getattr(self, name) for name in MEMBERS}


def differences(target: Mapping[str, JSONValue] | None, seen: Mapping[str, JSONValue]) -> list[str]:
    """The members of the target that were not seen so, by name; nothing is normalized."""
    return [name for name, value in (target or {}).items() if seen.get(name) != value]


def is_recent(received_at: datetime, *, max_age_s: int | None, now: datetime) -> bool:
    """Whether a look is young enough; at the limit it is, and always where nothing limits it."""
    return max_age_s is None or now - received_at <= timedelta(seconds=max_age_s)


def may_observe(run: RunFacts, fencing_token: int) -> Refusal | None:
    """Why a look at the page of this run is not taken, or None."""
    return ended(run) or unknown(run) or lost(run, fencing_token)


def may_check(
    run: RunFacts, question: Question, kind: InterruptKind, *, handback: int, fencing_token: int
) -> Refusal | None:
    """Why a look does not settle what a person handed back, or None."""
    if refusal := (has_ended(question) or closed(run) or unknown(run) or lost(run, fencing_token)):
        return refusal
    if kind is not InterruptKind.HANDOFF or question.state is not InterruptState.HANDED_BACK:
        return Refusal(
            code=RefusalCode.WRONG_STATE,
            detail="Nothing was handed back.",
            current={"state": question.state, "handback": question.handback},
        )
    if handback != question.handback:
        return Refusal(
            code=RefusalCode.PAGE_NOT_VERIFIED,
            detail="This was seen before the person handed back.",
            current={"handback": question.handback},
        )
    return None


def target_faults(target: JSONValue, at: str) -> list[Fault]:
    """What is wrong with a handoff's target, which says where and as whom a person acts."""
    if not isinstance(target, dict) or "origin" not in target:
        return [Fault(at, "A handoff names its target: an origin, and account, page or session.")]
    faults = [
        Fault(f"{at}/{name}", "A handoff's target has origin, account, page and session.")
        for name in target
        if name not in MEMBERS
    ]
    return faults + [
        Fault(f"{at}/{name}", "This has to be a text that is not empty.")
        for name, value in target.items()
        if name in MEMBERS and (not isinstance(value, str) or not value)
    ]
