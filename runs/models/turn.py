"""One command's hold on one run: the lock, the instant, and what it will write.

Every transition goes through here, so that the order of contract §3 holds everywhere: lock the
run, read the database clock once, settle what is due, and only then read rights and ask the
rules. What a command does to the run is written by `close`: one UPDATE, one INSERT of events,
and the wake-ups after the commit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction

from audit.chain import Head
from audit.record import Actor, ActorKind, Draft, Refused, record
from audit.refusals import flush, note_refusal
from identity.access import lock_agent, lock_people
from identity.models import Agent, User
from identity.roles import Role
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.rows import update
from runs.rules import transitions
from runs.rules.facts import ActionSummary, RunFacts, WaitSummary
from runs.rules.lease import NewLease, renewed
from runs.rules.refusal import COUNTED_ONLY, Refusal
from runs.waiting.notifier import tenant_key, wake
from runs.waits import waits

if TYPE_CHECKING:
    from runs.models.run import Run

LETTING_GO = frozenset({RunState.UNKNOWN, RunState.DONE, RunState.CANCELLED})

SYSTEM = Actor(kind=ActorKind.SYSTEM, id="placet", name="Placet")


@dataclass(slots=True, kw_only=True)
class Turn:
    """A locked run, the instant its lock was held, and the events to come."""

    run: "Run"
    now: datetime
    drafts: list[Draft] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    is_changed: bool = False
    fencing_token: int = field(init=False)
    """The token that was found under the lock, and with which executors' were compared."""

    def __post_init__(self) -> None:
        self.fencing_token = self.run.fencing_token

    @classmethod
    def over(cls, run: "Run", now: datetime) -> "Turn":
        """The turn of a run whose lock the caller held at this instant: settles what is due."""
        turn = cls(run=run, now=now)
        # No other run has an open question (contract §3), so this one's alone are looked for.
        if run.state == RunState.WAIT_USER and (summary := waits().settle_due(turn)):
            turn.rest(summary)
        run.settle_lease(turn)
        return turn

    @property
    def facts(self) -> RunFacts:
        """The run as the rules see it, after what this turn did so far."""
        return self.run.facts()

    def inactive(self, agent: Agent) -> Refusal | None:
        """The refusal of an agent that was deactivated since its request came in."""
        if lock_agent(agent.pk).is_active:
            return None
        return Refusal(code=RefusalCode.UNAUTHENTICATED)

    def may_not_stop(self, by: Agent | User) -> Refusal | None:
        """Why an agent, or a person, may not stop this run, read after the lock.

        A person's row is locked before the run's children are; whoever changes it locks no run.
        """
        if isinstance(by, Agent):
            return self.inactive(by)
        person = lock_people(self.run.tenant_id, [by.pk])[by.pk]
        is_owner = self.run.owner_id == by.pk and person.role != Role.AUDITOR
        if person.is_active and (is_owner or person.role == Role.ADMIN):
            return None
        return Refusal(code=RefusalCode.NOT_PERMITTED)

    def note(self, draft: Draft) -> None:
        """Append an event to what this turn will record."""
        self.drafts.append(replace(draft, agent_id=self.run.agent_id))
        self.touched.update(part for part in (draft.interrupt_id, draft.action_id) if part)

    def move(
        self,
        state: RunState,
        *,
        by: Actor,
        outcome: RunOutcome | None = None,
        reason: str | None = None,
    ) -> None:
        """Change the run's state: the only place where a revision grows."""
        before = self.run.state
        self.run.state = state
        self.run.revision += 1
        self.run.outcome = outcome
        self.is_changed = True
        if state in LETTING_GO:
            self.end_lease()
        self.note(
            Draft(
                type="run.state_changed",
                actor=by,
                from_state=before or None,
                to_state=state,
                revision=self.run.revision,
                detail={"outcome": outcome, "reason": reason} if outcome or reason else {},
            )
        )

    def rest(self, summary: WaitSummary) -> None:
        """Let the run go on where nothing of its round is open any more."""
        if state := transitions.after_waiting(self.facts, summary):
            self.move(state, by=SYSTEM)

    def rest_actions(self, summary: ActionSummary, *, by: Actor) -> None:
        """Let the run go on, stop or stand still where none of its actions is open any more."""
        if state := transitions.after_actions(self.facts, summary):
            self.move(state, by=by)

    def request_stop(self, *, by: Actor, reason: str | None) -> None:
        """Ask a run to stop whose actions nobody can call back."""
        self.run.cancel_requested = True
        self.is_changed = True
        self.note(
            Draft(
                type="run.cancel_requested",
                actor=by,
                from_state=self.run.state,
                to_state=self.run.state,
                revision=self.run.revision,
                detail={"reason": reason} if reason else {},
            )
        )

    def start_lease(self, new: NewLease) -> None:
        """Give control of the run to an executor, under the next fencing token."""
        run = self.run
        run.fencing_token += 1
        run.lease_holder, run.lease_ttl_s = new.holder, new.ttl_s
        run.lease_expires_at = self.now + timedelta(seconds=new.ttl_s)
        self.is_changed = True

    def renew_lease(self, ttl_s: int) -> None:
        """Keep control so much longer from now; never shorter than it lasts already."""
        assert self.run.lease_expires_at is not None
        until = self.now + timedelta(seconds=ttl_s)
        self.run.lease_expires_at = renewed(self.run.lease_expires_at, until)
        self.is_changed = True

    def end_lease(self) -> None:
        """Nobody controls the run any more; its token is not given again."""
        run = self.run
        run.lease_holder = run.lease_ttl_s = run.lease_expires_at = None
        self.is_changed = True

    def refuse(
        self,
        refusal: Refusal,
        *,
        by: Actor,
        command: str,
        object_id: str,
        given: Mapping[str, JSONValue],
        digest: str | None = None,
        tool: str | None = None,
    ) -> Refusal:
        """Record a refusal after what was due, close the turn, and give the refusal back."""
        self._write_events()
        if refusal.code is RefusalCode.WRONG_STATE:
            refusal = self._with_open_actions(refusal)
        if refusal.code in COUNTED_ONLY:
            self._save()
            return replace(refusal, is_recorded=True)
        head = note_refusal(
            tenant_id=self.run.tenant_id,
            run_id=self.run.pk,
            head=self.run.head,
            at=self.now,
            command=command,
            object_id=object_id,
            draft=Draft(
                type="command.refused",
                actor=by,
                agent_id=self.run.agent_id,
                tool=tool,
                interrupt_id=object_id if object_id.startswith("int_") else None,
                action_id=object_id if object_id.startswith("act_") else None,
                revision=self.run.revision,
                digest=digest,
                refused=Refused(refusal.code, given=given, current=refusal.current),
            ),
        )
        self._take_head(head)
        self._save()
        return replace(refusal, is_recorded=True)

    def _with_open_actions(self, refusal: Refusal) -> Refusal:
        """Name what keeps the run from going on."""
        names: list[JSONValue] = list(
            self.run.actions.filter(ended_at=None).values_list("pk", flat=True).order_by("pk")
        )
        if not names:
            return refusal
        return replace(refusal, current={**refusal.current, "open_actions": names})

    def flush_refusals(self) -> None:
        """Record the counters of repeated refusals whose minute is over."""
        self._write_events()
        run = self.run
        self._take_head(flush(tenant_id=run.tenant_id, run_id=run.pk, head=run.head, at=self.now))

    def close(self) -> None:
        """Write what this turn did; harmless where it did nothing."""
        self._write_events()
        self._save()

    def _write_events(self) -> None:
        if not self.drafts:
            return
        head = record(
            tenant_id=self.run.tenant_id,
            run_id=self.run.pk,
            head=self.run.head,
            at=self.now,
            drafts=self.drafts,
        )
        is_told = any(draft.type != "interrupt.shown" for draft in self.drafts)
        self._take_head(head, is_told=is_told)
        self.drafts = []

    def _take_head(self, head: Head, *, is_told: bool = True) -> None:
        """Carry a new end of the chain; `seq` passes over what was merely shown."""
        if head != self.run.head:
            self.run.event_seq, self.run.chain_hash = head.seq, head.hash
            self.run.seq = head.seq if is_told else self.run.seq
            self.is_changed = True

    def _save(self) -> None:
        if not self.is_changed:
            return
        self.run.updated_at = self.now
        update(self.run, *TURN_FIELDS, fencing_token=self.fencing_token)
        self.fencing_token = self.run.fencing_token
        all_of_it = [tenant_key(self.run.tenant_id)] if self.touched else []
        ids = frozenset({self.run.pk, *self.touched, *all_of_it})
        transaction.on_commit(lambda: wake(ids))


TURN_FIELDS = (
    "state",
    "revision",
    "outcome",
    "cancel_requested",
    "lease_holder",
    "lease_ttl_s",
    "lease_expires_at",
    "fencing_token",
    "seq",
    "event_seq",
    "chain_hash",
    "updated_at",
)
