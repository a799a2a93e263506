"""What asking does: the table of contract §3 ("Asking again"), and what a question becomes.

Pure: the last attempt of the call_id, whether the content is the same, the instant. The model
method reads these under the run's lock and does what is said here.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from approvals.rules.policy import Rule
from placet.protocol import limits
from placet.protocol.states import ActionState, DecisionKind, InterruptKind, InterruptState

APPROVING = frozenset({DecisionKind.APPROVE, DecisionKind.EDIT})
OFFERED = {
    InterruptKind.APPROVAL: (DecisionKind.APPROVE, DecisionKind.EDIT, DecisionKind.REJECT),
    InterruptKind.QUESTION: (DecisionKind.RESPOND, DecisionKind.REJECT),
    InterruptKind.HANDOFF: (DecisionKind.DONE, DecisionKind.REJECT),
}


RETRIED = frozenset({ActionState.FAILED, ActionState.NOT_EXECUTED})
"""What is certain not to have happened may be asked again under the same idempotency key."""


class Asking(StrEnum):
    """What is done with one question of a request."""

    RETURN = "return"
    """The last attempt is given back as it is."""
    ASK = "ask"
    """A new attempt is stored; the last one, if any, stays as it ended."""
    REPLACE = "replace"
    """The last attempt, still open, becomes SUPERSEDED by the new one."""
    OUTDATE = "outdate"
    """The last attempt stays DECIDED, its unused approval is marked superseded by the new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastAttempt:
    """How the newest attempt of a call_id stands."""

    state: InterruptState
    decision: DecisionKind | None
    valid_until: datetime | None
    action: ActionState | None = None
    """How the action stands that used the approval, where one did."""


def asking(
    last: LastAttempt | None, *, is_same: bool, now: datetime, is_retry: bool = False
) -> Asking:
    """What to do with a question whose call_id has this newest attempt.

    `is_same`: same kind and same digest, compared with what was requested where a person's
    edit made that attempt. An approval is no longer valid at its `valid_until`. `is_retry`: the
    request names the action of that attempt as the one that it repeats.
    """
    if last is None:
        return Asking.ASK
    match last.state:
        case InterruptState.PENDING | InterruptState.HANDED_BACK:
            return Asking.RETURN if is_same else Asking.REPLACE
        case InterruptState.DECIDED if last.action is not None:
            is_again = is_retry and last.action in RETRIED
            return Asking.RETURN if is_same and not is_again else Asking.ASK
        case InterruptState.DECIDED if last.decision not in APPROVING:
            return Asking.RETURN if is_same else Asking.ASK
        case InterruptState.DECIDED if last.valid_until is None or now < last.valid_until:
            return Asking.RETURN if is_same else Asking.OUTDATE
        case _:
            return Asking.ASK


def offered_decisions(
    kind: InterruptKind,
    *,
    rule: Rule,
    asked_for: frozenset[DecisionKind] | None,
    has_args_schema: bool,
    has_response_schema: bool,
) -> tuple[DecisionKind, ...]:
    """The answers that people get to choose from: what rule and agent both leave of the kind's.

    What the agent names narrows and never widens, but for `respond` to an approval, which is
    offered where the agent asks for it.
    """
    offered = set(OFFERED[kind])
    if not has_args_schema:
        offered.discard(DecisionKind.EDIT)
    if kind is InterruptKind.APPROVAL and (
        has_response_schema or (asked_for is not None and DecisionKind.RESPOND in asked_for)
    ):
        offered.add(DecisionKind.RESPOND)
    for narrowing in (asked_for, rule.allowed_decisions):
        if narrowing is not None:
            offered &= narrowing
    return tuple(decision for decision in DecisionKind if decision in offered)


def expires_in_s(rule: Rule, requested: int | None) -> int:
    """Seconds until a question expires: the agent's wish, cut to what the rule allows."""
    most = rule.expires_in_s
    if requested is None:
        return most or limits.EXPIRES_IN_DEFAULT_S
    return requested if most is None else min(requested, most)


def observation_max_age_s(*asked_for: int | None) -> int | None:
    """How old a look may be that a dispatch names: the least of what is asked for, if anything."""
    return min((age for age in asked_for if age is not None), default=None)
