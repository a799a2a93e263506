"""The roads to people and agents: tenant first, and one answer for absent and foreign alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils.crypto import constant_time_compare
from django.utils.timezone import now

from identity.models import Agent, Tenant, User
from identity.person import Person

STANDING = """
SELECT u.id, u.username, u.role, u.is_active,
       array(SELECT g.name FROM identity_group g
             JOIN identity_user_groups ug ON ug.group_id = g.auth_group_id
             WHERE ug.user_id = u.id AND g.tenant_id = u.tenant_id AND NOT g.is_role)
FROM identity_user u WHERE u.tenant_id = %(tenant)s AND u.id = ANY(%(people)s)
"""

LOCK_AGENT = "SELECT FROM identity_agent WHERE id = %(agent)s FOR SHARE"
LOCK_PEOPLE = "SELECT FROM identity_user WHERE id = ANY(%(people)s) ORDER BY id FOR SHARE"
AGENT_STANDING = "SELECT is_active, responsible_id FROM identity_agent WHERE id = %(agent)s"


@dataclass(frozen=True, slots=True)
class AgentStanding:
    """What a command reads of an agent under its lock."""

    is_active: bool
    responsible_id: int | None


def lock_agent(agent_id: int) -> AgentStanding:
    """An agent's standing, held FOR SHARE until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_together(LOCK_AGENT, AGENT_STANDING), {"agent": agent_id})
        cursor.nextset()
        return AgentStanding(*cursor.fetchone())


def lock_people(tenant_id: int, ids: Iterable[int]) -> dict[int, Person]:
    """The tenant's people of these ids, held FOR SHARE until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            _together(LOCK_PEOPLE, STANDING), {"tenant": tenant_id, "people": sorted(set(ids))}
        )
        cursor.nextset()
        return _people(cursor.fetchall())


def lock_standing(
    agent_id: int, tenant_id: int, ids: Iterable[int]
) -> tuple[AgentStanding, dict[int, Person]]:
    """An agent and the tenant's people of these ids, held FOR SHARE until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            _together(LOCK_AGENT, LOCK_PEOPLE, AGENT_STANDING, STANDING),
            {"agent": agent_id, "tenant": tenant_id, "people": sorted(set(ids))},
        )
        cursor.nextset()
        cursor.nextset()
        agent = AgentStanding(*cursor.fetchone())
        cursor.nextset()
        return agent, _people(cursor.fetchall())


def _together(*statements: str) -> str:
    """Statements for one round trip, one after the other.

    At READ COMMITTED each sees what was committed before it began, so those that read see what
    others committed while those before them waited for their locks.
    """
    return ";\n".join(statements)


def people(tenant_id: int, ids: Iterable[int]) -> dict[int, Person]:
    """The tenant's people of these ids as they stand now, by id."""
    with connection.cursor() as cursor:
        cursor.execute(STANDING, {"tenant": tenant_id, "people": list(ids)})
        return _people(cursor.fetchall())


def _people(rows: Iterable[tuple[Any, ...]]) -> dict[int, Person]:
    return {
        row[0]: Person(
            id=row[0], name=row[1], role=row[2], is_active=row[3], groups=frozenset(row[4])
        )
        for row in rows
    }


def session_holder(session_key: str) -> User | None:
    """The active person who is signed in under this key, as Django's middleware finds them."""
    store = SessionStore(session_key)
    session = Session.objects.filter(pk=session_key, expire_date__gt=now()).first()
    told = store.decode(session.session_data) if session else {}
    user = User.objects.filter(pk=told.get(SESSION_KEY) or 0, is_active=True).first()
    if user is None or told.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    is_current = constant_time_compare(told.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
    return user if is_current else None


def tenant_by_slug(slug: str) -> Tenant | None:
    """The tenant of this slug."""
    return Tenant.objects.filter(slug=slug).first()


def user_by_name(tenant_id: int, username: str) -> User | None:
    """The tenant's person of this login name."""
    return User.objects.filter(tenant_id=tenant_id, username=username).first()


def agent_by_name(tenant_id: int, name: str) -> Agent | None:
    """The tenant's agent of this name."""
    return Agent.objects.filter(tenant_id=tenant_id, name=name).first()


def agent_names(tenant_id: int, ids: Iterable[int]) -> dict[int, str]:
    """The names of the tenant's agents of these ids, by id."""
    found = Agent.objects.filter(tenant_id=tenant_id, pk__in=list(ids))
    return dict(found.values_list("pk", "name"))
