"""What a run can wait for, without knowing what it is.

`runs` may not import `approvals`, yet every command on a run first settles the questions that
are past their deadline, and cancelling a run cancels its questions. So whoever owns the waits
registers them here.
"""

from typing import TYPE_CHECKING, Protocol

from audit.record import Actor
from runs.rules.facts import WaitSummary

if TYPE_CHECKING:
    from runs.models.turn import Turn


class Waits(Protocol):
    """The things that runs wait for; every call holds the run's lock."""

    def settle_due(self, turn: "Turn") -> WaitSummary | None:
        """End what is past its deadline at `turn.now`; None when nothing was."""

    def cancel(self, turn: "Turn", *, by: Actor) -> None:
        """End all that is open, because the run ends."""


_registered: list[Waits] = []


def register_waits(waits: Waits) -> None:
    """Say, once at start-up, what runs of this server wait for."""
    _registered[:] = [waits]


def waits() -> Waits:
    """What was registered; IndexError where the app that owns the questions is not installed."""
    return _registered[0]
