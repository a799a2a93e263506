"""Whether a person's answer counts: every reason why not, in the contract's order (§5).

One function decides for every path by which an answer can come, so that no button, page or
endpoint can forget a rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from approvals.rules.asking import APPROVING
from approvals.rules.people import Stakes, is_admitted
from approvals.rules.policy import Rule, is_default
from identity.person import Person
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import DecisionKind, InterruptState
from runs.rules.facts import RunFacts, closed, unknown
from runs.rules.refusal import Refusal

ENDED = {
    InterruptState.SUPERSEDED: RefusalCode.SUPERSEDED,
    InterruptState.DECIDED: RefusalCode.ALREADY_DECIDED,
    InterruptState.CANCELLED: RefusalCode.CANCELLED,
    InterruptState.EXPIRED: RefusalCode.EXPIRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a signed `view` proves: who was shown what, at which hand-back, whole."""

    user_id: int
    interrupt_id: str
    asked_sha256: str
    handback: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person posted from the question's page; `args` and `response` as strictly read."""

    decision: DecisionKind
    revision: int
    asked_sha256: str
    shown: Shown | None
    reason: str = ""
    args: JSONValue = None
    response: JSONValue = None

    def given(self) -> dict[str, JSONValue]:
        """What a refusal's record says was given: no argument values."""
        return {
            "decision": self.decision,
            "revision": self.revision,
            "asked_sha256": self.asked_sha256,
            "shown": self.shown is not None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An interrupt as it stands under the run's lock."""

    id: str
    state: InterruptState
    asked_sha256: str
    handback: int
    allowed_decisions: tuple[DecisionKind, ...]
    approved_by: frozenset[int]
    ending: Mapping[str, JSONValue]
    """How it ended, for a refusal: who and when, or by what it was replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What a person may do here, read after the lock."""

    person: Person
    stakes: Stakes
    has_permission: bool
    """Holds the object permission that the rule gave when the question was asked."""


def judge(
    question: Question,
    run: RunFacts,
    answer: Answer,
    *,
    right: Right,
    rule: Rule,
    edited: Rule | None = None,
) -> Refusal | None:
    """The first reason why this answer does not count, or None.

    `edited` is the rule that edited arguments fall under.
    """
    return (
        _no_right(answer.decision, right, rule)
        or _not_the_owner(question, answer, right, rule)
        or has_ended(question)
        or closed(run)
        or unknown(run)
        or _stale(question, run, answer)
        or _not_shown(question, answer, right)
        or _forbidden(edited)
        or _not_offered(question, answer, right)
        or _incomplete(answer, rule, edited)
    )


def may_approve(right: Right, rule: Rule) -> bool:
    """Whether this person's approval could count for a question under this rule."""
    return right.has_permission and is_admitted(
        rule.clauses, right.person, stakes=right.stakes, owner_counts=rule.owner_counts
    )


def _no_right(decision: DecisionKind, right: Right, rule: Rule) -> Refusal | None:
    person, has_stake = right.person, right.stakes.has(right.person)
    if not person.is_active or person.role == "auditor":
        return Refusal(code=RefusalCode.NOT_PERMITTED)
    if decision is DecisionKind.REJECT and (has_stake or right.has_permission):
        return None
    if may_approve(right, rule):
        return None
    if has_stake:
        return Refusal(code=RefusalCode.SELF_APPROVAL)
    return Refusal(code=RefusalCode.NOT_PERMITTED)


def _not_the_owner(question: Question, answer: Answer, right: Right, rule: Rule) -> Refusal | None:
    """Handing a page back is its owner's, unless a policy names somebody for it."""
    if answer.decision is not DecisionKind.DONE or DecisionKind.DONE not in (
        question.allowed_decisions
    ):
        return None
    if not is_default(rule) or right.person.id == right.stakes.owner_id:
        return None
    return Refusal(code=RefusalCode.NOT_OWNER)


def has_ended(question: Question) -> Refusal | None:
    """How a question that takes no answer any more ended, or None while it is open."""
    if question.state in ENDED:
        return Refusal(code=ENDED[question.state], current=dict(question.ending))
    return None


def _stale(question: Question, run: RunFacts, answer: Answer) -> Refusal | None:
    if answer.revision != run.revision:
        return Refusal(code=RefusalCode.STALE_REVISION, current=run.current())
    if question.state is InterruptState.HANDED_BACK and answer.decision is not DecisionKind.REJECT:
        return Refusal(code=RefusalCode.WRONG_STATE, current={"state": question.state})
    if answer.asked_sha256 != question.asked_sha256:
        return Refusal(
            code=RefusalCode.DIGEST_MISMATCH, current={"asked_sha256": question.asked_sha256}
        )
    return None


def _not_shown(question: Question, answer: Answer, right: Right) -> Refusal | None:
    expected = Shown(
        user_id=right.person.id,
        interrupt_id=question.id,
        asked_sha256=question.asked_sha256,
        handback=question.handback,
    )
    if answer.shown != expected:
        return Refusal(code=RefusalCode.NOT_SHOWN)
    return None


def _forbidden(edited: Rule | None) -> Refusal | None:
    if edited is None or not edited.deny:
        return None
    return Refusal(
        code=RefusalCode.TOOL_NOT_ALLOWED,
        detail=f"With these arguments the rule “{edited.id}” forbids the call.",
        current={"rule": edited.id},
    )


def _not_offered(question: Question, answer: Answer, right: Right) -> Refusal | None:
    if answer.decision not in question.allowed_decisions:
        return Refusal(
            code=RefusalCode.DECISION_NOT_ALLOWED,
            current={"allowed_decisions": list(question.allowed_decisions)},
        )
    if answer.decision in APPROVING and right.person.id in question.approved_by:
        return Refusal(code=RefusalCode.DUPLICATE_APPROVER)
    return None


def _incomplete(answer: Answer, rule: Rule, edited: Rule | None) -> Refusal | None:
    is_wanted = rule.reason_required or (edited is not None and edited.reason_required)
    if (answer.decision is DecisionKind.REJECT or is_wanted) and not answer.reason.strip():
        return Refusal(
            code=RefusalCode.REASON_REQUIRED,
            faults=(Fault("/reason", "Say why, in a few words."),),
        )
    return None
