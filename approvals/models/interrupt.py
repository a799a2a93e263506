"""The interrupt: one question put to people, bound to exactly what was asked.

How it stands changes only in the methods here, each under the lock of its run (`Turn`).
"""

from collections.abc import Sequence
from typing import ClassVar

from django.db import connection, models, transaction

from approvals.models.content import Content
from approvals.models.grants import CODENAME
from approvals.models.handoff import HandoffLink
from approvals.models.policy import PolicyVersion
from approvals.rules.answering import Question, has_ended
from approvals.rules.asking import LastAttempt
from audit.chain import instant
from audit.record import Actor, Draft
from identity.models import Agent, User
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue
from placet.protocol.states import ActionState, DecisionKind, InterruptState
from runs.models import Action, Run, Turn
from runs.models.turn import SYSTEM
from runs.rows import found, locked, update
from runs.rules.facts import WaitSummary, closed, unknown
from runs.rules.lease import fenced
from runs.rules.refusal import Refusal

OPEN_STATES = [state.value for state in InterruptState if state.is_open]
IS_OPEN = "state IN ({})".format(", ".join(f"'{state}'" for state in OPEN_STATES))

DUE = f"""
SELECT 1 FROM approvals_interrupt WHERE run_id = %s AND {IS_OPEN} AND expires_at <= %s LIMIT 1
"""

ASKED_BEFORE = """
SELECT 1 FROM approvals_interrupt WHERE run_id = %s AND is_latest AND call_id = ANY(%s) LIMIT 1
"""

OPEN_OF_RUN = f"SELECT count(*) FROM approvals_interrupt WHERE run_id = %s AND {IS_OPEN}"

OPEN_OF_AGENT = f"SELECT count(*) FROM approvals_interrupt WHERE agent_id = %s AND {IS_OPEN}"

SUMMARY = f"""
SELECT count(*) FILTER (WHERE {IS_OPEN}),
       count(*) FILTER (WHERE state = '{InterruptState.EXPIRED}' AND is_latest) > 0
FROM approvals_interrupt WHERE run_id = %s AND round = %s
"""


