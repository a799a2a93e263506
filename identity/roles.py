"""The closed lists of what a person and a key may be (contract §1)."""

from enum import StrEnum


class Role(StrEnum):
    """What a person of a tenant is, beside owning runs."""

    MEMBER = "member"
    REVIEWER = "reviewer"
    ADMIN = "admin"
    AUDITOR = "auditor"


class Scope(StrEnum):
    """What an agent's key opens; the first two are given when none is named."""

    ASK = "ask"
    EXECUTE = "execute"
    OBSERVE = "observe"
    RECONCILE = "reconcile"
    EVENTS = "events"


DEFAULT_SCOPES = (Scope.ASK, Scope.EXECUTE)
