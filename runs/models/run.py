"""The run: one agent task, one line of control.

Its row is the lock under which everything of the run happens, and it carries the head of the
run's event chain, which costs nothing since the row is locked and written anyway.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import IntegrityError, models, transaction

from audit.chain import EMPTY_HEAD, Head
from audit.record import Actor, Draft
from audit.subjects import Told
from identity.models import Agent, User
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunOutcome, RunState
from runs.clock import database_now
from runs.ids import new_id
from runs.models.action import Action
from runs.models.turn import LETTING_GO, Turn
from runs.rows import locked_at
from runs.rules import transitions
from runs.rules.facts import TERMINAL, Lease, RunFacts, closed
from runs.rules.refusal import Refusal
from runs.rules.transitions import Stopping
from runs.waits import waits

# A lease ends where a run enters a state in which nobody controls it.
HELD_STATES = [state.value for state in RunState if state not in LETTING_GO]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What an agent says of a run that it wants to begin."""

    title: str
    owner: User
    external_id: str | None = None
    parent_id: str | None = None
    context: JSONValue = None
    allowed_tools: Sequence[str] | None = None
    labels: Mapping[str, JSONValue] | None = None


class Run(models.Model):
    """One agent task of an owner: its state, its revision, the head of its record."""

    id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey("identity.Tenant", on_delete=models.PROTECT, related_name="runs")
    agent = models.ForeignKey("identity.Agent", on_delete=models.PROTECT, related_name="runs")
    owner = models.ForeignKey("identity.User", on_delete=models.PROTECT, related_name="runs")
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, related_name="children", null=True, blank=True
    )
    external_id = models.CharField(max_length=255, null=True)
    title = models.TextField()
    context = models.TextField()
    allowed_tools = ArrayField(models.CharField(max_length=129), null=True)
    labels = models.TextField()
    state = models.CharField(max_length=16)
    revision = models.IntegerField()
    outcome = models.CharField(max_length=16, null=True)
    cancel_requested = models.BooleanField(default=False)
    lease_holder = models.CharField(max_length=255, null=True)
    lease_ttl_s = models.IntegerField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    fencing_token = models.IntegerField(default=0)
    seq = models.IntegerField()
    event_seq = models.IntegerField()
    chain_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        db_table = "runs_run"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "external_id"], name="external_id_once_per_agent"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in RunState]),
                name="run_state_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(revision__gte=0, seq__gte=0, event_seq__gte=models.F("seq")),
                name="run_counters_grow",
            ),
            models.CheckConstraint(
                condition=models.Q(state=RunState.DONE.value, outcome__isnull=False)
                | (~models.Q(state=RunState.DONE.value) & models.Q(outcome__isnull=True)),
                name="run_outcome_when_done",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    lease_holder__isnull=True,
                    lease_ttl_s__isnull=True,
                    lease_expires_at__isnull=True,
                )
                | models.Q(
                    lease_holder__isnull=False,
                    lease_ttl_s__isnull=False,
                    lease_expires_at__isnull=False,
                    fencing_token__gte=1,
                    state__in=HELD_STATES,
                ),
                name="run_lease_is_whole",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=RunState.IN_FLIGHT.value)
                | models.Q(lease_holder__isnull=False),
                name="run_in_flight_is_held",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "-id"], name="runs_run_tenant"),
            models.Index(fields=["agent", "-id"], name="runs_run_agent"),
            models.Index(fields=["owner", "-id"], name="runs_run_owner"),
            models.Index(
                fields=["lease_expires_at"],
                condition=models.Q(lease_holder__isnull=False),
                name="runs_run_lease_due",
            ),
        ]

    def __str__(self) -> str:
        return self.pk

    @property
    def head(self) -> Head:
        """The end of this run's event chain."""
        return Head(seq=self.event_seq, hash=self.chain_hash)

    def facts(self) -> RunFacts:
        """The run as the rules see it."""
        return RunFacts(
            state=RunState(self.state),
            revision=self.revision,
            outcome=RunOutcome(self.outcome) if self.outcome else None,
            cancel_requested=self.cancel_requested,
            lease=self.lease,
        )

    @property
    def lease(self) -> Lease | None:
        """Who controls this run; one that has run out shows until the next turn settles it."""
        if self.lease_holder is None or self.lease_expires_at is None:
            return None
        return Lease(self.lease_holder, self.fencing_token, self.lease_expires_at)

    def content_digest(self) -> str:
        """The digest of what never changes of a run, which the record of its beginning holds."""
        return sha256_hex(
            canonical(
                {
                    "id": self.pk,
                    "agent": self.agent_id,
                    "owner": self.owner_id,
                    "parent": self.parent_id,
                    "external_id": self.external_id,
                    "title": self.title,
                    "context": self.context,
                    "allowed_tools": None if self.allowed_tools is None else [*self.allowed_tools],
                    "labels": self.labels,
                }
            )
        )

    @classmethod
    def take(cls, run_id: str) -> Turn:
        """Lock the run in the caller's transaction and settle what is due: how commands begin."""
        return Turn.over(*locked_at(cls, run_id))

    @classmethod
    def hold(cls, run_id: str) -> Turn:
        """Lock the run and settle nothing: for what is only recorded, as that a page was shown."""
        run, now = locked_at(cls, run_id)
        return Turn(run=run, now=now)

    @classmethod
    def begin(cls, new: NewRun, *, agent: Agent) -> "tuple[Run, bool] | Refusal":
        """A run in READY and True, or the one that this agent's `external_id` names, and False.

        Of two calls at once with one `external_id` the second waits in the unique index, then
        gets the first one's run. A parent is locked, so that it cannot be cancelled past its
        new child.
        """
        if known := cls._known(new, agent):
            return known
        try:
            with transaction.atomic():
                return cls._begin(new, agent)
        except IntegrityError:
            if known := cls._known(new, agent):
                return known
            raise

    @classmethod
    def _known(cls, new: NewRun, agent: Agent) -> "tuple[Run, bool] | Refusal | None":
        if new.external_id is None:
            return None
        run = cls.objects.filter(agent=agent, external_id=new.external_id).first()
        if run is None:
            return None
        if (run.owner_id, run.parent_id) != (new.owner.pk, new.parent_id):
            return Refusal(
                code=RefusalCode.IDEMPOTENCY_KEY_REUSED,
                detail="This external_id names a run with another owner or parent.",
                current={"run": run.pk},
            )
        return run, False

    @classmethod
    def _begin(cls, new: NewRun, agent: Agent) -> "tuple[Run, bool] | Refusal":
        by = agent.as_actor()
        if new.parent_id is not None:
            parent = cls.take(new.parent_id)
            if refusal := closed(parent.facts):
                return parent.refuse(
                    refusal, by=by, command="begin", object_id=new.parent_id, given={}
                )
            parent.close()
        now = database_now()
        run = cls.objects.create(
            id=new_id("run"),
            tenant_id=agent.tenant_id,
            agent=agent,
            owner=new.owner,
            parent_id=new.parent_id,
            external_id=new.external_id,
            title=new.title,
            context=canonical(new.context),
            allowed_tools=None if new.allowed_tools is None else list(new.allowed_tools),
            labels=canonical(dict(new.labels or {})),
            state=RunState.READY,
            revision=0,
            seq=0,
            event_seq=EMPTY_HEAD.seq,
            chain_hash=EMPTY_HEAD.hash,
            created_at=now,
            updated_at=now,
        )
        turn = Turn(run=run, now=now)
        turn.note(
            Draft(
                type="run.state_changed",
                actor=by,
                to_state=RunState.READY,
                revision=0,
                content_sha256=run.content_digest(),
                detail={"owner": new.owner.username, "parent": new.parent_id},
            )
        )
        turn.close()
        return run, True

    def settle_lease(self, turn: Turn) -> None:
        """End a lease that has run out; of what was under way nobody knows what became of it."""
        if self.lease_expires_at is None or self.lease_expires_at > turn.now:
            return
        Action.lose_sight(turn)
        turn.end_lease()

    def finish(
        self, outcome: RunOutcome, *, agent: Agent, fencing_token: int | None = None
    ) -> "Run | Refusal":
        """End this run as its agent says; repeating the same outcome changes nothing."""
        by = agent.as_actor()
        with transaction.atomic():
            turn = Run.take(self.pk)
            told = turn.inactive(agent) or transitions.finish(
                turn.facts, outcome, fencing_token=fencing_token
            )
            match told:
                case Refusal() as refusal:
                    return turn.refuse(
                        refusal,
                        by=by,
                        command="finish",
                        object_id=self.pk,
                        given={"outcome": outcome, "fencing_token": fencing_token},
                    )
                case RunState() as state:
                    turn.move(state, by=by, outcome=outcome)
                case None:
                    pass
            turn.close()
        return turn.run

    def cancel(self, *, by: "Agent | User", reason: str | None = None) -> "Run | Refusal":
        """Stop this run and its open children; repeating it changes nothing.

        What was dispatched may have happened: such a run is asked to stop, and takes no more
        questions and dispatches until that is known.
        """
        with transaction.atomic():
            turn = Run.take(self.pk)
            told = turn.may_not_stop(by) or transitions.cancel(turn.facts)
            if isinstance(told, Refusal):
                return turn.refuse(
                    told, by=by.as_actor(), command="cancel", object_id=self.pk, given={}
                )
            if told is not Stopping.NOTHING:
                turn.run._stop(turn, by=by.as_actor(), reason=reason)
            turn.close()
        return turn.run

    def _stop(self, turn: Turn, *, by: Actor, reason: str | None) -> None:
        """Stop this run and all below it; a stack, since agents decide how deep they nest."""
        stack = [(turn, self._end(turn, by=by, reason=reason))]
        while stack:
            above, children = stack[-1]
            child = next(children, None)
            if child is not None:
                below = Turn.over(child, database_now())
                stack.append((below, child._end(below, by=by, reason=reason)))
                continue
            stack.pop()
            if stack:  # the first is the caller's to close
                above.close()

    def _end(self, turn: Turn, *, by: Actor, reason: str | None) -> "Iterator[Run]":
        """Stop this run alone, or ask it to; its open children, locked, are what is left."""
        match transitions.cancel(turn.facts):
            case Stopping.STOP:
                waits().cancel(turn, by=by)
                turn.move(RunState.CANCELLED, by=by, reason=reason)
            case Stopping.REQUEST:
                turn.request_stop(by=by, reason=reason)
            case Stopping.NOTHING | Refusal():
                pass
        children = (
            Run.objects.select_for_update(of=("self",))
            .filter(parent_id=self.pk)
            .exclude(state__in=TERMINAL)
            .order_by("pk")
        )
        return iter(list(children))

    def settle(self) -> bool:
        """End what is past its deadline; False where somebody holds the run, who settles it."""
        with transaction.atomic():
            run = self._free()
            if run is not None:
                Turn.over(run, database_now()).close()
        return run is not None

    def tell_counted_refusals(self) -> None:
        """Record the counters of repeated refusals whose minute is over, unless the run is held."""
        with transaction.atomic():
            run = self._free()
            if run is not None:
                turn = Turn.over(run, database_now())
                turn.flush_refusals()
                turn.close()

    def _free(self) -> "Run | None":
        """This run, locked, or None where another holds it: many runs must not wait for one."""
        return Run.objects.select_for_update(skip_locked=True).filter(pk=self.pk).first()


def run_heads(tenant_id: int, run_ids: Sequence[str] | None, /) -> Iterator[tuple[str, Head]]:
    """The ends of a tenant's chains of events by run, of all or of those named."""
    runs = Run.objects.filter(tenant_id=tenant_id)
    if run_ids is not None:
        runs = runs.filter(pk__in=run_ids)
    for run_id, seq, chain_hash in runs.values_list("pk", "event_seq", "chain_hash").iterator():
        yield run_id, Head(seq=seq, hash=chain_hash)


def run_digests(events: Sequence[Told], /) -> dict[int, str]:
    """What the records of runs' beginnings speak of, digested anew, by event id."""
    begun = {event.id: event.run_id for event in events if event.type == "run.state_changed"}
    runs = Run.objects.in_bulk(set(begun.values()))
    return {
        event_id: runs[run_id].content_digest()
        for event_id, run_id in begun.items()
        if run_id in runs
    }
