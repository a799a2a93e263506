"""Decisions: the outcome that people, or a rule that asks nobody, gave an interrupt.

A decision is inserted once and never changes; its one-to-one key holds "at most one outcome".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from django.db import models

from approvals.models.handoff import HandoffLink
from approvals.rules.asking import APPROVING
from audit.record import Actor, ActorKind, Draft
from identity.models import User
from placet.protocol.canonical import canonical
from placet.protocol.digest import idempotency_key, sha256_hex
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import DecisionKind, InterruptState
from runs.ids import new_id
from runs.models import Action, Turn
from runs.rows import first, insert, update

if TYPE_CHECKING:
    from approvals.models.interrupt import Interrupt

# In the order of the closed list, for a constraint must read the same in every process.
APPROVING_KINDS = [kind.value for kind in DecisionKind if kind in APPROVING]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was decided: the kind, by whom, and what goes with it."""

    kind: DecisionKind
    by: Actor
    approved_by: Sequence[Actor] = ()
    reason: str = ""
    asked: str | None = None
    """The approved canonical text, where something was approved."""
    response: JSONValue = None


class Approval(models.Model):
    """One person's yes to one interrupt, counted towards what its rule requires."""

    interrupt = models.ForeignKey(
        "approvals.Interrupt", on_delete=models.PROTECT, related_name="approvals"
    )
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        db_table = "approvals_approval"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["interrupt", "user"], name="one_approval_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} → {self.interrupt_id}"


class Decision(models.Model):
    """The one outcome of one interrupt."""

    id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey("identity.Tenant", on_delete=models.PROTECT, related_name="+")
    interrupt = models.OneToOneField(
        "approvals.Interrupt", on_delete=models.PROTECT, related_name="decision"
    )
    kind = models.CharField(max_length=16)
    by_kind = models.CharField(max_length=16)
    by_id = models.CharField(max_length=100)
    by_name = models.CharField(max_length=150)
    decided_at = models.DateTimeField()
    approvals = models.TextField()
    reason = models.TextField(blank=True)
    approved_asked = models.TextField(null=True)
    approved_sha256 = models.CharField(max_length=64, null=True)
    response = models.TextField(null=True)
    valid_until = models.DateTimeField(null=True)
    idempotency_key = models.CharField(max_length=255, null=True)

    class Meta:
        db_table = "approvals_decision"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind.value for kind in DecisionKind]),
                name="decision_kind_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    kind__in=APPROVING_KINDS,
                    approved_asked__isnull=False,
                    approved_sha256__isnull=False,
                    valid_until__isnull=False,
                    idempotency_key__isnull=False,
                )
                | models.Q(
                    ~models.Q(kind__in=APPROVING_KINDS),
                    approved_asked__isnull=True,
                    approved_sha256__isnull=True,
                    valid_until__isnull=True,
                    idempotency_key__isnull=True,
                ),
                name="decision_approves_something_or_not",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["by_id", "-decided_at"], name="decision_by_person"),
        ]

    def __str__(self) -> str:
        return self.pk

    @classmethod
    def of(cls, interrupt: "Interrupt") -> "Decision":
        """The decision of a decided interrupt."""
        row = first(cls, "interrupt_id = %s", interrupt.pk)
        assert row is not None
        return row

    @property
    def actor(self) -> Actor:
        """Who gave it, with the name as it was then."""
        return Actor(ActorKind(self.by_kind), self.by_id, self.by_name)

    @property
    def args(self) -> JSONValue:
        """The approved arguments, null where nothing was approved."""
        if self.approved_asked is None:
            return None
        value = read_json(self.approved_asked.encode())
        assert isinstance(value, dict)
        return value["args"]

    @property
    def response_value(self) -> JSONValue:
        """The person's response, null where there is none."""
        return None if self.response is None else read_json(self.response.encode())

    @property
    def approvals_value(self) -> JSONValue:
        """Everybody who was counted: id, name and time."""
        return read_json(self.approvals.encode())

    def content_digest(self) -> str:
        """The digest of this decision, which the record of it holds."""
        until = self.valid_until
        members: dict[str, JSONValue] = {name: getattr(self, name) for name in UNTIMED}
        members["decided_at"] = self.decided_at.astimezone(UTC).isoformat()
        members["valid_until"] = None if until is None else until.astimezone(UTC).isoformat()
        return sha256_hex(canonical(members))

    @classmethod
    def give(cls, turn: Turn, interrupt: "Interrupt", outcome: Outcome) -> "Decision":
        """Make an open, locked interrupt DECIDED by this outcome, with its event."""
        approved = None if outcome.asked is None else sha256_hex(outcome.asked)
        decision = cls(
            id=new_id("dec"),
            tenant_id=interrupt.tenant_id,
            interrupt=interrupt,
            kind=outcome.kind.value,
            by_kind=outcome.by.kind.value,
            by_id=outcome.by.id,
            by_name=outcome.by.name,
            decided_at=turn.now,
            approvals=canonical([actor_value(by) for by in outcome.approved_by]),
            reason=outcome.reason,
            approved_asked=outcome.asked,
            approved_sha256=approved,
            response=canonical(outcome.response) if outcome.kind is DecisionKind.RESPOND else None,
            valid_until=None if approved is None else valid_until(turn.now, interrupt),
            idempotency_key=None if approved is None else key_for(interrupt, approved),
        )
        insert([decision])
        HandoffLink.forget(interrupt)
        before = interrupt.state
        interrupt.state = InterruptState.DECIDED.value
        interrupt.ended_at = turn.now
        interrupt.ended_by = outcome.by.name
        if outcome.approved_by:  # a rejection leaves on record what had been approved before it
            interrupt.approvals_so_far = len(outcome.approved_by)
        update(interrupt, "state", "ended_at", "ended_by", "approvals_so_far")
        turn.note(decision.as_event(interrupt, before, by=outcome.by, revision=turn.run.revision))
        return decision

    def as_event(self, interrupt: "Interrupt", before: str, *, by: Actor, revision: int) -> Draft:
        """The record of this decision: its digest, and who said what, without values."""
        return interrupt.event(
            "interrupt.decided",
            by=by,
            from_state=before,
            revision=revision,
            content_sha256=self.content_digest(),
            detail={
                "decision": self.kind,
                "decision_id": self.pk,
                "approved_sha256": self.approved_sha256,
                "reason": self.reason,
            },
        )


UNTIMED = (
    "id",
    "tenant_id",
    "interrupt_id",
    "kind",
    "by_kind",
    "by_id",
    "by_name",
    "approvals",
    "reason",
    "approved_asked",
    "approved_sha256",
    "response",
    "idempotency_key",
)


def key_for(interrupt: "Interrupt", approved_sha256: str) -> str:
    """The key under which an approved attempt is done once: its own, or of what it repeats.

    Only the very content of an action is repeated under that action's key.
    """
    if interrupt.retry_of is not None:
        before = Action.objects.get(pk=interrupt.retry_of)
        if before.approved_sha256 == approved_sha256:
            return before.idempotency_key
    return idempotency_key(
        run_id=interrupt.run_id,
        call_id=interrupt.call_id,
        attempt=interrupt.attempt,
        approved_sha256=approved_sha256,
    )


def actor_value(actor: Actor) -> JSONValue:
    """An actor as it is stored and told."""
    return {"kind": actor.kind.value, "id": actor.id, "name": actor.name}


def valid_until(decided_at: datetime, interrupt: "Interrupt") -> datetime:
    """When an approval of this interrupt can no longer be used."""
    return decided_at + timedelta(seconds=interrupt.rule.approval_valid_s)
