"""The action: one dispatched side effect, what was approved of it, and what became of it.

Its row is inserted by the one dispatch of one interrupt; a unique column holds "at most once".
How it stands changes only in the methods here, each under the lock of its run (`Turn`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from django.db import connection, models

from audit.chain import instant
from audit.record import Actor, Draft
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import ActionState, RunState
from runs.models.turn import SYSTEM, Turn
from runs.rows import insert, locked, update
from runs.rules import transitions
from runs.rules.actions import ENDED, ActionFacts, Report
from runs.rules.facts import ActionSummary

if TYPE_CHECKING:
    from runs.models.run import Run

OPEN_STATES = [ActionState.IN_FLIGHT.value, ActionState.UNKNOWN.value]
LATE_REPORTS_MAX = 20
"""So many refused reports are kept of one action; they come from one executor, repeated."""

SUMMARY = f"""
SELECT count(*) FILTER (WHERE state = '{ActionState.IN_FLIGHT}'),
       count(*) FILTER (WHERE state = '{ActionState.UNKNOWN}')
FROM runs_action WHERE run_id = %s AND state IN ('{"', '".join(OPEN_STATES)}')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """What a dispatch consumes: one approved content, and the key under which it is done once."""

    interrupt_id: str
    tool: str
    asked: str
    sha256: str
    idempotency_key: str


