"""Asking: the one command by which questions reach people.

The plan says, per question, what the table of contract §3 ("Asking again") does with it. All of
a request is carried out or none of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import transaction

from approvals.models.account import foreign_account
from approvals.models.content import NewQuestion, stored_schema
from approvals.models.decision import Decision, Outcome
from approvals.models.grants import Approvers, grant
from approvals.models.handoff import HandoffLink
from approvals.models.interrupt import Interrupt, open_of_agent, open_of_run, wait_summary
from approvals.models.policy import PolicyVersion
from approvals.rules.asking import (
    Asking,
    asking,
    expires_in_s,
    observation_max_age_s,
    offered_decisions,
)
from approvals.rules.people import Stakes, places, places_filled
from approvals.rules.policy import Rule, names_tool, rule_for
from audit.record import Actor, ActorKind
from identity.access import lock_agent, people
from identity.models import Agent
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptState
from runs.ids import new_id
from runs.models import Action, Run, Turn
from runs.rows import insert, update
from runs.rules import transitions
from runs.rules.refusal import Refusal, invalid

CANDIDATES = 200
"""Of so many people named by a rule its satisfiability is judged."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A run and the interrupts that answer a request, in its order; `created` are new ids."""

    run: Run
    interrupts: tuple[Interrupt, ...]
    created: frozenset[str]


def ask(
    run_id: str,
    questions: Sequence[NewQuestion],
    *,
    agent: Agent,
    expected_revision: int | None = None,
    fencing_token: int | None = None,
) -> Asked | Refusal:
    """Put questions to people, or give back what was asked already, or say why not.

    What only gives back changes nothing and is answered in every state of the run.
    """
    with transaction.atomic():
        turn = Run.take(run_id)
        plan = Plan.of(turn, questions, agent=agent)
        if refusal := plan.refusal(
            expected_revision=expected_revision, fencing_token=fencing_token
        ):
            return turn.refuse(
                refusal,
                by=agent.as_actor(),
                command="ask",
                object_id=run_id,
                given={
                    "expected_revision": expected_revision,
                    "fencing_token": fencing_token,
                    "call_ids": [question.call_id for question in questions],
                },
                digest=sha256_hex(canonical([question.asked for question in questions])),
                tool=questions[0].tool,
            )
        asked = plan.carry_out()
        turn.close()
    return asked


@dataclass(slots=True)
class Step:
    """One question of a request, the last attempt of its call_id, and what to do."""

    question: NewQuestion
    asked: str
    last: Interrupt | None
    what: Asking
    retry_of: str | None = None
    """The action that this repeats under the same idempotency key."""
    rule: Rule | None = None
    new: Interrupt | None = None

    @property
    def is_new(self) -> bool:
        return self.what is not Asking.RETURN


