"""Answering: the one command by which a person's answer becomes, or does not become, an outcome.

Of any number of concurrent or repeated answers exactly one becomes the outcome, since all of
them wait for the run's lock and read how the question stands only then.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from approvals.models.asking import approvers, by_policy
from approvals.models.content import schema_value
from approvals.models.decision import Approval, Decision, Outcome
from approvals.models.grants import grant, may_decide
from approvals.models.interrupt import Interrupt, wait_summary
from approvals.rules.answering import Answer, Right, judge
from approvals.rules.asking import (
    APPROVING,
    expires_in_s,
    observation_max_age_s,
    offered_decisions,
)
from approvals.rules.editing import edited_asked, response_fault, unheeded_edit
from approvals.rules.people import Stakes, is_admitted, places, places_filled
from approvals.rules.policy import Rule, rule_for
from identity.access import lock_standing
from identity.models import User
from identity.person import Person
from placet.protocol.digest import sha256_hex
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptKind, InterruptState
from runs.ids import new_id
from runs.models import Run, Turn
from runs.rows import insert, update
from runs.rules.refusal import Refusal


def decide(interrupt_id: str, run_id: str, *, user: User, answer: Answer) -> Interrupt | Refusal:
    """Give a question a person's answer, or say why it does not count.

    The row that comes back is DECIDED; still PENDING where more approvals are needed; or
    SUPERSEDED where an edit made the next attempt under the rule that it falls under.
    """
    with transaction.atomic():
        turn = Run.take(run_id)
        ballot = Ballot.open(turn, Interrupt.locked(interrupt_id), user)
        outcome = ballot.refusal(answer) or ballot.cast(answer)
        if isinstance(outcome, Refusal):
            return turn.refuse(
                outcome,
                by=user.as_actor(),
                command="decide",
                object_id=interrupt_id,
                given=answer.given(),
                digest=answer.asked_sha256,
                tool=ballot.interrupt.tool,
            )
        turn.rest(wait_summary(turn))
        turn.close()
    return outcome


@dataclass(slots=True)
class Ballot:
    """A locked question, the person answering, and everybody counted so far, rights read anew."""

    turn: Turn
    interrupt: Interrupt
    user: User
    right: Right
    voters: dict[int, Person]

    @classmethod
    def open(cls, turn: Turn, interrupt: Interrupt, user: User) -> "Ballot":
        """Read rights after the lock: of the person, and of all who approved before."""
        earlier = interrupt.approved_by()
        agent, standing = lock_standing(turn.run.agent_id, interrupt.tenant_id, [user.pk, *earlier])
        right = Right(
            person=standing[user.pk],
            stakes=Stakes(turn.run.owner_id, agent.responsible_id),
            has_permission=may_decide(interrupt.pk, user.pk),
        )
        return cls(turn, interrupt, user, right, {pk: standing[pk] for pk in earlier})

    def refusal(self, answer: Answer) -> Refusal | None:
        """The first reason why this answer does not count, edits and responses checked last."""
        question = self.interrupt.as_question(list(self.voters))
        refusal = judge(
            question,
            self.turn.facts,
            answer,
            right=self.right,
            rule=self.interrupt.rule,
            edited=self._edited_rule(answer),
        )
        if refusal is not None:
            return refusal
        if answer.decision is DecisionKind.APPROVE:
            return unheeded_edit(self.interrupt.content, answer.args)
        if answer.decision is DecisionKind.RESPOND:
            return response_fault(answer.response, schema_value(self.interrupt.response_schema))
        return None

    def cast(self, answer: Answer) -> Interrupt | Refusal:
        """Count the answer: it ends the question, or is one of several approvals needed."""
        if answer.decision is DecisionKind.EDIT:
            return self._edit(answer)
        if answer.decision is DecisionKind.APPROVE:
            return self._approve(answer, asked=self.interrupt.asked)
        if answer.decision is DecisionKind.DONE:
            self.interrupt.hand_back(self.turn, user=self.user)
            return self.interrupt
        outcome = Outcome(
            kind=answer.decision,
            by=self.user.as_actor(),
            reason=answer.reason,
            response=answer.response,
        )
        Decision.give(self.turn, self.interrupt, outcome)
        return self.interrupt

    def _approve(self, answer: Answer, *, asked: str) -> Interrupt | Refusal:
        """Fill a place; the last one decides, when all who are counted still have the right."""
        rule, stakes = self.interrupt.rule, self.right.stakes
        before = self._filled(rule, self.voters)
        self.voters[self.user.pk] = self.right.person
        filled = self._filled(rule, self.voters)
        if filled == before:
            return Refusal(
                code=RefusalCode.NOT_PERMITTED,
                detail="The approval that you could give has been given by somebody else.",
            )
        insert([Approval(interrupt=self.interrupt, user=self.user, at=self.turn.now)])
        if filled < places(rule.clauses):
            self._count(filled)
            return self.interrupt
        counted = [
            person
            for person in self.voters.values()
            if is_admitted(rule.clauses, person, stakes=stakes, owner_counts=rule.owner_counts)
        ]
        is_edit = asked != self.interrupt.asked
        outcome = Outcome(
            kind=DecisionKind.EDIT if is_edit else DecisionKind.APPROVE,
            by=self.user.as_actor(),
            approved_by=[User(pk=person.id, username=person.name).as_actor() for person in counted],
            reason=answer.reason,
            asked=asked,
        )
        Decision.give(self.turn, self.interrupt, outcome)
        return self.interrupt

    def _filled(self, rule: Rule, voters: dict[int, Person]) -> int:
        return places_filled(
            rule.clauses,
            voters.values(),
            stakes=self.right.stakes,
            owner_counts=rule.owner_counts,
        )

    def _count(self, filled: int) -> None:
        self.interrupt.approvals_so_far = filled
        update(self.interrupt, "approvals_so_far")
        self.turn.note(
            self.interrupt.event(
                "interrupt.partly_approved",
                by=self.user.as_actor(),
                from_state=self.interrupt.state,
                revision=self.turn.run.revision,
                detail={"approvals_so_far": filled, "required": self.interrupt.required},
            )
        )

    def _edit(self, answer: Answer) -> Interrupt | Refusal:
        """Approve other arguments of the same tool; an edit that changes nothing is an approve."""
        interrupt = self.interrupt
        asked = edited_asked(interrupt.content, answer.args, schema_value(interrupt.args_schema))
        if isinstance(asked, Refusal):
            return asked
        if asked == interrupt.asked:
            return self._approve(answer, asked=asked)
        rule = self._edited_rule(answer)
        assert rule is not None
        if rule.id == interrupt.policy_rule and interrupt.required == 1:
            return self._approve(answer, asked=asked)
        return self._ask_anew(answer, asked, rule)

    def _edited_rule(self, answer: Answer) -> Rule | None:
        """The rule that edited arguments fall under, of the version that binds the question."""
        if answer.decision is not DecisionKind.EDIT or not isinstance(answer.args, dict):
            return None
        edited = {**self.interrupt.content, "args": answer.args}
        return rule_for(self.interrupt.rules, edited).for_kind(InterruptKind(self.interrupt.kind))

    def _ask_anew(self, answer: Answer, asked: str, rule: Rule) -> Interrupt | Refusal:
        """Make the next attempt with the edited arguments, under the rule that they fall under.

        Earlier approvals were given for other arguments and are void. The editor is counted
        only where the new rule names them and offers approving. Of both rules' limits the
        stricter ones hold.
        """
        old, turn, by = self.interrupt, self.turn, self.user.as_actor()
        following = self._successor(asked, rule)
        may_approve = not APPROVING.isdisjoint(following.allowed_decisions)
        if not following.allowed_decisions or not (rule.clauses or may_approve):
            return Refusal(
                code=RefusalCode.DECISION_NOT_ALLOWED,
                detail=f"With these arguments the rule “{rule.id}” leaves no answer that fits.",
                current={"rule": rule.id},
            )
        named, is_satisfiable = approvers(rule, old.tenant_id, self.right.stakes)
        following.warnings = [] if is_satisfiable else ["no_eligible_approver"]
        old.end(turn, InterruptState.SUPERSEDED, by=by, successor=following)
        insert([following])
        grant([(following.pk, named)])
        turn.note(following.as_asked(by=by, revision=turn.run.revision, edited=old.pk))
        if not rule.clauses:
            Decision.give(turn, following, by_policy(following))
        elif may_approve and is_admitted(
            rule.clauses,
            self.right.person,
            stakes=self.right.stakes,
            owner_counts=rule.owner_counts,
        ):
            Ballot(turn, following, self.user, self.right, {})._approve(answer, asked=asked)
        return old

    def _successor(self, asked: str, rule: Rule) -> Interrupt:
        old = self.interrupt
        kept = {
            name: getattr(old, name)
            for name in (
                "tenant_id",
                "run_id",
                "agent_id",
                "call_id",
                "kind",
                "round",
                "tool",
                "requested_sha256",
                "description",
                "args_schema",
                "response_schema",
                "sensitive",
                "policy",
                "policy_version",
            )
        }
        offered = offered_decisions(
            InterruptKind(old.kind),
            rule=rule,
            asked_for=frozenset(DecisionKind(name) for name in old.allowed_decisions),
            has_args_schema=old.args_schema is not None,
            has_response_schema=old.response_schema is not None,
        )
        span_s = expires_in_s(rule, None)
        return Interrupt(
            id=new_id("int"),
            attempt=old.attempt + 1,
            asked=asked,
            asked_sha256=sha256_hex(asked),
            allowed_decisions=[kind.value for kind in offered],
            policy_rule=rule.id,
            required=places(rule.clauses),
            created_at=self.turn.now,
            expires_at=min(old.expires_at, self.turn.now + timedelta(seconds=span_s)),
            observation_max_age_s=observation_max_age_s(
                old.observation_max_age_s, rule.observation_max_age_s
            ),
            state=InterruptState.PENDING.value,
            **kept,
        )