class Interrupt(Content):
    """One attempt to get people's answer to one question of a run."""

    state = models.CharField(max_length=16)
    is_latest = models.BooleanField(default=True)
    approvals_so_far = models.IntegerField(default=0)
    handback = models.IntegerField(default=0)
    handed_back_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_constraint=False
    )
    superseded_by = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="+", db_constraint=False
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)

    class Meta:
        db_table = "approvals_interrupt"
        default_permissions = ()
        permissions: ClassVar = [(CODENAME, "Can decide this interrupt")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "call_id", "attempt"], name="interrupt_attempt_once"
            ),
            models.UniqueConstraint(
                fields=["run", "call_id"],
                condition=models.Q(is_latest=True),
                name="interrupt_one_latest_attempt",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in InterruptState]),
                name="interrupt_state_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=OPEN_STATES, ended_at__isnull=True)
                | (~models.Q(state__in=OPEN_STATES) & models.Q(ended_at__isnull=False)),
                name="interrupt_end_has_a_time",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["tenant", "expires_at", "id"],
                condition=models.Q(state__in=OPEN_STATES),
                name="interrupt_waiting",
            ),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(state__in=OPEN_STATES),
                name="interrupt_due",
            ),
            models.Index(
                fields=["run"],
                condition=models.Q(state__in=OPEN_STATES),
                name="interrupt_open_of_run",
            ),
            models.Index(
                fields=["agent"],
                condition=models.Q(state__in=OPEN_STATES),
                name="interrupt_open_of_agent",
            ),
            models.Index(
                fields=["tenant", "asked_sha256", "expires_at", "id"],
                condition=models.Q(state__in=OPEN_STATES),
                name="interrupt_open_content",
            ),
            models.Index(fields=["tenant", "asked_sha256"], name="interrupt_same_content"),
        ]

    def __str__(self) -> str:
        return self.pk

    @classmethod
    def locked(cls, interrupt_id: str) -> "Interrupt":
        """The row with its policy, locked; the caller holds its run's lock already."""
        row = locked(cls, interrupt_id)
        if row.policy_id is not None:
            row.policy = found(PolicyVersion, row.policy_id)
        return row

    @classmethod
    def latest_of(cls, turn: Turn, call_ids: Sequence[str]) -> "dict[str, Interrupt]":
        """The last attempts of these call_ids in the run, locked, with policy and decision.

        Mostly there is none yet, which is cheaper to see than to read.
        """
        with connection.cursor() as cursor:
            cursor.execute(ASKED_BEFORE, [turn.run.pk, list(call_ids)])
            if cursor.fetchone() is None:
                return {}
        rows = (
            cls.objects.select_for_update(of=("self",))
            .select_related("policy", "decision")
            .filter(run_id=turn.run.pk, is_latest=True, call_id__in=call_ids)
            .order_by("pk")
        )
        return {row.call_id: row for row in rows}

    def approved_by(self) -> list[int]:
        """The ids of those who approved before; where one is enough, the first one ended it."""
        if self.required == 1:
            return []
        return list(self.approvals.values_list("user_id", flat=True))

    def as_last_attempt(self, action: Action | None) -> LastAttempt:
        """How this attempt stands, for the table of asking again; its decision is loaded."""
        decision = getattr(self, "decision", None)
        return LastAttempt(
            action=ActionState(action.state) if action else None,
            state=InterruptState(self.state),
            decision=DecisionKind(decision.kind) if decision else None,
            valid_until=decision.valid_until if decision else None,
        )

    def is_edit_of(self, before: "Interrupt") -> bool:
        """Whether a person's edit of that question, and no agent, made this one."""
        is_next = before.superseded_by_id == self.pk
        is_kept = self.requested_sha256 == before.requested_sha256
        return is_next and is_kept and self.asked_sha256 != before.asked_sha256

    def as_question(self, approved_by: Sequence[int] = ()) -> Question:
        """This interrupt as the rules of answering see it, its digest computed anew."""
        return Question(
            id=self.pk,
            state=InterruptState(self.state),
            asked_sha256=sha256_hex(self.asked),
            handback=self.handback,
            allowed_decisions=tuple(DecisionKind(name) for name in self.allowed_decisions),
            approved_by=frozenset(approved_by),
            ending=self.ending(),
        )

    def ending(self) -> dict[str, JSONValue]:
        """How this question stands, for a refusal: who, when and why."""
        told: dict[str, JSONValue] = {"state": str(self.state)}
        if self.superseded_by_id:
            told["superseded_by"] = self.superseded_by_id
        if self.state == InterruptState.DECIDED:
            told["decision"] = self.decision.kind
            told["decided_by"] = self.decision.by_name
            told["decided_at"] = instant(self.decision.decided_at)
            told["reason"] = self.decision.reason
        elif self.ended_at:
            told["ended_at"] = instant(self.ended_at)
        return told

    def event(
        self,
        type_: str,
        *,
        by: Actor,
        from_state: str | None,
        revision: int,
        content_sha256: str | None = None,
        detail: dict[str, JSONValue] | None = None,
    ) -> Draft:
        """An event about this interrupt as it stands now."""
        return Draft(
            type=type_,
            actor=by,
            interrupt_id=self.pk,
            tool=self.tool,
            from_state=from_state,
            to_state=self.state,
            revision=revision,
            digest=self.asked_sha256,
            content_sha256=content_sha256,
            detail=detail or {},
        )

    def as_asked(self, *, by: Actor, revision: int, edited: str | None = None) -> Draft:
        """The record of the asking: its whole content's digest; `edited` is what it was made of."""
        return self.event(
            "interrupt.asked",
            by=by,
            from_state=None,
            revision=revision,
            content_sha256=self.content_digest(),
            detail={
                "call_id": self.call_id,
                "attempt": self.attempt,
                "kind": self.kind,
                "rule": self.rule_actor_id,
                **({"edited": edited} if edited else {}),
            },
        )

    def end(
        self,
        turn: Turn,
        state: InterruptState,
        *,
        by: Actor,
        successor: "Interrupt | None" = None,
    ) -> None:
        """Bring this open, locked question to an end other than a decision, with its event."""
        before, self.state = self.state, state.value
        self.ended_at, self.ended_by = turn.now, by.name
        HandoffLink.forget(self)
        fields = ["state", "ended_at", "ended_by"]
        if successor:
            self.superseded_by_id, self.is_latest = successor.pk, False
            fields += ["superseded_by", "is_latest"]
        update(self, *fields)
        turn.note(
            self.event(
                f"interrupt.{state.lower()}",
                by=by,
                from_state=before,
                revision=turn.run.revision,
                detail={"superseded_by": successor.pk} if successor else {},
            )
        )

    def outdate(self, turn: Turn, *, by: Actor, successor: "Interrupt") -> None:
        """Let a newer attempt follow this ended one; an unused approval it takes the place of.

        It stays as it ended. Dispatch refuses what has a `superseded_by`.
        """
        self.is_latest = False
        self.superseded_by_id = successor.pk
        update(self, "is_latest", "superseded_by")
        turn.note(
            self.event(
                "interrupt.superseded",
                by=by,
                from_state=self.state,
                revision=turn.run.revision,
                detail={"superseded_by": successor.pk},
            )
        )

    def hand_back(self, turn: Turn, *, user: User) -> None:
        """Take a person's notice that they are done; what was seen of the page decides."""
        before, self.state = self.state, InterruptState.HANDED_BACK.value
        self.handback += 1
        self.handed_back_by = user
        update(self, "state", "handback", "handed_back_by")
        turn.note(
            self.event(
                "interrupt.handed_back",
                by=user.as_actor(),
                from_state=before,
                revision=turn.run.revision,
                detail={"handback": self.handback},
            )
        )

    def reopen(self, turn: Turn, *, by: Actor, observation_id: str, differs: list[str]) -> None:
        """Put a handoff to the person again, since what was seen is not what was asked for."""
        before, self.state = self.state, InterruptState.PENDING.value
        update(self, "state")
        turn.note(
            self.event(
                "interrupt.reopened",
                by=by,
                from_state=before,
                revision=turn.run.revision,
                detail={
                    "handback": self.handback,
                    "observation": observation_id,
                    "differs": [*differs],
                },
            )
        )

    def cancel(self, *, agent: Agent, fencing_token: int | None = None) -> "Interrupt | Refusal":
        """Take the question back; repeating it changes nothing."""
        by = agent.as_actor()
        with transaction.atomic():
            turn = Run.take(self.run_id)
            row = Interrupt.locked(self.pk)
            if row.state != InterruptState.CANCELLED:
                refusal = (
                    turn.inactive(agent)
                    or has_ended(row.as_question())
                    or closed(turn.facts)
                    or unknown(turn.facts)
                    or fenced(turn.facts, fencing_token)
                )
                if refusal:
                    return turn.refuse(
                        refusal,
                        by=by,
                        command="interrupt.cancel",
                        object_id=self.pk,
                        given={"fencing_token": fencing_token},
                        digest=row.asked_sha256,
                        tool=row.tool,
                    )
                row.end(turn, InterruptState.CANCELLED, by=by)
                turn.rest(wait_summary(turn))
            turn.close()
        return row


