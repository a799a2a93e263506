"""The questions as `runs.asked` shows them to those who tell people: no arguments, no words.

Who is told is who could answer: the rights given when the question was asked, what the rule
says of its people now, and not those who have approved already.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from approvals.access import waiting_for
from approvals.models import Interrupt
from approvals.models.grants import permission_id
from approvals.models.interrupt import OPEN_STATES
from approvals.rules.people import Clause, Stakes, is_admitted
from approvals.rules.policy import DEFAULT_RULE, Rule
from identity.access import people
from identity.models import User
from identity.person import Person
from placet.protocol.states import InterruptKind, InterruptState
from runs.asked import Waiting

MAY_STILL_DECIDE = """
SELECT u.id FROM identity_user u
WHERE u.tenant_id = %(tenant)s AND u.id = ANY(%(among)s) AND u.is_active
  AND (EXISTS (SELECT FROM approvals_usergrant
               WHERE content_object_id = %(interrupt)s AND user_id = u.id
                 AND permission_id = %(permission)s)
    OR EXISTS (SELECT FROM approvals_groupgrant given
               JOIN identity_user_groups member ON member.group_id = given.group_id
               WHERE given.content_object_id = %(interrupt)s AND member.user_id = u.id
                 AND given.permission_id = %(permission)s))
  AND NOT EXISTS (SELECT FROM approvals_approval
                  WHERE interrupt_id = %(interrupt)s AND user_id = u.id)
"""


class OpenQuestions:
    """The questions of this app, for `runs.asked`."""

    def waiting(self, tenant_id: int, interrupt_ids: Collection[str]) -> dict[str, Waiting]:
        """Give those that are open and before their deadline, in one query."""
        rows = (
            Interrupt.objects.filter(
                tenant_id=tenant_id,
                pk__in=interrupt_ids,
                state__in=OPEN_STATES,
                expires_at__gt=Now(),
            )
            .select_related("run__owner", "run__agent", "policy")
            .defer("asked", "description", "args_schema", "response_schema")
        )
        return {row.pk: _as_waiting(row) for row in rows}

    def first_asked(self, question: Waiting, among: Collection[int]) -> frozenset[int]:
        """Give who may answer without the group that an escalation would tell."""
        row = _row(question)
        rule = _rule(row)
        clauses = rule.clauses
        if rule.escalate is not None:
            clauses = tuple(_without(clause, rule.escalate.group) for clause in clauses)
        return frozenset(
            person.id for person in _candidates(row, among) if _counts(row, rule, clauses, person)
        )

    def escalated_to(self, question: Waiting, among: Collection[int]) -> frozenset[int]:
        """Give who may answer and is in the group of the rule's escalation."""
        row = _row(question)
        rule = _rule(row)
        if rule.escalate is None:
            return frozenset()
        return frozenset(
            person.id
            for person in _candidates(row, among)
            if rule.escalate.group in person.groups and _counts(row, rule, rule.clauses, person)
        )

    def count_for(self, tenant_id: int, user_id: int) -> int:
        """Give the number of rows that this person's inbox has now."""
        user = User.objects.filter(tenant_id=tenant_id, pk=user_id, is_active=True).first()
        return 0 if user is None else waiting_for(user).filter(expires_at__gt=Now()).count()


def _as_waiting(row: Interrupt) -> Waiting:
    rule = _rule(row)
    return Waiting(
        id=row.pk,
        tenant_id=row.tenant_id,
        tool=row.tool,
        owner=row.run.owner.username,
        agent=row.run.agent.name,
        created_at=row.created_at,
        expires_at=row.expires_at,
        remind_before_s=rule.remind_before_s,
        escalate_after_s=rule.escalate.after_s if rule.escalate else None,
        handed_back_by=row.handed_back_by_id,
        reopened=row.handback if row.state == InterruptState.PENDING else 0,
    )


def _row(question: Waiting) -> Interrupt:
    rows = Interrupt.objects.select_related("run__agent", "policy").defer("asked", "description")
    return rows.get(tenant_id=question.tenant_id, pk=question.id)


def _rule(row: Interrupt) -> Rule:
    rule = row.policy.rule(row.policy_rule) if row.policy else DEFAULT_RULE
    return rule.for_kind(InterruptKind(row.kind))


def _candidates(row: Interrupt, among: Collection[int]) -> Collection[Person]:
    given: dict[str, Any] = {
        "tenant": row.tenant_id,
        "interrupt": row.pk,
        "among": list(among),
        "permission": permission_id(),
    }
    with connection.cursor() as cursor:
        cursor.execute(MAY_STILL_DECIDE, given)
        ids = [user_id for (user_id,) in cursor.fetchall()]
    return people(row.tenant_id, ids).values()


def _counts(row: Interrupt, rule: Rule, clauses: tuple[Clause, ...], person: Person) -> bool:
    stakes = Stakes(row.run.owner_id, row.run.agent.responsible_id)
    return is_admitted(clauses, person, stakes=stakes, owner_counts=rule.owner_counts)


def _without(clause: Clause, group: str) -> Clause:
    return replace(clause, groups=clause.groups - {group})
