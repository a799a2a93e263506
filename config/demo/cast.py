"""The people of the demo and their agent, made where they are missing."""

from dataclasses import dataclass

from approvals.models import DisplayVersion
from config.demo.credentials import Credentials
from config.env import ConfigError
from identity.access import agent_by_name, tenant_by_slug, user_by_name
from identity.management.reporting import OPERATOR
from identity.models import Agent, AgentKey, Tenant, User
from identity.roles import DEFAULT_SCOPES, Role, Scope
from placet.protocol.reading import JSONValue

TENANT = "demo"
AGENT = "payer"
HINTS: JSONValue = [
    {"tool": "pay_vendor", "show": ["/amount_paise", "/vendor_id", "/invoice"]},
]
"""What a row of the inbox shows of the agent's tool (`manage.py display_set`)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One person of the demo and what they are there for."""

    name: str
    role: Role
    purpose: str


OWNER = Part("alice", Role.MEMBER, "the agent works for her")
REVIEWER = Part("rae", Role.REVIEWER, "answers what agents ask")
AUDITOR = Part("otto", Role.AUDITOR, "reads everything, changes nothing")
PARTS = (
    REVIEWER,
    OWNER,
    Part("ada", Role.ADMIN, "sees all runs, keeps people and rules"),
    AUDITOR,
)


CHECKER = "checker"
CHECKED = ("alice", "rae", "ada")


def checking_key() -> str:
    """A new key with every scope, for the agent that plays the checks."""
    tenant = Tenant.objects.get(slug=TENANT)
    agent = agent_by_name(tenant.pk, CHECKER)
    if agent is not None:
        return AgentKey.issue(agent, scopes=Scope)
    return Agent.create(CHECKER, tenant=tenant, any_owner=True, scopes=Scope, by=OPERATOR)[1]


def ensure_cast(credentials: Credentials) -> None:
    """Make the tenant, its people and its agent unless they are there; harmless to repeat."""
    tenant = tenant_by_slug(TENANT) or Tenant.create(TENANT, by=OPERATOR)
    if DisplayVersion.in_force(tenant.pk) is None:
        DisplayVersion.set(tenant, HINTS, by=OPERATOR)
    people = {part.name: _person(part, tenant, credentials) for part in PARTS}
    # All passwords were kept before the first was used, so one of them stands for all.
    if not people[REVIEWER.name].check_password(credentials.passwords[REVIEWER.name]):
        raise ConfigError(
            f"The database has the demo's people, but {credentials.path} does not have their"
            " passwords. Give the demo the folder that it was made with (PLACET_DATA_DIR), or"
            " another database."
        )
    if AgentKey.holder(credentials.agent_key) is None:
        credentials.agent_key = _agent_key(tenant, people[OWNER.name])
        credentials.keep()


def _person(part: Part, tenant: Tenant, credentials: Credentials) -> User:
    found = user_by_name(tenant.pk, part.name)
    if found is not None:
        return found
    if User.objects.filter(username=part.name).exists():
        raise ConfigError(
            f"The database has a person “{part.name}” outside the demo. Give the demo a"
            " database of its own."
        )
    return User.create(
        part.name,
        tenant=tenant,
        role=part.role,
        password=credentials.passwords[part.name],
        by=OPERATOR,
    )


def _agent_key(tenant: Tenant, owner: User) -> str:
    agent = agent_by_name(tenant.pk, AGENT)
    if agent is not None:
        return AgentKey.issue(agent, scopes=DEFAULT_SCOPES)
    _, key = Agent.create(AGENT, tenant=tenant, owners=[owner], scopes=DEFAULT_SCOPES, by=OPERATOR)
    return key