def wait_summary(turn: Turn) -> WaitSummary:
    """What the questions of the run's round amount to."""
    with connection.cursor() as cursor:
        cursor.execute(SUMMARY, [turn.run.pk, turn.run.revision])
        is_open, has_expired = cursor.fetchone()
    return WaitSummary(open=is_open, last_expired=has_expired)


def open_of_run(run_id: str) -> int:
    """How many questions of a run are open."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN_OF_RUN, [run_id])
        (count,) = cursor.fetchone()
    return int(count)


def open_of_agent(agent: Agent) -> int:
    """How many questions of all of an agent's runs are open."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN_OF_AGENT, [agent.pk])
        (count,) = cursor.fetchone()
    return int(count)


class InterruptWaits:
    """The questions of a run as that which it waits for (`runs.waits`)."""

    def settle_due(self, turn: Turn) -> WaitSummary | None:
        """Make EXPIRED what is past its deadline; at the deadline is late."""
        if not self._is_due(turn):
            return None
        for interrupt in self._open(turn).filter(expires_at__lte=turn.now):
            interrupt.end(turn, InterruptState.EXPIRED, by=SYSTEM)
        return wait_summary(turn)

    def _is_due(self, turn: Turn) -> bool:
        """Asked at every command while the run waits, so asked cheaply."""
        with connection.cursor() as cursor:
            cursor.execute(DUE, [turn.run.pk, turn.now])
            return cursor.fetchone() is not None

    def cancel(self, turn: Turn, *, by: Actor) -> None:
        """Make CANCELLED what is open."""
        for interrupt in self._open(turn):
            interrupt.end(turn, InterruptState.CANCELLED, by=by)

    def _open(self, turn: Turn) -> "models.QuerySet[Interrupt]":
        rows = Interrupt.objects.select_for_update(of=("self",)).defer("asked", "description")
        return rows.filter(run_id=turn.run.pk, state__in=OPEN_STATES).order_by("pk")
