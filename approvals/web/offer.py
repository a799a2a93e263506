"""Which answers a page offers: exactly those that the command would take.

The page asks the same function as the command (`judge`), so a button and its refusal cannot
drift apart.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from approvals.models import Approval, Interrupt
from approvals.rules.answering import Answer, Right, Shown, judge
from placet.protocol.states import DecisionKind, InterruptState
from runs.rules.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Offer:
    """The decisions that this person may give now, and why not the others."""

    decisions: tuple[DecisionKind, ...]
    refusal: Refusal | None

    @property
    def is_open(self) -> bool:
        """Whether there is anything to answer."""
        return bool(self.decisions)


def offer(interrupt: Interrupt, right: Right, approvals: list[Approval], *, now: datetime) -> Offer:
    """What this person may answer at this instant, whether or not the sweeper ran."""
    question = interrupt.as_question([approval.user_id for approval in approvals])
    if question.state.is_open and interrupt.expires_at <= now:
        ending = {"state": "EXPIRED", "ended_at": interrupt.expires_at.isoformat()}
        question = replace(question, state=InterruptState.EXPIRED, ending=ending)
    shown = Shown(
        user_id=right.person.id,
        interrupt_id=interrupt.pk,
        asked_sha256=question.asked_sha256,
        handback=question.handback,
    )
    facts, taken, refusals = interrupt.run.facts(), [], []
    for decision in question.allowed_decisions:
        answer = Answer(
            decision=decision,
            revision=facts.revision,
            asked_sha256=question.asked_sha256,
            shown=shown,
            reason="given",
        )
        refusal = judge(question, facts, answer, right=right, rule=interrupt.rule)
        if refusal is None:
            taken.append(decision)
        else:
            refusals.append(refusal)
    return Offer(tuple(taken), min(refusals, key=lambda found: found.code.order, default=None))
