"""The roads to people and agents: tenant first, and one answer for absent and foreign alike."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from identity.models import Agent, Tenant, User
from identity.person import Person

LOCK = "SELECT FROM identity_user WHERE id = ANY(%s) ORDER BY id FOR SHARE"

STANDING = """
SELECT u.id, u.username, u.role, u.is_active,
       array(SELECT g.name FROM identity_group g
             JOIN identity_user_groups ug ON ug.group_id = g.auth_group_id
             WHERE ug.user_id = u.id AND g.tenant_id = u.tenant_id AND NOT g.is_role)
FROM identity_user u WHERE u.tenant_id = %s AND u.id = ANY(%s)
"""


def lock_people(tenant_id: int, ids: Iterable[int]) -> dict[int, Person]:
    """The tenant's people of these ids, held FOR SHARE until the transaction ends.

    Two statements: at READ COMMITTED the second one sees what was committed while the first
    waited for its locks.
    """
    wanted = sorted(set(ids))
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [wanted])
    return people(tenant_id, wanted)


@dataclass(frozen=True, slots=True)
class AgentStanding:
    """What a command reads of an agent under its lock."""

    is_active: bool
    responsible_id: int | None


def lock_agent(agent_id: int) -> AgentStanding:
    """An agent's standing, held FOR SHARE until the transaction ends; two statements, as above."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM identity_agent WHERE id = %s FOR SHARE", [agent_id])
        cursor.execute(
            "SELECT is_active, responsible_id FROM identity_agent WHERE id = %s", [agent_id]
        )
        is_active, responsible_id = cursor.fetchone()
    return AgentStanding(is_active, responsible_id)


def people(tenant_id: int, ids: Iterable[int]) -> dict[int, Person]:
    """The tenant's people of these ids as they stand now, by id."""
    with connection.cursor() as cursor:
        cursor.execute(STANDING, [tenant_id, list(ids)])
        rows = cursor.fetchall()
    return {
        row[0]: Person(
            id=row[0], name=row[1], role=row[2], is_active=row[3], groups=frozenset(row[4])
        )
        for row in rows
    }


def tenant_by_slug(slug: str) -> Tenant | None:
    """The tenant of this slug."""
    return Tenant.objects.filter(slug=slug).first()


def user_by_name(tenant_id: int, username: str) -> User | None:
    """The tenant's person of this login name."""
    return User.objects.filter(tenant_id=tenant_id, username=username).first()


def agent_by_name(tenant_id: int, name: str) -> Agent | None:
    """The tenant's agent of this name."""
    return Agent.objects.filter(tenant_id=tenant_id, name=name).first()
