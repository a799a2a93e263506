from identity.models.agent import Agent, AgentKey
from identity.models.group import Group
from identity.models.tenant import Tenant
from identity.models.user import User

__all__ = ["Agent", "AgentKey", "Group", "Tenant", "User"]
