"""Reconciling: the one command by which an unknown outcome becomes known, or is sent again.

Evidence clears it, or a person's recorded order to send the same action again under the same
idempotency key. No timer and no retry does.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from approvals.models.answering import Ballot
from approvals.models.decision import Decision, Outcome
from approvals.models.interrupt import Interrupt
from approvals.rules.answering import Right, may_approve
from audit.chain import instant
from audit.record import Actor
from identity.models import Agent, User
from identity.roles import Role
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, DecisionKind, InterruptState
from runs.ids import new_id
from runs.models import Action, Run, Turn
from runs.models.action import summary
from runs.rows import insert, update
from runs.rules.evidence import (
    FOUND,
    Evidence,
    Finding,
    Reconciling,
    reconcile,
    said_without_right,
)
from runs.rules.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Found:
    """What somebody found out, or orders, about an action, and what it rests on."""

    finding: Finding
    evidence: Evidence | None = None

    def evidence_text(self, by: Actor, at: str) -> str:
        """The evidence as it is stored: with who gave it, and when."""
        told: dict[str, JSONValue] = {"outcome": self.finding, "by": by.name, "at": at}
        if self.evidence is not None:
            told |= {
                "kind": self.evidence.kind,
                "reference": self.evidence.reference,
                "note": self.evidence.note,
            }
        return canonical(told)


def settle_outcome(action: Action, found: Found, *, by: Agent | User) -> Action | Refusal:
    """Take what was found out about an action, or say why it does not count."""
    with transaction.atomic():
        turn = Run.take(action.run_id)
        interrupt = Interrupt.locked(action.interrupt_id)
        row = Action.locked(action.pk)
        inquiry = Inquiry.open(turn, interrupt, row, found, by=by)
        refusal = inquiry.refusal()
        if refusal is not None:
            return turn.refuse(
                refusal,
                by=by.as_actor(),
                command="reconcile",
                object_id=row.pk,
                given={
                    "outcome": found.finding,
                    "evidence": found.evidence.kind if found.evidence else None,
                },
                digest=row.approved_sha256,
                tool=row.tool,
            )
        inquiry.carry_out()
        turn.close()
    return row


@dataclass(slots=True)
class Inquiry:
    """A locked action, the question that it came from, and who says what about it."""

    turn: Turn
    interrupt: Interrupt
    action: Action
    found: Found
    by: Agent | User
    right: Right | None
    """What the person may do, read after the lock; None where an agent says it."""

    @classmethod
    def open(
        cls, turn: Turn, interrupt: Interrupt, action: Action, found: Found, *, by: Agent | User
    ) -> "Inquiry":
        """Read a person's rights after the lock."""
        right = Ballot.open(turn, interrupt, by).right if isinstance(by, User) else None
        return cls(turn, interrupt, action, found, by, right)

    def refusal(self) -> Refusal | None:
        """The first reason why this finding is not taken, rights read after the lock."""
        asked = Reconciling(
            finding=self.found.finding,
            evidence=self.found.evidence,
            is_person=isinstance(self.by, User),
            may_resend=self._may_approve(),
            is_idempotent=self.interrupt.rule.idempotent,
            grant_ends_at=self.action.grant_ends_at,
            now=self.turn.now,
        )
        if refusal := self._no_right() or said_without_right(asked):
            return refusal
        if self._is_repeated():
            return None
        return reconcile(self.turn.facts, ActionState(self.action.state), asked)

    def _no_right(self) -> Refusal | None:
        """An agent has the scope; a person is the owner, an admin, or may approve the question."""
        if isinstance(self.by, Agent):
            return self.turn.inactive(self.by)
        assert self.right is not None
        person = self.right.person
        is_mine = self.turn.run.owner_id == person.id or person.role == Role.ADMIN
        if not person.is_active or person.role == Role.AUDITOR:
            return Refusal(code=RefusalCode.NOT_PERMITTED)
        if is_mine or self._may_approve():
            return None
        return Refusal(code=RefusalCode.NOT_PERMITTED)

    def _may_approve(self) -> bool:
        return self.right is not None and may_approve(self.right, self.interrupt.rule)

    def _is_repeated(self) -> bool:
        """Whether exactly this was found before; then nothing changes."""
        if self.action.state != FOUND[self.found.finding] or self.action.evidence is None:
            return False
        told = self.action.evidence_value
        again = self.found.evidence
        return self.found.finding is not Finding.STILL_UNKNOWN and (
            told.get("kind"),
            told.get("reference"),
        ) == ((again.kind, again.reference) if again else (None, None))

    def carry_out(self) -> None:
        """Record the finding; the run goes on where nothing of it is unknown any more."""
        if self._is_repeated():
            return
        by = self.by.as_actor()
        evidence = self.found.evidence_text(by, instant(self.turn.now))
        written: dict[str, JSONValue] = {"evidence": evidence}
        if self.found.finding is Finding.RESEND:
            written["resent_as"] = self._send_again().pk
        self.action.move(
            self.turn,
            FOUND[self.found.finding],
            "action.reconciled",
            by=by,
            detail={
                "outcome": self.found.finding,
                "evidence_sha256": sha256_hex(evidence),
                **({"evidence": self.found.evidence.kind} if self.found.evidence else {}),
                **({"resent_as": written["resent_as"]} if "resent_as" in written else {}),
            },
            **written,
        )
        self.turn.rest_actions(summary(self.turn.run), by=by)

    def _send_again(self) -> Interrupt:
        """The next attempt, approved by the person who ordered it, with the same key."""
        old, turn, action = self.interrupt, self.turn, self.action
        assert isinstance(self.by, User)
        old.is_latest = False
        update(old, "is_latest")
        following = Interrupt(
            **{name: getattr(old, name) for name in COPIED},
            id=new_id("int"),
            attempt=old.attempt + 1,
            round=turn.run.revision,
            asked=action.asked,
            asked_sha256=action.approved_sha256,
            warnings=[],
            created_at=turn.now,
            expires_at=turn.now + timedelta(seconds=old.rule.approval_valid_s),
            retry_of=action.pk,
            state=InterruptState.PENDING.value,
        )
        insert([following])
        by = self.by.as_actor()
        turn.note(following.as_asked(by=by, revision=turn.run.revision))
        Decision.give(
            turn,
            following,
            Outcome(kind=DecisionKind.APPROVE, by=by, approved_by=[by], asked=action.asked),
        )
        return following


COPIED = (
    "tenant_id",
    "run_id",
    "agent_id",
    "call_id",
    "kind",
    "tool",
    "requested_sha256",
    "description",
    "args_schema",
    "response_schema",
    "allowed_decisions",
    "sensitive",
    "observation_max_age_s",
    "policy",
    "policy_version",
    "policy_rule",
    "required",
)
