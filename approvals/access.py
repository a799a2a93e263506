"""The roads to interrupts, and to the runs that people may see.

A run is seen by its owner, by admins and auditors, and by whoever may answer or has answered one
of its interrupts; the last see only those interrupts (contract §11).
"""

from dataclasses import dataclass

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from approvals.models import Approval, Decision, Interrupt
from approvals.models.grants import decidable_by, may_decide
from approvals.models.interrupt import OPEN_STATES
from approvals.rules import answering
from approvals.rules.answering import Right
from approvals.rules.people import Stakes
from identity.access import people
from identity.models import Agent, Group, User
from identity.roles import Role
from placet.protocol.states import ActionState
from runs.ids import is_id
from runs.models import Action, Run
from runs.rows import found

SEE_ALL = frozenset({Role.ADMIN, Role.AUDITOR})

ASKED_BY = """
SELECT FROM approvals_interrupt WHERE id = %s AND run_id = %s AND tenant_id = %s AND agent_id = %s
"""


def agent_interrupt(agent: Agent, interrupt_id: str) -> Interrupt | None:
    """The interrupt of this id in a run that this agent created."""
    if not is_id(interrupt_id):
        return None
    row = found(Interrupt, interrupt_id)
    if row is None or (row.tenant_id, row.agent_id) != (agent.tenant_id, agent.pk):
        return None
    return row


def has_asked(agent: Agent, run_id: str, interrupt_id: str) -> bool:
    """Whether this agent asked this in a run that it created."""
    if not is_id(interrupt_id):
        return False
    with connection.cursor() as cursor:
        cursor.execute(ASKED_BY, [interrupt_id, run_id, agent.tenant_id, agent.pk])
        return cursor.fetchone() is not None


def visible_interrupts(user: User) -> "QuerySet[Interrupt]":
    """Every interrupt that this person may look at."""
    mine = Interrupt.objects.filter(tenant_id=user.tenant_id)
    if user.role in SEE_ALL:
        return mine
    answered = Exists(
        Decision.objects.filter(interrupt=OuterRef("pk"), by_id=user.public_id)
    ) | Exists(Approval.objects.filter(interrupt=OuterRef("pk"), user=user))
    decidable = decidable_by(Interrupt.objects.filter(pk=OuterRef("pk")), user.pk)
    return mine.filter(
        Q(run__owner=user) | Q(run__agent__responsible=user) | Q(Exists(decidable)) | Q(answered)
    )


def visible_interrupt(user: User, interrupt_id: str) -> Interrupt | None:
    """The interrupt of this id, where this person may look at it."""
    if not is_id(interrupt_id):
        return None
    row = found(Interrupt, interrupt_id)
    if row is None or row.tenant_id != user.tenant_id or not _may_look(user, row):
        return None
    return row


def _may_look(user: User, row: Interrupt) -> bool:
    """`visible_interrupts` for one row of the tenant, what is likeliest and cheapest first."""
    return (
        user.role in SEE_ALL
        or may_decide(row.pk, user.pk)
        or user.pk in (row.run.owner_id, row.run.agent.responsible_id)
        or Approval.objects.filter(interrupt=row, user=user).exists()
        or Decision.objects.filter(interrupt=row, by_id=user.public_id).exists()
    )


def waiting_for(user: User) -> "QuerySet[Interrupt]":
    """What waits for this person's answer."""
    waiting = Interrupt.objects.filter(tenant_id=user.tenant_id, state__in=OPEN_STATES)
    if user.role == Role.AUDITOR:
        return waiting.none()
    return decidable_by(waiting, user.pk).exclude(approvals__user=user)


def waiting_in_time(user: User) -> "QuerySet[Interrupt]":
    """What waits for this person's answer and is not past its deadline."""
    return waiting_for(user).filter(expires_at__gt=Now())


def equal_first(waiting: "QuerySet[Interrupt]") -> "QuerySet[Interrupt]":
    """Of equal calls among these the most urgent: those of one digest, masked alike.

    The first part of the condition never holds: because of it PostgreSQL looks for equal calls
    row by row, as far as a page needs, and not for those of all rows at once. `lte` repeats what
    the other two say, so that an index finds the first of a flood without passing the others.
    """
    sooner = Q(expires_at__lt=OuterRef("expires_at"))
    tie = Q(expires_at=OuterRef("expires_at"), pk__lt=OuterRef("pk"))
    equal = waiting.filter(
        sooner | tie,
        expires_at__lte=OuterRef("expires_at"),
        asked_sha256=OuterRef("asked_sha256"),
        sensitive=OuterRef("sensitive"),
    )
    return waiting.filter(Q(asked_sha256="") | ~Exists(equal))