@dataclass(slots=True)
class Plan:
    """Everything that one request to ask will do under the run's lock."""

    turn: Turn
    agent: Agent
    steps: list[Step]
    policy: PolicyVersion | None = None
    stakes: Stakes | None = None
    is_agent_active: bool = True
    approvers: dict[str, tuple[Approvers, bool]] = field(default_factory=dict)

    @classmethod
    def of(cls, turn: Turn, questions: Sequence[NewQuestion], *, agent: Agent) -> "Plan":
        """Read what the questions meet, and match the new ones to the policy in force."""
        call_ids = [question.call_id for question in questions]
        latest = Interrupt.latest_of(turn, call_ids)
        used = Action.by_interrupt(row.pk for row in latest.values())
        plan = cls(turn, agent, [])
        for question in questions:
            last = latest.get(question.call_id)
            plan._add(question, last, used.get(last.pk) if last else None)
        if any(step.is_new for step in plan.steps):
            plan._match_rules()
        return plan

    def _add(self, question: NewQuestion, last: Interrupt | None, action: Action | None) -> None:
        asked = question.asked
        is_same = last is not None and (last.kind, last.requested_sha256) == (
            question.kind,
            sha256_hex(asked),
        )
        facts = last.as_last_attempt(action) if last else None
        repeated = {action.pk if action else None, last.retry_of if last else None}
        retry_of = question.retry_of if is_same and question.retry_of in repeated else None
        what = asking(facts, is_same=is_same, now=self.turn.now, is_retry=retry_of is not None)
        self.steps.append(Step(question, asked, last, what, retry_of))

    def _match_rules(self) -> None:
        self.policy = PolicyVersion.in_force(self.turn.run.tenant_id)
        standing = lock_agent(self.agent.pk)
        self.is_agent_active = standing.is_active
        self.stakes = Stakes(self.turn.run.owner_id, standing.responsible_id)
        rules = self.policy.rules if self.policy else ()
        for step in self.steps:
            if step.is_new:
                rule = rule_for(rules, step.question.asked_value)
                step.rule = rule.for_kind(step.question.kind)

    @property
    def _new(self) -> list[Step]:
        return [step for step in self.steps if step.is_new]

    def refusal(
        self, *, expected_revision: int | None, fencing_token: int | None
    ) -> Refusal | None:
        """The first reason why this request is not carried out, in the contract's order."""
        if refusal := self._no_retry():
            return refusal
        if not self._new:
            return None
        if not self.is_agent_active:
            return Refusal(code=RefusalCode.UNAUTHENTICATED)
        return (
            self._foreign_account()
            or transitions.may_ask(
                self.turn.facts,
                expected_revision=expected_revision,
                fencing_token=fencing_token,
            )
            or self._forbidden_tool()
            or self._nothing_to_answer()
            or self._too_many()
        )

    def _no_retry(self) -> Refusal | None:
        """The refusal of a `retry_of` that is not the action of the same call's last attempt."""
        for index, step in enumerate(self.steps):
            if step.question.retry_of != step.retry_of:
                return invalid(
                    f"/interrupts/{index}/retry_of",
                    "This is not the action of the last attempt of the same call.",
                )
        return None

    def _foreign_account(self) -> Refusal | None:
        run = self.turn.run
        for step in self._new:
            target = None if step.question.target is None else dict(step.question.target)
            if refusal := foreign_account(run.tenant_id, run.owner_id, target):
                return refusal
        return None

    def _forbidden_tool(self) -> Refusal | None:
        allowed = self.turn.run.allowed_tools
        for index, step in enumerate(self.steps):
            if not step.is_new or step.rule is None:
                continue
            tool = step.question.tool
            if step.rule.deny or (allowed is not None and not names_tool(allowed, tool)):
                by = f"the rule “{step.rule.id}”" if step.rule.deny else "the run's allowed_tools"
                return Refusal(
                    code=RefusalCode.TOOL_NOT_ALLOWED,
                    detail=f"{tool} is forbidden by {by}.",
                    current={"question": index, "rule": step.rule.id},
                )
        return None

    def _nothing_to_answer(self) -> Refusal | None:
        for index, step in enumerate(self.steps):
            offered = self._offered(step) if step.is_new else ()
            is_by_policy = step.rule is not None and not step.rule.clauses
            is_possible = DecisionKind.APPROVE in offered if is_by_policy else bool(offered)
            if step.is_new and not is_possible:
                return invalid(
                    f"/interrupts/{index}/allowed_decisions",
                    "No answer is left that this kind of question and its rule allow.",
                )
        return None

    def _too_many(self) -> Refusal | None:
        run, agent = self.turn.run, self.agent
        coming = sum(1 for step in self._new if step.rule and step.rule.clauses)
        leaving = sum(1 for step in self._new if step.what is Asking.REPLACE)
        for what, most, count in (
            ("run", settings.PLACET_MAX_PENDING_RUN, partial(open_of_run, run.pk)),
            ("agent", settings.PLACET_MAX_PENDING_AGENT, partial(open_of_agent, agent)),
        ):
            if coming > leaving and most and count() + coming - leaving > most:
                return Refusal(
                    code=RefusalCode.RATE_LIMITED,
                    detail=f"At most {most} questions of one {what} may wait at a time.",
                    current={f"max_pending_{what}": most},
                    retry_after_s=60,
                )
        return None

    def _offered(self, step: Step) -> tuple[DecisionKind, ...]:
        assert step.rule is not None
        question = step.question
        return offered_decisions(
            question.kind,
            rule=step.rule,
            asked_for=question.allowed_decisions,
            has_args_schema=question.args_schema is not None,
            has_response_schema=question.response_schema is not None,
        )

    def carry_out(self) -> Asked:
        """Store what is new, end what it replaces, and say which row answers which question."""
        by, turn = self.agent.as_actor(), self.turn
        waiting = [step for step in self._new if step.rule and step.rule.clauses]
        if waiting and (state := transitions.after_asking(turn.facts)):
            turn.move(state, by=by)
        for step in self._new:
            step.new = self._attempt(step)
            self._follow(step, by)
        new = [step.new for step in self._new if step.new]
        insert(new)
        for step in self._new:
            if step.new and step.question.handoff_url is not None:
                HandoffLink.keep(step.new.pk, step.question.handoff_url)
        grant(
            (step.new.pk, self._approvers(step.rule)[0])
            for step in waiting
            if step.new and step.rule
        )
        for step in self._new:
            self._tell(step, by)
        if any(step.what is Asking.REPLACE for step in self._new):
            # What took an open question's place may be approved by policy already.
            turn.rest(wait_summary(turn))
        rows = tuple(row for step in self.steps if (row := step.new or step.last))
        return Asked(turn.run, rows, frozenset(row.pk for row in new))

    def _follow(self, step: Step, by: Actor) -> None:
        last, new = step.last, step.new
        if last is None or new is None:
            return
        match step.what:
            case Asking.REPLACE:
                last.end(self.turn, InterruptState.SUPERSEDED, by=by, successor=new)
            case Asking.OUTDATE:
                last.outdate(self.turn, by=by, successor=new)
            case Asking.ASK | Asking.RETURN:
                last.is_latest = False
                update(last, "is_latest")

    def _attempt(self, step: Step) -> Interrupt:
        assert step.rule is not None
        question, rule, turn = step.question, step.rule, self.turn
        digest = sha256_hex(step.asked)
        return Interrupt(
            id=new_id("int"),
            tenant_id=turn.run.tenant_id,
            run_id=turn.run.pk,
            agent_id=turn.run.agent_id,
            call_id=question.call_id,
            attempt=step.last.attempt + 1 if step.last else 1,
            kind=question.kind.value,
            round=turn.run.revision,
            tool=question.tool,
            asked=step.asked,
            asked_sha256=digest,
            requested_sha256=digest,
            description=question.description,
            args_schema=stored_schema(question.args_schema),
            response_schema=stored_schema(question.response_schema),
            allowed_decisions=[kind.value for kind in self._offered(step)],
            sensitive=list(question.sensitive),
            observation_max_age_s=observation_max_age_s(
                question.observation_max_age_s, rule.observation_max_age_s
            ),
            policy=self.policy,
            policy_version=self.policy.version if self.policy else 0,
            policy_rule=rule.id,
            required=places(rule.clauses),
            warnings=[] if self._approvers(rule)[1] else ["no_eligible_approver"],
            created_at=turn.now,
            expires_at=turn.now + timedelta(seconds=expires_in_s(rule, question.expires_in_s)),
            retry_of=step.retry_of,
            state=InterruptState.PENDING.value,
        )

    def _tell(self, step: Step, by: Actor) -> None:
        new, rule = step.new, step.rule
        assert new is not None and rule is not None
        self.turn.note(new.as_asked(by=by, revision=self.turn.run.revision))
        if not rule.clauses:
            Decision.give(self.turn, new, by_policy(new))

    def _approvers(self, rule: Rule) -> tuple[Approvers, bool]:
        """Whom the rule asks, and whether those who are there now can satisfy it."""
        if rule.id not in self.approvers:
            assert self.stakes is not None
            self.approvers[rule.id] = approvers(rule, self.turn.run.tenant_id, self.stakes)
        return self.approvers[rule.id]


def by_policy(interrupt: Interrupt) -> Outcome:
    """The approval that a rule gives which asks nobody."""
    rule = Actor(ActorKind.POLICY, interrupt.rule_actor_id, interrupt.policy_rule)
    return Outcome(kind=DecisionKind.APPROVE, by=rule, asked=interrupt.asked)


def approvers(rule: Rule, tenant_id: int, stakes: Stakes) -> tuple[Approvers, bool]:
    """Whom a rule asks in a tenant, and whether those who are there now can satisfy it."""
    named = Approvers.of(rule, tenant_id=tenant_id, stakes=stakes)
    if not rule.clauses:
        return named, True
    standing = people(tenant_id, named.candidate_ids(CANDIDATES)).values()
    filled = places_filled(rule.clauses, standing, stakes=stakes, owner_counts=rule.owner_counts)
    return named, filled == places(rule.clauses)
