from approvals.models.account import Account
from approvals.models.decision import Approval, Decision
from approvals.models.display import DisplayVersion
from approvals.models.grants import (
    InterruptGroupObjectPermission,
    InterruptUserObjectPermission,
)
from approvals.models.handoff import HandoffLink
from approvals.models.interrupt import Interrupt, InterruptWaits
from approvals.models.observation import Observation
from approvals.models.policy import PolicyVersion
from approvals.models.showing import Showing

__all__ = [
    "Account",
    "Approval",
    "Decision",
    "DisplayVersion",
    "HandoffLink",
    "Interrupt",
    "InterruptGroupObjectPermission",
    "InterruptUserObjectPermission",
    "InterruptWaits",
    "Observation",
    "PolicyVersion",
    "Showing",
]