@dataclass(frozen=True, slots=True)
class Membership:
    """A group of a person, or the role they hold, by which questions reach them."""

    auth_group_id: int
    name: str
    is_role: bool


def memberships(user: User) -> tuple[Membership, ...]:
    """The groups of this person in their tenant, their role among them, by name."""
    groups = Group.objects.filter(tenant_id=user.tenant_id, auth_group__user=user)
    return tuple(
        Membership(group.auth_group_id, group.name, group.is_role)
        for group in groups.order_by("is_role", "name")
    )


def visible_runs(user: User) -> "QuerySet[Run]":
    """Every run of which this person may see anything."""
    mine = Run.objects.filter(tenant_id=user.tenant_id)
    if user.role in SEE_ALL:
        return mine
    seen = visible_interrupts(user).filter(run=OuterRef("pk"))
    return mine.filter(Q(owner=user) | Q(Exists(seen)))


def visible_run(user: User, run_id: str) -> Run | None:
    """The run of this id, where this person may see anything of it."""
    if not is_id(run_id):
        return None
    return visible_runs(user).select_related("owner", "agent").filter(pk=run_id).first()


def visible_actions(user: User) -> "QuerySet[Action]":
    """Every action that this person may look at: those that came of questions they may see."""
    mine = Action.objects.filter(tenant_id=user.tenant_id)
    if user.role in SEE_ALL:
        return mine
    seen = visible_interrupts(user).filter(pk=OuterRef("interrupt_id"))
    return mine.filter(Q(run__owner=user) | Q(Exists(seen)))


def visible_action(user: User, action_id: str) -> Action | None:
    """The action of this id, where this person may look at it."""
    if not is_id(action_id):
        return None
    return visible_actions(user).filter(pk=action_id).first()


def reconcilable_actions(user: User) -> "QuerySet[Action]":
    """The actions of unknown outcome about which this person may say what became of them."""
    unknown = Action.objects.filter(tenant_id=user.tenant_id, state=ActionState.UNKNOWN)
    if user.role == Role.AUDITOR:
        return unknown.none()
    if user.role == Role.ADMIN:
        return unknown
    asked = Interrupt.objects.filter(pk=OuterRef("interrupt_id"))
    return unknown.filter(Q(run__owner=user) | Q(Exists(decidable_by(asked, user.pk))))


def unknown_outcomes(user: User) -> "QuerySet[Action]":
    """The unknown outcomes that are this person's to look into; an auditor reads them all."""
    if user.role == Role.AUDITOR:
        return Action.objects.filter(tenant_id=user.tenant_id, state=ActionState.UNKNOWN)
    return reconcilable_actions(user)


def may_reconcile(user: User, interrupt: Interrupt) -> bool:
    """Whether this person may say what became of the action that came of this question."""
    if user.role == Role.AUDITOR:
        return False
    is_theirs = user.role == Role.ADMIN or interrupt.run.owner_id == user.pk
    return is_theirs or may_approve(user, interrupt)


def may_approve(user: User, interrupt: Interrupt) -> bool:
    """Whether this person's approval could count for this question, were it asked now."""
    return answering.may_approve(right_to_answer(user, interrupt), interrupt.rule)


def right_to_answer(user: User, interrupt: Interrupt) -> Right:
    """What this person may do with a question, as it stands now and without a lock.

    For what a page offers; the command reads it again under the lock.
    """
    return Right(
        person=people(user.tenant_id, [user.pk])[user.pk],
        stakes=Stakes(interrupt.run.owner_id, interrupt.run.agent.responsible_id),
        has_permission=may_decide(interrupt.pk, user.pk),
    )


def sees_all_of(user: User, run: Run) -> bool:
    """Whether this person sees the whole run and not only what they may answer."""
    return user.role in SEE_ALL or run.owner_id == user.pk


def may_cancel(user: User, run: Run) -> bool:
    """Whether this person may stop the run: its owner or an admin; an auditor changes nothing."""
    if user.role == Role.AUDITOR:
        return False
    return user.role == Role.ADMIN or run.owner_id == user.pk
