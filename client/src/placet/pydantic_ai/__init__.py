"""Placet for Pydantic AI: its tools run when people approved exactly this call, once.

    from placet.pydantic_ai import Approvals, Guarded, SQLitePauses, Waiting

    agent = Agent(model, toolsets=[Guarded(tools)], output_type=[str, DeferredToolRequests])

    approvals = Approvals(run, SQLitePauses("pauses.sqlite"))
    outcome = await approvals.start(agent, "Pay INV-88412")
    while isinstance(outcome, Waiting):
        outcome = await approvals.resume(agent)

People can approve, edit or reject.
"""

from placet.binding import Waiting
from placet.pauses import NothingPaused, Pauses, SQLitePauses
from placet.permissions import Permission, permission
from placet.pydantic_ai.approvals import Approvals, NotGuarded
from placet.pydantic_ai.guarded import Guarded
from placet.turns import OutsideTurn

__all__ = [
    "Approvals",
    "Guarded",
    "NotGuarded",
    "NothingPaused",
    "OutsideTurn",
    "Pauses",
    "Permission",
    "SQLitePauses",
    "Waiting",
    "permission",
]
