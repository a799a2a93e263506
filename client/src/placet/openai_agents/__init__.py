"""Placet for the OpenAI Agents SDK: its tools run when people approved exactly this call, once.

    from placet.openai_agents import Approvals, SQLitePauses, Waiting, guard

    @guard
    def pay_vendor(vendor_id: str, amount_paise: int) -> str: ...

    approvals = Approvals(run, SQLitePauses("pauses.sqlite"))
    outcome = await approvals.start(agent, "Pay INV-88412")
    while isinstance(outcome, Waiting):
        outcome = await approvals.resume(agent)

The SDK has no way to change a call's arguments, so people can approve or reject, not edit.
"""

from placet.binding import Waiting
from placet.openai_agents.approvals import Approvals, NotGuarded
from placet.openai_agents.guard import guard
from placet.pauses import NothingPaused, Pauses, SQLitePauses
from placet.permissions import Permission, permission
from placet.turns import OutsideTurn

__all__ = [
    "Approvals",
    "NotGuarded",
    "NothingPaused",
    "OutsideTurn",
    "Pauses",
    "Permission",
    "SQLitePauses",
    "Waiting",
    "guard",
    "permission",
]
