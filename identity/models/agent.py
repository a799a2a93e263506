"""Machine clients of a tenant. They ask, execute and report; they never decide."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import connection, models, transaction

from audit.record import Actor, ActorKind, Draft, record_for_tenant
from identity.keys import key_digest, new_key
from identity.models.tenant import Tenant
from identity.models.user import User
from identity.roles import Scope

name_rule = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z",
    "An agent's name is 1 to 100 of A-Z, a-z, 0-9 and ._- and starts with a letter or digit.",
)


class Agent(models.Model):
    """A machine client, the people it may act for, and the person responsible for it."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(max_length=100, validators=[name_rule])
    any_owner = models.BooleanField(default=False)
    owners = models.ManyToManyField(User, related_name="agents", blank=True)
    responsible = models.ForeignKey(
        User, on_delete=models.PROTECT, related_name="responsible_for", null=True, blank=True
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "identity_agent"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="agent_name_once_per_tenant")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def public_id(self) -> str:
        """The id by which the API, events and exports name this agent."""
        return f"agt_{self.pk}"

    def as_actor(self) -> Actor:
        """This agent as the one who did something, name as it is now."""
        return Actor(kind=ActorKind.AGENT, id=self.public_id, name=self.name)

    @classmethod
    def create(
        cls,
        name: str,
        *,
        tenant: Tenant,
        owners: Iterable[User] = (),
        any_owner: bool = False,
        responsible: User | None = None,
        scopes: Iterable[Scope],
        by: Actor,
    ) -> tuple["Agent", str]:
        """A new agent and its first key, which is told here once and stored only as a digest."""
        agent = cls(tenant=tenant, name=name, any_owner=any_owner, responsible=responsible)
        agent.full_clean()
        people = sorted(owners, key=lambda user: user.username)
        with transaction.atomic():
            agent.save()
            agent.owners.set(people)
            key = AgentKey.issue(agent, scopes=scopes)
            record_for_tenant(
                tenant_id=tenant.pk,
                drafts=[
                    Draft(
                        type="agent.created",
                        actor=by,
                        detail={
                            "agent": agent.public_id,
                            "name": name,
                            "any_owner": any_owner,
                            "owners": [user.username for user in people],
                            "responsible": responsible.username if responsible else None,
                            "scopes": [*sorted(scopes)],
                        },
                    )
                ],
            )
        return agent, key

    def may_act_for(self, user: User) -> bool:
        """Whether an admin has named this person, of the same tenant, for this agent."""
        return user.tenant_id == self.tenant_id and self.is_named_for(user.pk)

    def is_named_for(self, user_id: int) -> bool:
        """Whether an admin has named this person of the agent's own tenant."""
        return self.any_owner or self.owners.filter(pk=user_id).exists()

    def deactivate(self, *, by: Actor) -> bool:
        """End all of this agent's keys from the next request on; False when ended before."""
        with transaction.atomic():
            row = Agent.objects.select_for_update(of=("self",)).get(pk=self.pk)
            if not row.is_active:
                return False
            Agent.objects.filter(pk=self.pk).update(is_active=False)
            record_for_tenant(
                tenant_id=row.tenant_id,
                drafts=[
                    Draft(
                        type="agent.deactivated",
                        actor=by,
                        detail={"agent": row.public_id, "name": row.name},
                    )
                ],
            )
        self.is_active = False
        return True

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused: the record names this agent; deactivate instead."""
        raise models.ProtectedError("Agents are deactivated, never deleted.", {self})


class AgentKey(models.Model):
    """One API key of an agent: its digest, its first characters, its scopes."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="keys")
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=16)
    scopes = ArrayField(models.CharField(max_length=16))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "identity_agentkey"

    def __str__(self) -> str:
        return f"{self.hint}…"

    @classmethod
    def issue(cls, agent: Agent, *, scopes: Iterable[Scope]) -> str:
        """A new key of this agent; the text returned is stored nowhere."""
        key = new_key()
        cls.objects.create(
            agent=agent,
            digest=key_digest(key),
            hint=key[:8],
            scopes=sorted(scope.value for scope in scopes),
        )
        return key

    @classmethod
    def holder(cls, key: str) -> "AgentKey | None":
        """The key's row with its agent and tenant; None when it opens nothing."""
        sql, names = _holding()
        with connection.cursor() as cursor:
            cursor.execute(sql, [key_digest(key)])
            row = cursor.fetchone()
        if row is None:
            return None
        held: AgentKey
        held, held.agent, held.agent.tenant = _split(row, names)
        return held


@cache
def _holding() -> tuple[str, dict[type[models.Model], list[str]]]:
    """What every request of an agent reads first; the ORM would build it anew each time."""
    parts: dict[type[models.Model], str] = {AgentKey: "k", Agent: "a", Tenant: "t"}
    columns = ", ".join(
        f'{alias}."{field.column}"'
        for model, alias in parts.items()
        for field in model._meta.concrete_fields
    )
    sql = (
        f"SELECT {columns} FROM identity_agentkey k JOIN identity_agent a ON a.id = k.agent_id"
        " JOIN identity_tenant t ON t.id = a.tenant_id"
        " WHERE k.digest = %s AND a.is_active"
    )
    return sql, {model: [field.attname for field in model._meta.concrete_fields] for model in parts}


def _split(row: Sequence[Any], names: dict[type[models.Model], list[str]]) -> Iterator[Any]:
    start = 0
    for model, fields in names.items():
        yield model.from_db(connection.alias, fields, row[start : start + len(fields)])
        start += len(fields)