class Action(models.Model):
    """One side effect that an executor was permitted to bring about."""

    id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey("identity.Tenant", on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="actions")
    interrupt_id = models.CharField(max_length=40, unique=True)
    idempotency_key = models.CharField(max_length=255)
    tool = models.CharField(max_length=128)
    asked = models.TextField()
    approved_sha256 = models.CharField(max_length=64)
    holder = models.CharField(max_length=255)
    fencing_token = models.IntegerField()
    observation_id = models.CharField(max_length=40, null=True)
    grant = models.TextField()
    grant_ends_at = models.DateTimeField()
    dispatched_at = models.DateTimeField()
    state = models.CharField(max_length=16)
    refs = models.TextField(null=True)
    result = models.TextField(null=True)
    evidence = models.TextField(null=True)
    late_reports = models.TextField(default="[]")
    resent_as = models.CharField(max_length=40, null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "runs_action"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in ActionState]),
                name="action_state_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=OPEN_STATES, ended_at__isnull=True)
                | (~models.Q(state__in=OPEN_STATES) & models.Q(ended_at__isnull=False)),
                name="action_end_has_a_time",
            ),
            models.CheckConstraint(
                condition=models.Q(state=ActionState.RESENT.value, resent_as__isnull=False)
                | (~models.Q(state=ActionState.RESENT.value) & models.Q(resent_as__isnull=True)),
                name="action_resent_as_something",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["run", "id"], name="runs_action_of_run"),
            models.Index(
                fields=["run"],
                condition=models.Q(state__in=OPEN_STATES),
                name="runs_action_open",
            ),
            models.Index(
                fields=["tenant", "id"],
                condition=models.Q(state=ActionState.UNKNOWN.value),
                name="runs_action_unknown",
            ),
            models.Index(fields=["tenant", "approved_sha256"], name="runs_action_same_content"),
        ]

    def __str__(self) -> str:
        return self.pk

    @classmethod
    def locked(cls, action_id: str) -> "Action":
        """The row, locked; the caller holds its run's lock already."""
        return locked(cls, action_id)

    @classmethod
    def by_interrupt(cls, interrupt_ids: Iterable[str]) -> "dict[str, Action]":
        """The actions that used the approvals of these interrupts."""
        ids = list(interrupt_ids)
        if not ids:
            return {}
        return {row.interrupt_id: row for row in cls.objects.filter(interrupt_id__in=ids)}

    @classmethod
    def unknown_of(cls, tenant_id: int, interrupt_ids: Collection[str]) -> "dict[str, Action]":
        """Those that came of these interrupts and of which nobody knows, for people to be told.

        With their runs' owners and agents, and without what was sent.
        """
        rows = cls.objects.filter(
            tenant_id=tenant_id, interrupt_id__in=interrupt_ids, state=ActionState.UNKNOWN.value
        )
        told = rows.select_related("run__owner", "run__agent")
        return {row.interrupt_id: row for row in told.defer("asked", "refs", "late_reports")}

    def facts(self) -> ActionFacts:
        """The action as the rules see it."""
        return ActionFacts(
            id=self.pk,
            state=ActionState(self.state),
            fencing_token=self.fencing_token,
            result=self.result,
            is_reconciled=self.ended_at is not None and self.evidence is not None,
        )

    def is_out_of_control(self, now: datetime) -> bool:
        """Whether it is under way under a lease that has run out, which nobody has settled yet."""
        if self.state != ActionState.IN_FLIGHT:
            return False
        until = self.run.lease_expires_at
        return until is not None and until <= now

    @property
    def content(self) -> dict[str, JSONValue]:
        """`{tool, args, target}` as approved, read anew from the stored canonical text."""
        value = read_json(self.asked.encode())
        assert isinstance(value, dict)
        return value

    def content_digest(self) -> str:
        """The digest of what was permitted, which the record of the dispatch holds."""
        return sha256_hex(
            canonical(
                {
                    "id": self.pk,
                    "run_id": self.run_id,
                    "interrupt_id": self.interrupt_id,
                    "idempotency_key": self.idempotency_key,
                    "asked": self.asked,
                    "approved_sha256": self.approved_sha256,
                    "holder": self.holder,
                    "fencing_token": self.fencing_token,
                    "observation_id": self.observation_id,
                    "grant": self.grant,
                    "dispatched_at": instant(self.dispatched_at),
                }
            )
        )

    @classmethod
    def dispatch(
        cls,
        turn: Turn,
        approved: Approved,
        *,
        by: Actor,
        action_id: str,
        grant: str,
        grant_ends_at: datetime,
        observation_id: str | None = None,
        refs: JSONValue = None,
    ) -> "Action":
        """Permit one side effect, once, under the lease that lives: the run is IN_FLIGHT."""
        run = turn.run
        assert run.lease is not None
        action = cls(
            id=action_id,
            tenant_id=run.tenant_id,
            run_id=run.pk,
            interrupt_id=approved.interrupt_id,
            idempotency_key=approved.idempotency_key,
            tool=approved.tool,
            asked=approved.asked,
            approved_sha256=approved.sha256,
            holder=run.lease.holder,
            fencing_token=run.lease.fencing_token,
            observation_id=observation_id,
            grant=grant,
            grant_ends_at=grant_ends_at,
            dispatched_at=turn.now,
            state=ActionState.IN_FLIGHT.value,
            refs=None if refs is None else canonical(refs),
        )
        insert([action])
        if state := transitions.after_dispatch(turn.facts):
            turn.move(state, by=by)
        turn.note(
            action.event(
                "action.dispatched",
                by=by,
                before=None,
                revision=run.revision,
                content_sha256=action.content_digest(),
                detail={"holder": action.holder, "fencing_token": action.fencing_token},
            )
        )
        return action

    def event(
        self,
        type_: str,
        *,
        by: Actor,
        before: str | None,
        revision: int,
        content_sha256: str | None = None,
        detail: dict[str, JSONValue] | None = None,
    ) -> Draft:
        """An event about this action as it stands now."""
        return Draft(
            type=type_,
            actor=by,
            interrupt_id=self.interrupt_id,
            action_id=self.pk,
            tool=self.tool,
            from_state=before,
            to_state=self.state,
            revision=revision,
            digest=self.approved_sha256,
            content_sha256=content_sha256,
            detail=detail or {},
        )

    def move(
        self,
        turn: Turn,
        state: ActionState,
        type_: str,
        *,
        by: Actor,
        detail: dict[str, JSONValue] | None = None,
        **written: JSONValue,
    ) -> None:
        """Change how this locked action stands, with its event; `written` are other columns."""
        before, self.state = self.state, state.value
        if state in ENDED:
            self.ended_at = turn.now
        for name, value in written.items():
            setattr(self, name, value)
        update(self, "state", "ended_at", *written)
        turn.note(
            self.event(type_, by=by, before=before, revision=turn.run.revision, detail=detail)
        )

    def keep(self, turn: Turn, report: Report, *, by: Actor) -> bool:
        """Keep a report that does not count, for whoever finds out what happened.

        Said again it is kept already; False where so many are kept that there is no room.
        """
        kept, told = self.late_values, {"by": by.name, **report.told()}
        if any(told.items() <= one.items() for one in kept):
            return True
        if len(kept) >= LATE_REPORTS_MAX:
            return False
        self.late_reports = canonical([*kept, {"at": instant(turn.now), **told}])
        update(self, "late_reports")
        return True

    @property
    def late_values(self) -> list[dict[str, JSONValue]]:
        """The reports that did not count and were kept, the oldest first."""
        value = read_json(self.late_reports.encode())
        assert isinstance(value, list)
        return [one for one in value if isinstance(one, dict)]

    @property
    def evidence_value(self) -> dict[str, JSONValue]:
        """What was found out last about an unknown outcome, by whom and when; else empty."""
        value = read_json(self.evidence.encode()) if self.evidence else {}
        assert isinstance(value, dict)
        return value

    @classmethod
    def lose_sight(cls, turn: Turn) -> None:
        """The lease ran out: of what was under way nobody knows what became of it."""
        if turn.run.state != RunState.IN_FLIGHT:
            return
        rows = cls.objects.select_for_update(of=("self",)).filter(
            run_id=turn.run.pk, state=ActionState.IN_FLIGHT.value
        )
        for action in rows.order_by("pk"):
            action.move(
                turn,
                ActionState.UNKNOWN,
                "action.unknown",
                by=SYSTEM,
                detail={"why": "lease_ran_out"},
            )
        turn.rest_actions(summary(turn.run), by=SYSTEM)


def summary(run: "Run") -> ActionSummary:
    """What the actions of a run amount to."""
    with connection.cursor() as cursor:
        cursor.execute(SUMMARY, [run.pk])
        in_flight, unknown = cursor.fetchone()
    return ActionSummary(in_flight=in_flight, unknown=unknown)
