"""Who may decide, as guardian's object permissions with direct foreign keys.

They are written once, when a question is stored, from the clauses of its rule: to people, and
to the groups and roles whose members may decide. Whether a member still belongs is read when
they answer. Only this module and `access` know of guardian.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from django.contrib.auth.models import Permission
from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, models
from django.db.models import Exists, OuterRef, Q, QuerySet
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from approvals.rules.people import Stakes
from approvals.rules.policy import Rule
from identity.models import User
from runs.rows import insert

if TYPE_CHECKING:
    from approvals.models.interrupt import Interrupt

CODENAME = "decide_interrupt"


class InterruptUserObjectPermission(UserObjectPermissionBase):
    """A person may decide an interrupt."""

    content_object = models.ForeignKey(
        "approvals.Interrupt", on_delete=models.PROTECT, related_name="user_grants"
    )

    class Meta(UserObjectPermissionBase.Meta):
        db_table = "approvals_usergrant"


class InterruptGroupObjectPermission(GroupObjectPermissionBase):
    """The members of a group, or the holders of a role, may decide an interrupt."""

    content_object = models.ForeignKey(
        "approvals.Interrupt", on_delete=models.PROTECT, related_name="group_grants"
    )

    class Meta(GroupObjectPermissionBase.Meta):
        db_table = "approvals_groupgrant"


@cache
def permission_id() -> int:
    """The id of the permission to decide, which is made when the schema is and never changes."""
    return Permission.objects.get(content_type__app_label="approvals", codename=CODENAME).pk


NAMED_GROUPS = """
SELECT auth_group_id FROM identity_group
WHERE tenant_id = %(tenant)s
  AND (NOT is_role AND name = ANY(%(groups)s) OR is_role AND name = ANY(%(roles)s))
"""

CANDIDATES = """
SELECT id FROM identity_user
WHERE is_active AND (id = ANY(%(users)s) OR id IN (
    SELECT user_id FROM identity_user_groups WHERE group_id = ANY(%(groups)s)))
ORDER BY id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Approvers:
    """The people and the groups that a rule's clauses name in one tenant."""

    user_ids: frozenset[int]
    group_ids: frozenset[int]
    SOURCES: ClassVar = ("users", "groups", "roles")

    @classmethod
    def of(cls, rule: Rule, *, tenant_id: int, stakes: Stakes) -> "Approvers":
        """Whom the rule names; without those with a stake where it wants others."""
        names = {
            source: frozenset().union(*(getattr(clause, source) for clause in rule.clauses))
            for source in cls.SOURCES
        }
        users = (
            set(
                User.objects.filter(tenant_id=tenant_id, username__in=names["users"]).values_list(
                    "pk", flat=True
                )
            )
            if names["users"]
            else set()
        )
        if any(clause.owner for clause in rule.clauses):
            users.add(stakes.owner_id)
        if stakes.responsible_id and any(clause.responsible for clause in rule.clauses):
            users.add(stakes.responsible_id)
        if not rule.owner_counts:
            users -= {stakes.owner_id, stakes.responsible_id}
        named: dict[str, int | list[str]] = {
            "tenant": tenant_id,
            "groups": sorted(names["groups"]),
            "roles": sorted(names["roles"]),
        }
        with connection.cursor() as cursor:
            cursor.execute(NAMED_GROUPS, named)
            groups = frozenset(group_id for (group_id,) in cursor.fetchall())
        return cls(frozenset(users), groups)

    def candidate_ids(self, limit: int) -> list[int]:
        """Ids of active people among these, at most so many."""
        users, groups = sorted(self.user_ids), sorted(self.group_ids)
        with connection.cursor() as cursor:
            cursor.execute(CANDIDATES, {"users": users, "groups": groups, "limit": limit})
            return [user_id for (user_id,) in cursor.fetchall()]


def grant(interrupts: Iterable[tuple[str, Approvers]]) -> None:
    """Give the right to decide each of these new interrupts to its approvers."""
    pairs = list(interrupts)
    insert(
        [
            InterruptUserObjectPermission(
                permission_id=permission_id(), user_id=user_id, content_object_id=interrupt_id
            )
            for interrupt_id, approvers in pairs
            for user_id in sorted(approvers.user_ids)
        ]
    )
    insert(
        [
            InterruptGroupObjectPermission(
                permission_id=permission_id(), group_id=group_id, content_object_id=interrupt_id
            )
            for interrupt_id, approvers in pairs
            for group_id in sorted(approvers.group_ids)
        ]
    )


def _granted_to(user_id: int, interrupt: OuterRef) -> Q:
    """Whether a row of the outer query is granted, looked up row by row.

    `content_object__gte` repeats what the equality says already: because of it PostgreSQL cannot
    read every grant there is into a hash table, which it believes to be faster and which grows
    with all that was ever asked.
    """
    memberships = User.groups.through.objects.filter(user_id=user_id).values("group_id")
    return Q(
        Exists(
            InterruptUserObjectPermission.objects.filter(
                content_object=interrupt,
                content_object__gte=interrupt,
                user_id=user_id,
                permission_id=permission_id(),
            )
        )
    ) | Q(
        Exists(
            InterruptGroupObjectPermission.objects.filter(
                content_object=interrupt,
                content_object__gte=interrupt,
                group_id__in=memberships,
                permission_id=permission_id(),
            )
        )
    )


MAY_DECIDE = """
SELECT EXISTS (
           SELECT FROM approvals_usergrant
           WHERE content_object_id = %(interrupt)s AND user_id = %(user)s
             AND permission_id = %(permission)s)
    OR EXISTS (
           SELECT FROM approvals_groupgrant given
           JOIN identity_user_groups member ON member.group_id = given.group_id
           WHERE given.content_object_id = %(interrupt)s AND member.user_id = %(user)s
             AND given.permission_id = %(permission)s)
"""


def may_decide(interrupt_id: str, user_id: int) -> bool:
    """Whether this person has the right to decide this interrupt: `decidable_by` for one row."""
    with connection.cursor() as cursor:
        cursor.execute(
            MAY_DECIDE,
            {"interrupt": interrupt_id, "user": user_id, "permission": permission_id()},
        )
        (may,) = cursor.fetchone()
    return bool(may)


def decidable_by(interrupts: "QuerySet[Interrupt]", user_id: int) -> "QuerySet[Interrupt]":
    """Those interrupts that this person has the right to decide."""
    return interrupts.filter(_granted_to(user_id, OuterRef("pk")))


def through_groups(user_id: int) -> ArraySubquery:
    """For a query of interrupts: the auth groups of this person by which each is granted."""
    memberships = User.groups.through.objects.filter(user_id=user_id).values("group_id")
    return ArraySubquery(
        InterruptGroupObjectPermission.objects.filter(
            content_object=OuterRef("pk"),
            group_id__in=memberships,
            permission_id=permission_id(),
        ).values("group_id")
    )


def by_name(user_id: int) -> Exists:
    """For a query of interrupts: whether each is granted to this very person."""
    return Exists(
        InterruptUserObjectPermission.objects.filter(
            content_object=OuterRef("pk"),
            content_object__gte=OuterRef("pk"),
            user_id=user_id,
            permission_id=permission_id(),
        )
    )


def through_group(auth_group_id: int) -> Exists:
    """For a query of interrupts: whether each is granted to this group."""
    return Exists(
        InterruptGroupObjectPermission.objects.filter(
            content_object=OuterRef("pk"),
            content_object__gte=OuterRef("pk"),
            group_id=auth_group_id,
            permission_id=permission_id(),
        )
    )
