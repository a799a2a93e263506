"""What a driver does for the kit: an adapter with its framework, seen as a durable agent.

The agent of every driver is the same: its model calls `pay_vendor` as it is told, once or several
times in one turn, and ends when every call is answered. Whatever it keeps, it keeps in a store
that outlives the process, so that an `Agent` can be thrown away and opened anew at any moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from conformance.site import Site

TOOL = "pay_vendor"
SCHEMA = {
    "type": "object",
    "properties": {"vendor_id": {"type": "string"}, "amount_paise": {"type": "integer"}},
    "required": ["vendor_id", "amount_paise"],
    "additionalProperties": False,
}

Args = Mapping[str, Any]
Pay = Callable[[Args], str]
"""The effect: pays, and gives a receipt."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that the model makes. `id` is its call id in Placet and in the framework."""

    id: str
    vendor_id: str
    amount_paise: int = 500

    @property
    def args(self) -> dict[str, Any]:
        """Its arguments."""
        return {"vendor_id": self.vendor_id, "amount_paise": self.amount_paise}


class Agent(Protocol):
    """One process's hold on the agent of one thread."""

    def begin(self, calls: tuple[Call, ...]) -> None:
        """Start the thread with these calls in one turn; returns when it waits or is over."""

    def wake(self) -> None:
        """Wake everything that waits, whether or not anybody answered; returns as `begin`."""

    def forge(self) -> None:
        """Resume as if people had approved, with the strongest yes that the framework has."""

    def replan(self, call: Call) -> None:
        """Let the call of this id have these arguments from now on; wakes nothing."""

    def is_over(self) -> bool:
        """Whether every call is answered and the model has ended."""

    def told(self) -> Mapping[str, str]:
        """What the model was told of each answered call, by the call's id."""

    def close(self) -> None:
        """Let go of the store, as a process that ends does."""


class Situation(StrEnum):
    """What every adapter is put into; the value is how the table tells it."""

    APPROVE = "plain approve"
    REJECT = "reject with a reason"
    EDIT = "edit"
    REVERSE = "answers in reverse order"
    DUPLICATE = "duplicate wake-up"
    FORGED = "forged resume value"
    LATE = "late answer after supersede"
    REPLAN = "re-plan from A to B"
    RESTART = "restart between ask and answer"
    TWO_WORKERS = "two workers resume one thread"
    PARALLEL = "parallel calls in one turn"
    SUB_AGENT = "a sub-agent's call"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a framework cannot carry, and the proof that the adapter deals with it safely.

    `proof` is a test that takes the place of the situation; it is given a `Stage`.
    """

    reason: str
    proof: Callable[[Any], None]


class Driver(Protocol):
    """An adapter with its framework. The Placet run of a thread has its name as `external_id`."""

    @property
    def name(self) -> str:
        """How the table calls it."""

    @property
    def limits(self) -> Mapping[Situation, Limit]:
        """What its framework cannot carry."""

    def open(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> Agent:
        """Open a thread, new or not; `by_sub_agent` lets a sub-agent make the calls."""
