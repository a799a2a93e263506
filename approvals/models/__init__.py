from approvals.models.decision import Approval, Decision
from approvals.models.display import DisplayVersion
from approvals.models.grants import (
    InterruptGroupObjectPermission,
    InterruptUserObjectPermission,
)
from approvals.models.interrupt import Interrupt, InterruptWaits
from approvals.models.policy import PolicyVersion
from approvals.models.showing import Showing

__all__ = [
    "Approval",
    "Decision",
    "DisplayVersion",
    "Interrupt",
    "InterruptGroupObjectPermission",
    "InterruptUserObjectPermission",
    "InterruptWaits",
    "PolicyVersion",
    "Showing",
]
